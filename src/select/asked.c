#include "select/asked.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/mem.h"
#include "wire/ring.h"

/* A bitmap in pieces that are never moved, so that readers need no lock. */
enum { PIECE_IDS = 1 << 16, WORD_IDS = 64, PIECES = OWN_EVENTS / PIECE_IDS + 1 };

struct asked {
    _Atomic(atomic_ullong *) pieces[PIECES]; /* NULL: all bits are 0 */
};

struct asked *asked_new(void) {
    return mem_alloc(sizeof(struct asked));
}

void asked_free(struct asked *a) {
    for (size_t i = 0; a && i < PIECES; i++)
        free(a->pieces[i]);
    free(a);
}

static void add(struct asked *a, uint32_t id) {
    atomic_ullong *piece = a->pieces[id / PIECE_IDS];
    if (!piece) {
        piece = mem_alloc(PIECE_IDS / 8);
        atomic_store_explicit(&a->pieces[id / PIECE_IDS], piece, memory_order_release);
    }
    atomic_fetch_or(&piece[id % PIECE_IDS / WORD_IDS], 1ull << id % WORD_IDS);
}

void asked_add(struct asked *a, uint32_t first, const uint8_t *bitmap, size_t count) {
    for (size_t i = 0; i < count && first + i < OWN_EVENTS; i++)
        if (bitmap[i / 8] >> i % 8 & 1)
            add(a, first + (uint32_t)i);
}

bool asked_has(const struct asked *a, uint32_t id) {
    atomic_ullong *piece =
        id < OWN_EVENTS ? atomic_load_explicit(&a->pieces[id / PIECE_IDS], memory_order_acquire)
                        : NULL;
    return piece && atomic_load_explicit(&piece[id % PIECE_IDS / WORD_IDS], memory_order_relaxed) >>
                            id % WORD_IDS &
                        1;
}
