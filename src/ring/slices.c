/* Collects the words and registers of a slice, and counts the slots of slices. */
#include "ring/slices.h"

#include <string.h>

#include "base/mem.h"

enum { WORD = REGS_WORD_BYTES, FRAME_BYTES = 256, LEAST_BYTES = 1024 };

void slice_done(struct stack_slice *s) {
    free(s->words);
    *s = (struct stack_slice){0};
}

void slice_forget(struct stack_slice *s) {
    if (!s->begun)
        return;
    memset(s->words, 0, s->used * sizeof *s->words);
    s->used = 0;
    s->begun = s->whole = false;
}

static void reserve(struct stack_slice *s, size_t words) {
    size_t room = s->room ? s->room : LEAST_BYTES / WORD;
    if (words <= s->room)
        return;
    while (room < words)
        room *= 2;
    s->words = mem_resize(s->words, room, sizeof *s->words);
    memset(s->words + s->room, 0, (room - s->room) * sizeof *s->words);
    s->room = room;
}

static void put_word(struct stack_slice *s, size_t n, regs_word_t word) {
    reserve(s, n + 1);
    s->words[n] = word;
    if (n >= s->used)
        s->used = n + 1;
}

bool slice_take(struct stack_slice *s, const struct trace_event *e) {
    uint32_t id = e->site >> 2;
    if (!is_slice_event(id))
        return false;
    if (id == SLICE_BEGIN) {
        slice_forget(s);
        put_word(s, 0, 0);
        s->begun = true;
    } else if (!s->begun) {
        return true; /* its beginning is lost */
    } else if (id == SLICE_END) {
        s->end = e->sp;
        s->whole = true;
    } else if (id < SLICE_BEGIN) {
        put_word(s, id - SLICE_WORD, (regs_word_t)e->sp);
    } else if (id - SLICE_REGISTER < SLICE_REGISTERS) {
        s->registers[id - SLICE_REGISTER] = e->sp;
    }
    return true;
}

size_t slice_bytes(struct stack_slice *s, uint64_t sp) {
    uint64_t bytes = s->end - sp;
    if (!s->whole || !s->used || bytes < WORD || bytes > SLICE_WORDS_MOST * (uint64_t)WORD)
        return 0;
    reserve(s, bytes / WORD);
    return bytes;
}

uint32_t slice_bytes_for(uint32_t callers, uint32_t ring_bytes) {
    uint64_t wanted = (uint64_t)callers * FRAME_BYTES;
    uint64_t most = (ring_bytes / 2 - SLICE_HEAD_SLOTS * EVENT_BYTES) / (EVENT_BYTES / WORD);
    if (wanted < LEAST_BYTES)
        wanted = LEAST_BYTES;
    if (callers == 1)
        wanted = WORD; /* only the return address */
    if (wanted > most)
        wanted = most;
    if (wanted > (SLICE_WORDS_MOST - 1) * (uint64_t)WORD)
        wanted = (SLICE_WORDS_MOST - 1) * (uint64_t)WORD;
    return (uint32_t)wanted & ~(uint32_t)(WORD - 1);
}

/* The first SLICE_BEGIN holds the number of slots written before it. */
uint64_t slice_slots_before(const struct event *at, size_t count, uint64_t slice_slots) {
    uint64_t here = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_whole_word(&at[i]) && at[i].site >> 2 == SLICE_BEGIN) {
            slice_slots = event_sp(&at[i]);
            break;
        }
        here += is_part_slot(&at[i]);
    }
    return slice_slots > here ? slice_slots - here : 0;
}
