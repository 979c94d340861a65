/* Captures in pieces that are never moved, so that readers need no lock. */
#include "trace/captures.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/mem.h"
#include "values/slots.h"

enum { PIECE = 1024, PIECES = 16384 };

struct captures {
    atomic_uint count, longest;
    struct numbered_capture *_Atomic pieces[PIECES];
};

struct captures *captures_new(void) {
    return mem_alloc(sizeof(struct captures));
}

void captures_free(struct captures *c) {
    for (unsigned i = 0; c && i < c->count; i++)
        capture_done(&c->pieces[i / PIECE][i % PIECE].capture);
    for (unsigned i = 0; c && i < PIECES; i++)
        free(c->pieces[i]);
    free(c);
}

uint32_t captures_add(struct captures *c, uint32_t id, const struct capture *capture) {
    const unsigned number = c->count, slots = capture_slots(capture);
    if (number == PIECE * PIECES)
        return number - 1; /* it is not of the function, so readers ignore it */
    if (!c->pieces[number / PIECE])
        c->pieces[number / PIECE] = mem_alloc(PIECE * sizeof(struct numbered_capture));
    struct numbered_capture *n = &c->pieces[number / PIECE][number % PIECE];
    n->id = id;
    capture_copy(&n->capture, capture);
    for (size_t i = 0; i < capture->count; i++)
        n->words += capture_value_words(&capture->values[i]);
    if (slots > c->longest)
        c->longest = slots;
    atomic_store_explicit(&c->count, number + 1, memory_order_release);
    return number;
}

const struct numbered_capture *captures_get(const struct captures *c, uint32_t number) {
    if (!c || number >= atomic_load_explicit(&c->count, memory_order_acquire))
        return NULL;
    return &c->pieces[number / PIECE][number % PIECE];
}

unsigned captures_longest(const struct captures *c) {
    return c ? atomic_load_explicit(&c->longest, memory_order_relaxed) : 0;
}
