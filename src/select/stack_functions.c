/* A bitmap in pieces that are never moved, so that readers need no lock. */
#include "select/stack_functions.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/bitmap.h"
#include "base/mem.h"
#include "wire/ring.h"

enum { PIECE_IDS = 1 << 16, WORD_IDS = 64, PIECES = OWN_EVENTS / PIECE_IDS + 1 };

struct stack_functions {
    _Atomic(atomic_ullong *) pieces[PIECES]; /* NULL: all bits are 0 */
};

struct stack_functions *stack_functions_new(void) {
    return mem_alloc(sizeof(struct stack_functions));
}

void stack_functions_free(struct stack_functions *set) {
    for (size_t i = 0; set && i < PIECES; i++)
        free(set->pieces[i]);
    free(set);
}

static void add(struct stack_functions *set, uint32_t id) {
    atomic_ullong *piece = set->pieces[id / PIECE_IDS];
    if (!piece) {
        piece = mem_alloc(PIECE_IDS / 8);
        atomic_store_explicit(&set->pieces[id / PIECE_IDS], piece, memory_order_release);
    }
    atomic_fetch_or(&piece[id % PIECE_IDS / WORD_IDS], 1ull << id % WORD_IDS);
}

void stack_functions_add(struct stack_functions *set, uint32_t first, const uint8_t *bitmap,
                         size_t count) {
    for (size_t i = 0; i < count && first + i < OWN_EVENTS; i++)
        if (bitmap_test(bitmap, i))
            add(set, first + (uint32_t)i);
}

bool stack_functions_has(const struct stack_functions *set, uint32_t id) {
    atomic_ullong *piece =
        id < OWN_EVENTS ? atomic_load_explicit(&set->pieces[id / PIECE_IDS], memory_order_acquire)
                        : NULL;
    return piece && atomic_load_explicit(&piece[id % PIECE_IDS / WORD_IDS], memory_order_relaxed) >>
                            id % WORD_IDS &
                        1;
}
