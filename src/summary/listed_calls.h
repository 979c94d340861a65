/*
 * Calls of regular streams (plan.h) that no digest sums up: those that go on across blocks, mostly.
 * By stream, in the order of their starts. All that they add to a range is known without reading.
 *
 * Around the ended calls of a digest's STEP_CALLS there are listed calls: each block has the
 * innermost one for each such step. So a block can be read by itself.
 */
#pragma once

#include "summary/summary.h"

enum listed_flag { LISTED_OUTERMOST = 1, LISTED_BEFORE = 2, LISTED_INFERRED = 4, LISTED_ENDED = 8 };
enum { LISTED_CHUNK = 256, LISTED_NONE = UINT32_MAX };

struct listed {
    uint64_t start_ns, end_ns, duration_ns, self_ns;
    uint64_t clipped_self_ns; /* of walk_call */
    uint32_t function;
    uint32_t parent; /* number in the same stream; LISTED_NONE */
    uint32_t depth;
    uint8_t how, flags; /* enum call_end, enum listed_flag */
    uint16_t unused;
};

/* Arrays without room are in a file. */
struct listed_stream {
    ARRAY(struct listed) calls;
    ARRAY(uint64_t) most_ends; /* of each LISTED_CHUNK calls */
};

struct around_list { /* of one block */
    uint32_t *at;    /* by the number of its STEP_CALLS: a listed call, or LISTED_NONE */
    uint32_t count, room;
};

uint32_t listed_open(struct listed_stream *s, const struct walk_call *call);
void listed_close(struct listed_stream *s, const struct walk_call *call);
void listed_end(struct listed_stream *s); /* all calls were added */
void listed_done(struct listed_stream *s);

static inline uint64_t listed_paused_ns(const struct listed *l) {
    return l->flags & LISTED_ENDED ? l->end_ns - l->start_ns - l->duration_ns : 0;
}

static inline struct walk_call listed_walk_call(const struct listed_stream *s, uint32_t stream,
                                                const struct listed *l) {
    (void)s;
    return (struct walk_call){.function = l->function,
                              .stream = stream,
                              .end_stream = stream,
                              .depth = l->depth,
                              .before = l->flags & LISTED_BEFORE,
                              .inferred = l->flags & LISTED_INFERRED,
                              .start_ns = l->start_ns,
                              .end_ns = l->end_ns,
                              .duration_ns = l->duration_ns,
                              .self_ns = l->self_ns,
                              .clipped_self_ns = l->clipped_self_ns,
                              .paused_ns = listed_paused_ns(l),
                              .caller_id = UINT32_MAX,
                              .how = l->how};
}

/* The first call from I on that overlaps the range; the count of calls: none. */
static inline size_t listed_next(const struct listed_stream *s, size_t i, uint64_t since_ns,
                                 uint64_t until_ns) {
    while (i < s->calls.count && s->calls.at[i].start_ns <= until_ns) {
        if (i % LISTED_CHUNK == 0 && s->most_ends.at[i / LISTED_CHUNK] < since_ns)
            i += LISTED_CHUNK;
        else if (s->calls.at[i].end_ns < since_ns)
            i++;
        else
            return i;
    }
    return s->calls.count;
}
