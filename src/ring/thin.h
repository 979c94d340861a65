/*
 * Leaves out calls that -D and -t exclude, before they are written: calls deeper than a limit among
 * the traced functions, and calls shorter than a threshold. The rest stays in order and balanced.
 *
 * A call that lasted long enough is written when it ends, together with its callers, which last
 * longer still. So an entry is never written after a later exit. For the same reason other calls
 * are written before their length is known: calls of other stacks (coroutines) that are open then;
 * calls that are open at a record of frames, since they may have begun long before; and calls that
 * are open when the program reports its stacks.
 *
 * In a program with several threads, a stack that belongs to no thread may go on in another thread,
 * whose events are not seen here: the depth of its calls and their ends are unknown. So all events
 * on such stacks are written, and views, which see all threads, apply the limits
 * (struct trace_session).
 */
#pragma once

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
