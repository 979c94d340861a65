/*
 * The state of an encoder, for encode.c, which has the fast path, and unpredicted.c.
 */
#pragma once

#include <string.h>

#include "base/mem.h"
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
    uint64_t start;   /* of the call, as in event.clock_sp: a clock of 48 bits above other bits */
    uint64_t callees; /* in the same unit, modulo 2^64: ends of ended callees, minus starts of all;
                         of the frame at the bottom: since the latest raise */
};

struct shadow {
    struct frame *frames; /* [0] is below all frames: it keeps the latest stack pointer */
    size_t top, room;
    uint32_t high; /* bits 32 … 47 of the stack pointer written last */
};

/* Of the calls that were open before the block, those at stack pointers up to SP had ended at
 * TICKS. */
struct raise {
    uint64_t sp, ticks;
    uint64_t callees; /* ticks of ended calls, since the raise before, that the innermost call of
                         before had called */
    size_t pauses;    /* so many of the block's pauses came earlier */
};

/* What a block tells about open calls, apart from the shadow of the stack. */
struct block_calls {
    ARRAY(struct raise) raises;
    ARRAY(struct trace_pause) pauses; /* those that are subtracted */
    uint64_t reach;                   /* of the last raise; 0: none */
    bool complex; /* this is not all: several shadows, chains, or clocks that step back */
    bool lost;    /* a gap */
};

struct encoder {
    struct bytes code, time, extra;
    struct dictionary dictionary;
    struct shadow *shadows;
    uint32_t shadow_count, shadow_room, current, victim;
    uint32_t bottom_step; /* the step of number 0. The dictionary has none where an entry in the
                             fast path could end calls of before the block without a note. */
    uint64_t first, last; /* ticks */
    uint32_t items, entries, exits;
    uint64_t lost;
    struct trace_totals taken;   /* in earlier blocks */
    uint64_t own_low, own_bytes; /* the thread's own stack; 0: unknown */
    uint64_t left[ENCODE_LEFT];  /* keys of such frames, by their stack pointers */
    struct encoder_facts facts;
    struct block_calls block; /* the present one */
    struct open_calls *calls; /* gets what blocks tell about open calls; or NULL */
};

/* The state inside a run, which the fast path keeps in registers. */
struct run {
    uint8_t *code, *extra;
    struct frame *top;
    uint64_t ticks; /* of the event */
    uint64_t clock; /* the same in the unit of struct frame */
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
