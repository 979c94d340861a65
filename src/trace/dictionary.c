/* The hash table doubles when a quarter is full, and shrinks if a block has used little of it. */
#include "trace/dictionary.h"

#include <string.h>

#include "base/mem.h"

enum { FIRST_SLOTS = 64 };

static size_t slot_count(const struct dictionary *d) { return (size_t)d->mask + 1; }

static void slot_fill(struct dictionary *d, uint32_t id, uint32_t number) {
    uint32_t tag = dictionary_tag(id), i = dictionary_place(tag, d->mask);
    while (d->slots[i].tag)
        i = (i + 1) & d->mask;
    d->slots[i] = (struct dictionary_slot){tag, number};
}

/* Doubles the slots, so that at most a quarter of them are in use. */
static void slots_double(struct dictionary *d) {
    d->mask = d->mask * 2 + 1;
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
    d->step[d->count] = d->count ? DICTIONARY_NO_STEP : 0;
    return d->count++;
}

const struct dictionary_slot *dictionary_find(const struct dictionary *d, uint32_t tag) {
    for (uint32_t i = dictionary_place(tag, d->mask); d->slots[i].tag; i = (i + 1) & d->mask)
        if (d->slots[i].tag == tag)
            return &d->slots[i];
    return NULL;
}

uint32_t dictionary_add(struct dictionary *d, uint32_t id) {
    uint32_t number = append(d, id);
    if ((size_t)d->count * 4 > slot_count(d))
        slots_double(d);
    else
        slot_fill(d, id, number);
    return number;
}

void dictionary_clear(struct dictionary *d) {
    if (!d->slots || slot_count(d) > 32 * ((size_t)d->count + 4)) {
        d->mask = FIRST_SLOTS - 1;
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
