/*
 * Pauses of one thread (doc/trace-format.md), on their way to its stream. The tracer adds those for
 * which it has stopped the thread, before it resumes it. Waits for room come as events of the ring
 * (WAIT_EVENT). The drainer puts both between the events before and behind them:
 *
 *      ring:     event 1   WAIT at 20   event 2 at 50           event 3 at 90
 *      tracer:                                      60 … 80
 *      stream:   event 1   30 ticks, at 50   event 2   20 ticks, at 80   event 3
 *
 * An event may be older than a stop, and be committed behind it: a thread may stop in a stub. So
 * clocks decide, not the order of arrival.
 */
#pragma once

#include <stdatomic.h>

#include "base/mem.h"
#include "base/types.h"
#include "trace/format.h"
#include "wire/ring.h"

struct pause {
    uint64_t begin, end; /* ticks */
    uint32_t id;         /* PAUSE_EVENT + enum pause_cause, + PAUSE_IN_CALL */
};

typedef ARRAY(struct pause) pause_array;

struct pauses {
    _Atomic bool any; /* `added` has some */
    pause_array added;
    pause_array taken;   /* drainer, as are the following; in order of time */
    uint64_t wait_since; /* ticks; 0: the thread does not wait for room */
    uint64_t newest;     /* ticks of the newest item written; 0: none */
};

/* Begins anew, for a thread without pauses. */
void pauses_begin(struct pauses *p);
void pauses_done(struct pauses *p);
/* The thread, stopped, had this pause. Called by the tracer. */
void pauses_add(struct pauses *p, const struct pause *pause);
/* Takes what the tracer has added, all that lies before the events up to the head that the caller
 * has read. */
void pauses_take(struct pauses *p);
/* Forgets pauses that began before TICKS. */
void pauses_forget_before(struct pauses *p, uint64_t ticks);
/* For how many ticks between BEGIN and END the thread has stood still for nothing but spoor. */
uint64_t pauses_between(const struct pauses *p, uint64_t begin, uint64_t end);
/* A copy for another reader. */
struct pauses pauses_copy(const struct pauses *p);

/* Whether pauses_next() may find one. */
static inline bool pauses_wait(const struct pauses *p) { return p->taken.count || p->wait_since; }
/* Whether pauses_next() may find one before an event of function id ID, which is not a slice's. */
static inline bool pauses_precede(const struct pauses *p, uint32_t id) {
    return pauses_wait(p) && !is_slice_event(id);
}
/* The next event has these TICKS: takes the next pause that belongs before it to *RET. False: there
 * is none. */
bool pauses_next(struct pauses *p, uint64_t ticks, struct trace_event *ret);
/* Event E follows. Raises its ticks to those of the newest item. False: it is a WAIT_EVENT, which
 * is not written. */
static inline bool pauses_follow(struct pauses *p, struct trace_event *e) {
    if (e->site >> 2 == WAIT_EVENT) {
        p->wait_since = e->ticks;
        return false;
    }
    if (e->ticks > p->newest)
        p->newest = e->ticks;
    e->ticks = p->newest;
    return true;
}
/* The thread has ended: takes the next pause that is left. */
bool pauses_next_left(struct pauses *p, struct trace_event *ret);
