/*
 * Leaves out calls that -D and -t exclude, before they are written: calls deeper than a limit among
 * the traced functions, and calls shorter than a threshold. The other events stay in order and
 * balanced.
 *
 * A call that lasted long enough is written when it ends, together with its callers, which last
 * longer; or when thin_pass() finds it open for so long. So an entry is never written after a later
 * exit. For the same reason some calls are
 * written before their length is known: open calls of other stacks (coroutines); calls that are
 * open at a record of frames, since they may have begun long before; calls that are open when the
 * program reports its stacks; and calls that are open at a gap. Pauses are written, too, and do not
 * count for a call's length.
 *
 * In a program with several threads, another thread may go on with a stack that belongs to no
 * thread. Its events are not seen here, so the depth and the ends of its calls are unknown. All
 * events on such stacks are written, and views, which see all threads, apply the limits (struct
 * trace_session).
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
/* All events until TICKS were passed: writes the calls that are open since the threshold or longer,
 * so that a view can show them meanwhile. */
void thin_pass(struct thin *t, uint64_t ticks);
/* The program has other threads, or may have had some since the next event. */
void thin_share(struct thin *t);
/* COUNT events were lost at this point. Behind it, exits without an entry are written, too. */
void thin_lost(struct thin *t, uint64_t ticks, uint64_t count);
/* The thread was running before it was traced, and its open calls are not known yet: keeps all
 * events until thin_frames(). */
void thin_hold(struct thin *t);
bool thin_holds(const struct thin *t);
/* FRAMES: calls open before the first event that is not earlier; for a thread that holds events,
 * before all events. */
void thin_frames(struct thin *t, const struct trace_frames *frames);
/* The thread has ended at TICKS: writes open calls, and frees T. */
void thin_free(struct thin *t, uint64_t ticks);
