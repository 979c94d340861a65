/*
 * Which calls are open in one stream, by the events that go into the trace. A part of a recording
 * begins with them (parts.h).
 *
 * Known are the calls on the thread's own stack. Those on other stacks are known while the process
 * has one thread: another thread could go on with them.
 */
#pragma once

#include "base/mem.h"
#include "trace/calls.h"

struct part_calls;
typedef ARRAY(struct trace_frame) frame_list;

/* Uses only the stack's range of THREAD. */
struct part_calls *part_calls_new(const struct trace_thread *thread);
void part_calls_free(struct part_calls *o);

/* The stream's next events, as they go into the trace. */
void part_calls_events(struct part_calls *o, const struct trace_event *events, size_t count);
/* The same for events in a ring that were written until LATEST (ticks). */
void part_calls_ring(struct part_calls *o, const struct event *at, size_t count, uint64_t latest);
/* Events were lost here. */
void part_calls_lost(struct part_calls *o, uint64_t ticks);
/* FRAMES are open at their time, which may be earlier than the latest event's or later. */
void part_calls_frames(struct part_calls *o, const struct trace_frames *frames);
/* No event before TICKS comes any more. */
void part_calls_pass(struct part_calls *o, uint64_t ticks);
/* Ticks of the latest event; 0: there is none. */
uint64_t part_calls_latest(const struct part_calls *o);

/* Calls that are open and had begun before the first event are above this address. */
uint64_t part_calls_reached(const struct part_calls *o);

/* The open calls, the outermost of each stack first. ALONE: the process has one thread. */
void part_calls_list(struct part_calls *o, bool alone, frame_list *ret);
/* Records of frames that are of a later time than all events so far. */
const struct trace_frames *part_calls_due(const struct part_calls *o, size_t *ret_count);
