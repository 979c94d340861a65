/*
 * An all-stop of one address space. While space->stopping is set, reports of its tasks wait; they
 * are answered when the space is resumed. A caller that is answering a task itself holds that task
 * first (`held`), or its report would be answered twice.
 */
#pragma once

#include "tracer/core.h"

/* Stops all tasks of SPACE. They may run a few times before all stand still. */
void stop_space(struct tracer *t, struct space *space);
/* The same for MS milliseconds at most. Returns whether all have stopped; if not, those that have
 * stay stopped. */
bool stop_space_within(struct tracer *t, struct space *space, unsigned ms);
/* Stops SPACE at a moment when one of its tasks may make remote calls; that task. NULL: there is no
 * such moment. */
struct task *stop_space_with_caller(struct tracer *t, struct space *space);
/* Answers all tasks of SPACE. They may stop it again. */
void resume_space(struct tracer *t, struct space *space);
/* The same except for TID, which the caller answers. Returns whether TID is still there. */
bool resume_others(struct tracer *t, struct space *space, pid_t tid);

/* A task of SPACE that has not stopped; 0: none. */
pid_t find_unstopped(const struct tracer *t, const struct space *space);
/* A stopped task of SPACE that may make remote calls, if possible one whose sandbox allows all of
 * them; NULL: there is none now. */
struct task *find_caller(const struct tracer *t, const struct space *space);
/* TASK, if its sandbox allows remote calls; else another stopped task of its space that may make
 * them and whose sandbox does, if there is one. */
pid_t unsandboxed_caller(const struct tracer *t, const struct task *task);

/* SPACE is stopped, and its text is about to be restored: moves threads off the ways from sites to
 * trampolines. */
void settle_ways(const struct tracer *t, const struct space *space);
/* parked_sigframes_search() of SPACE; reports of its threads are handled meanwhile. */
void stopping_find_parked(struct tracer *t, struct space *space);
