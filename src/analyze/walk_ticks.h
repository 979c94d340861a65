/*
 * The own times of calls that a shown span clips. A checkpoint tells of an open call how many ticks
 * its ended callees took, as one sum; when each of them began and ended, it does not tell. So own
 * time has two rules, and which one holds does not depend on which blocks are read:
 *
 *     a call inside the span   its duration − the sum of its callees' durations, in nanoseconds
 *     a call that is clipped   its duration − the sum of its callees' ticks, converted once
 *
 * They differ by less than a nanosecond for each callee. The second one is only for threads that
 * keep to their own stack, where a call's depth is its place among the open calls.
 */
#pragma once

#include "analyze/walk_state.h"

static inline void walk_ticks_open(struct walk *w, uint32_t depth) {
    if (depth == w->lengths.count)
        ARRAY_PUSH(&w->lengths, ((struct call_ticks){0}));
    if (depth < w->lengths.count)
        w->lengths.at[depth] = (struct call_ticks){w->ticks, w->paused_ticks, 0};
    w->lengths.count = depth < w->lengths.count ? depth + 1 : w->lengths.count;
}

/* HIDDEN: the call's own time counts for its caller. Returns the ticks of its callees. */
static inline uint64_t walk_ticks_close(struct walk *w, uint32_t depth, bool hidden) {
    if (depth >= w->lengths.count)
        return 0;
    struct call_ticks *t = &w->lengths.at[depth];
    uint64_t length = w->ticks > t->start ? w->ticks - t->start : 0;
    uint64_t paused = w->paused_ticks - t->paused;
    length -= paused < length ? paused : length;
    if (depth)
        t[-1].callees += hidden && t->callees < length ? t->callees : length;
    w->lengths.count = depth;
    return t->callees;
}

/* The thread stood still for LENGTH ticks until END. */
void walk_ticks_pause(struct walk *w, uint64_t end, uint64_t length);
/* How much of a pause of LENGTH ticks until END comes before START. */
static inline uint64_t walk_ticks_before(uint64_t start, uint64_t end, uint64_t length) {
    uint64_t begin = end - length;
    uint64_t before = start > begin ? start - begin : 0;
    return before < length ? before : length;
}

static inline void walk_ticks_add(struct walk *w, uint32_t depth, uint64_t callees) {
    if (depth < w->lengths.count)
        w->lengths.at[depth].callees += callees;
}

/* The own time of a clipped call. */
static inline uint64_t walk_ticks_self(const struct trace_scale *scale, uint64_t duration_ns,
                                       uint64_t callees) {
    uint64_t ns = wide_shift_right(wide_product(callees, scale->scale), SCALE_BITS);
    return duration_ns > ns ? duration_ns - ns : 0;
}
