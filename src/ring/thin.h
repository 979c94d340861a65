/*
 * Leaves out what -D and -t say is not wanted, before it is written: calls
 * deeper than a limit among the traced functions, and calls shorter than a
 * threshold. What is written remains in order and balanced.
 *
 * A call that lasted long enough is written when it ends, together with those
 * of its callers that are not yet written: they last longer still. So an entry
 * never comes after an exit that is later than it. For the same reason calls
 * of other stacks (coroutines) that are open then are written, too, before it
 * is known how long they last; and calls that are open at a record of frames,
 * which says what is: those that have begun before it was known do not count as
 * short; and calls that are open when the program tells of its stacks, as their
 * entries stand before that.
 *
 * Of a program with several threads a stack that is none's own may go on in another one, whose
 * events are not looked at here: neither how deep a call on it is would be known then, nor when it
 * ends. So all that happens on such stacks is written, and views, which see all threads, apply the
 * limits (struct trace_session).
 */
#ifndef SPOOR_RING_THIN_H
#define SPOOR_RING_THIN_H

#include "trace/calls.h"
#include "trace/writer.h"

struct thin;

struct thin_options {
    struct trace_writer *writer;
    uint32_t depth;           /* 0: no limit */
    uint64_t threshold_ticks; /* 0: none */
};

struct thin *thin_new(const struct thin_options *options, const struct trace_thread *thread);
void thin_events(struct thin *t, const struct trace_event *events, size_t count);
/* The program has other threads, or may have had some since the events that come next. */
void thin_share(struct thin *t);
/* COUNT events were lost at this point. */
void thin_lost(struct thin *t, uint64_t ticks, uint64_t count);
/* The thread was running before it was traced, and it is not known yet what it had open: all that
 * comes is kept until thin_frames(). */
void thin_hold(struct thin *t);
bool thin_holds(const struct thin *t);
/* What was open before the first event that is not earlier; of a thread that holds, before all. */
void thin_frames(struct thin *t, const struct trace_frames *frames);
/* The thread has ended at TICKS: writes what was open, and frees T. */
void thin_free(struct thin *t, uint64_t ticks);

#endif
