/*
 * What one block of a stream tells without the calls that are open at its beginning. So blocks can
 * be read in any order, on all processors; only their digests are taken in order of time.
 *
 * Nearly all calls begin and end in one block. Their lengths, and the times without their callees,
 * depend on nothing else: they are summed up at once. The rest are *steps*, mostly some dozens:
 *
 *     events of the block    ) ) ( (()())  (()) ( ( (())
 *     steps                  1 2 3 '----4---'   5 6 '-7'      1 2   exits of calls that began
 * before 3 5 6 entries of calls that go on 4 7   ended calls, side by side
 *
 * Of ended calls the walk has to know three things: which calls they end (of an exception, say), in
 * which call they are, and how long they took. A function's own total time does not count while the
 * function is open further out, so each STEP_CALLS has the total times for itself.
 *
 * Only events on the thread's own stack are summed up. All others, pauses, losses, and control
 * events that end calls are steps, and so are then the entries of all calls that are open.
 */
#pragma once

#include "base/mem.h"
#include "trace/reader.h"

struct digest_sum { /* of ended calls of one function */
    uint32_t function;
    uint32_t parent; /* call graph: 1 + the sum, in the same step, of their callers; 0: outermost */
    uint64_t total_ns;
    uint64_t calls, self_ns, unwound; /* call graph only */
};

struct digest_call { /* an ended call that is passed on by itself */
    uint64_t start_ns, end_ns, self_ns;
    uint64_t clipped_self_ns; /* as in walk.h */
    uint32_t function;
    uint32_t caller; /* function; UINT32_MAX: the call around the step */
    uint32_t depth;  /* calls of the step around it */
    uint8_t how;     /* enum call_end */
    uint8_t why;     /* why: for hooks */
};

struct digest_level {          /* other ended calls of a step that have the same depth */
    uint64_t start_ns, end_ns; /* of the first one, of the last one */
    uint64_t weight;           /* of `function`, above the sum of all others' */
    uint32_t function, calls;
    uint32_t depth;
};

struct digest_mark { /* control has passed a place that was asked for, inside an open call */
    uint64_t ns;
    uint32_t function; /* the place */
};

enum step_kind {
    STEP_ITEM, /* `item`, as it was */
    STEP_OPEN, /* `item` is an entry whose call stays open */
    STEP_CALLS /* calls that have ended, in the innermost call that is open */
};

struct digest_step {
    enum step_kind kind;
    uint64_t ns, ticks;  /* STEP_CALLS: the first call's entry */
    uint64_t callees_ns; /* STEP_OPEN: of its ended callees; STEP_CALLS: of all these calls */
    uint64_t callees;    /* the same in ticks */
    union {
        struct trace_item item;
        struct {
            uint64_t sp;       /* no call of the step was entered above it */
            size_t first, end; /* sums */
            uint32_t first_call, end_call, first_level, end_level;
        };
    };
};

struct digest {
    uint32_t items;         /* all that could be read */
    uint32_t damaged;       /* items behind these */
    uint64_t last, last_ns; /* of the last item, in ticks and in nanoseconds */
    ARRAY(struct digest_step) steps;
    ARRAY(struct digest_sum) sums;
    /* For hooks that make them: */
    ARRAY(struct digest_call) calls;
    ARRAY(struct digest_level) levels;
    ARRAY(struct digest_mark) marks; /* but for those that are steps */
};
