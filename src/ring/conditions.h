/*
 * Leaves out calls for which a condition does not hold (--where). What such a call calls is written
 * as if its caller had called it. A condition with the result is judged at the call's end: until
 * then all events of the thread wait. A call whose values are not known is left out; one that comes
 * without values, or in which too many events wait, is written. Drainer only.
 */
#pragma once

#include "trace/value_log.h"

struct call_judge;
struct call_judge *call_judge_new(const struct trace_thread *thread);
void call_judge_free(struct call_judge *j); /* may be NULL */
/* Takes the next event of the thread with its VALUES, or NULL. False: VALUES are not needed any
 * more. */
bool call_judge_take(struct call_judge *j, const struct trace_event *event,
                     const struct event_values *values);
/* Events are lost here, or there are no more: nothing waits any longer. */
void call_judge_release(struct call_judge *j);
/* The next event to be written. False: there is none yet. */
bool call_judge_next(struct call_judge *j, struct trace_event *ret);
