/*
 * How long a drainer rests between two looks at its rings: until the one that fills fastest should
 * be at a certain part. A sleep ends late, so it is begun for less. If it would be too long even
 * so, the drainer polls the ring, and gives its processor to others meanwhile.
 *
 * A thread that waits for room spins. Where all processors spin, the kernel may let a drainer that
 * wakes up wait for its next tick, 4 ms, whatever its nice value. So a drainer sleeps as a realtime
 * thread, if it may, where as many threads write as there are processors. It does so, too, for a
 * second after a sleep that has ended late. Not always: the kernel wakes such a thread up where it
 * was, even if a traced thread runs there and another processor is free. It is one only for some
 * milliseconds at a time: it starves no other thread.
 */
#pragma once

#include "ring/lanes.h"

struct pace {
    uint64_t look_ns;           /* when the present look began */
    uint64_t period_ns;         /* from the look before to the present one */
    uint64_t late_ns;           /* how much later than asked for a sleep ends */
    uint64_t no_poll_until_ns;  /* others want this processor */
    uint64_t woken_ns;          /* when the latest sleep ended */
    uint64_t held_up_until_ns;  /* sleeps end late */
    size_t busy, processors;    /* rings with events in the present look */
    unsigned idle;              /* looks without events, one after the other */
    bool may_be_urgent, urgent; /* a realtime thread */
};

/* The calling thread is a drainer. AWAITED: full rings hold threads up, or lose events, so it wakes
 * in time, before these threads. Finds out whether it may be urgent. */
void pace_begin(struct pace *p, bool awaited);
/* Whether there were no events for many looks. */
bool pace_is_idle(const struct pace *p);
/* A look begins. */
void pace_look(struct pace *p);
/* A piece of a ring has been read. */
void pace_read(struct pace *p);
/* Rests. FULLEST: the ring with most events of this look, PERCENT of it; NULL, 0: there were no
 * events. */
void pace_rest(struct pace *p, const struct lane_handle *fullest, unsigned percent,
               uint64_t longest_ns);
