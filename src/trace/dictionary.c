/* The hash table doubles when it is half full, and shrinks if a block has used little of it. */
#include "trace/dictionary.h"

#include <string.h>

#include "base/mem.h"

enum { FIRST_SHIFT = 32 - 6 };

static size_t slot_count(const struct dictionary *d) { return (size_t)1 << (32 - d->shift); }

static void slot_fill(struct dictionary *d, uint32_t id, uint32_t number) {
    size_t mask = slot_count(d) - 1, i = dictionary_slot(id, d->shift);
    while (d->slots[i])
        i = (i + 1) & mask;
    d->slots[i] = (uint64_t)id << 32 | number;
}

/* Doubles the slots, so that at most half of them are in use. */
static void slots_double(struct dictionary *d) {
    d->shift--;
    d->slots = mem_resize(d->slots, slot_count(d), sizeof *d->slots);
    memset(d->slots, 0, slot_count(d) * sizeof *d->slots);
    for (uint32_t number = 1; number < d->count; number++)
        slot_fill(d, d->id[number], number);
}

static uint32_t append(struct dictionary *d, uint32_t id) {
    if (d->count == d->room) {
        d->room = d->room ? d->room * 2 : 32;
        d->id = mem_resize(d->id, d->room, sizeof *d->id);
        d->step = mem_resize(d->step, d->room, sizeof *d->step);
    }
    d->id[d->count] = id;
    d->step[d->count] = 0;
    return d->count++;
}

uint32_t dictionary_add(struct dictionary *d, uint32_t id) {
    uint32_t number = append(d, id);
    if ((size_t)d->count * 2 > slot_count(d))
        slots_double(d);
    else
        slot_fill(d, id, number);
    return number;
}

void dictionary_clear(struct dictionary *d) {
    if (!d->slots || slot_count(d) > 16 * ((size_t)d->count + 4)) {
        d->shift = FIRST_SHIFT;
        d->slots = mem_resize(d->slots, slot_count(d), sizeof *d->slots);
    }
    memset(d->slots, 0, slot_count(d) * sizeof *d->slots);
    d->count = 0;
    append(d, 0);
}

void dictionary_done(struct dictionary *d) {
    free(d->slots);
    free(d->id);
    free(d->step);
}
