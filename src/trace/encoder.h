/*
 * The state of an encoder, for encode.c, which has the fast path, and unpredicted.c.
 */
#pragma once

#include <string.h>

#include "trace/block.h"
#include "trace/dictionary.h"
#include "trace/encode.h"

enum {
    ENCODE_RUN = 256,        /* events between two checks for room */
    ENCODE_CODE_BYTES = 16,  /* of one event in the code column, at most: switch, high, pop, code */
    ENCODE_EXTRA_BYTES = 32, /* of one event in the extra column, at most */
    ENCODE_LEFT = 256,       /* frames that were left without an exit and are remembered */
    ENCODE_NO_FRAME = 3      /* in the low half of a key: the frame at the bottom, no event */
};

/* A key is an event without its clock: in the low half its site, in the high half bits 0 … 31 of
 * its stack pointer. In a ring it is the second half of the event. */
struct frame {
    uint64_t key; /* of the entry */
    uint32_t number;
};

struct shadow {
    struct frame *frames; /* [0] is below all frames: it keeps the latest stack pointer */
    size_t top, room;
    uint32_t high; /* bits 32 … 47 of the stack pointer written last */
};

struct encoder {
    struct bytes code, time, extra;
    struct dictionary dictionary;
    struct shadow *shadows;
    uint32_t shadow_count, shadow_room, current, victim;
    uint64_t first, last; /* ticks */
    uint32_t items, entries, exits;
    uint64_t lost;
    struct trace_totals taken;   /* in earlier blocks */
    uint64_t own_low, own_bytes; /* the thread's own stack; 0: unknown */
    uint64_t left[ENCODE_LEFT];  /* keys of such frames, by their stack pointers */
    struct encoder_facts facts;
};

/* The state inside a run, which the fast path keeps in registers. */
struct run {
    uint8_t *code, *extra;
    struct frame *top;
};

static inline uint64_t event_key(const struct event *event) {
    uint64_t key;
    memcpy(&key, &event->site, sizeof key);
    return key;
}
static inline uint32_t key_sp(uint64_t key) { return (uint32_t)(key >> 32); }
static inline uint32_t key_id(uint64_t key) { return (uint32_t)key >> 2; }

/* Returns the top frame with room for a run of pushes above it. */
struct frame *shadow_reserve(struct shadow *s);
/* Adds an empty shadow. */
void shadow_add(struct encoder *e);

/* Encodes the event with KEY, whose stack pointer has HIGH as bits 32 … 47: one that the fast path
 * could not predict. */
void encode_unpredicted(struct encoder *e, struct run *run, uint64_t key, uint32_t high);
