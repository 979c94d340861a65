/*
 * Stops all tasks of one address space. While space->stopping is set, reports of its tasks wait;
 * they are answered when the space is resumed. A caller that is answering a task holds that task
 * first (TASK_HELD), or its report would be answered twice.
 */
#pragma once

#include "tracer/tracer_state.h"

/* Stops all tasks of SPACE. Some may be resumed a few times before all are stopped. */
void stop_space(struct tracer *t, struct space *space);
/* Tries that for at most MS milliseconds. Returns whether all have stopped; stopped tasks stay
 * so. */
bool stop_space_within(struct tracer *t, struct space *space, unsigned ms);
/* Stops SPACE when one of its tasks may make remote calls; returns that task. NULL: no task comes
 * to such a stop. */
struct task *stop_space_with_caller(struct tracer *t, struct space *space);
/* Answers all tasks of SPACE. Their answers may stop it again. */
void resume_space(struct tracer *t, struct space *space);
/* The same after work on SPACE for CAUSE: that its tasks stood still was a pause. */
void resume_changed_space(struct tracer *t, struct space *space, enum pause_cause cause);
/* The same except for TID, which the caller answers. Returns whether TID still exists. */
bool resume_others(struct tracer *t, struct space *space, pid_t tid);

/* A task of SPACE that has not stopped; 0: none. */
pid_t find_unstopped(const struct tracer *t, const struct space *space);
/* A stopped task of SPACE that may make remote calls, if possible one whose sandbox allows all of
 * them; NULL: none may now. */
struct task *find_caller(const struct tracer *t, const struct space *space);
/* TASK, if its sandbox allows remote calls. Else another stopped task of its space that may make
 * them and whose sandbox allows them, or TASK if there is none. */
pid_t unsandboxed_caller(const struct tracer *t, const struct task *task);

/* SPACE is stopped, and its text is about to be restored: moves threads that are between a site and
 * its trampoline back to the site. */
void settle_off_ways(const struct tracer *t, const struct space *space);
/* parked_sigframes_search() of SPACE; handles reports of its threads meanwhile. */
void stopping_find_parked(struct tracer *t, struct space *space);
