/*
 * Births, execs and ends of tasks. The loop calls these with a stopped task, and resumes it if it
 * is still traced afterwards.
 */
#pragma once

#include "tracer/tracer_state.h"

/* Writes a record of process PID into the trace. */
void lifecycle_write_process(struct tracer *t, pid_t pid);
/* TASK, adopted or at its exec event, is at the start of a new program: sets up a space.
 * WAS_PAUSED: the program before was paused. */
int lifecycle_set_up_program(struct tracer *t, struct task *task, bool was_paused, struct err *err);
/* TASK is at its exec event, which has ended all other threads of its process: forgets them. */
void lifecycle_forget_threads(struct tracer *t, const struct task *task);
/* TASK is at its exec event. Returns whether it stays traced; else it is gone. */
bool lifecycle_exec(struct tracer *t, struct task *task);
/* PARENT has stopped at a fork, vfork or clone event. Called at once, since a forked child has the
 * memory of this moment. */
void lifecycle_birth(struct tracer *t, struct task *parent);
/* The first stop of a task that a traced task has created, before its first instruction. Returns
 * whether it stays traced; else it is gone. */
bool lifecycle_first_stop(struct tracer *t, struct task *task);
/* TASK is at its exit event, and runs on at once: another thread's exec may wait for it. */
void lifecycle_exit(struct tracer *t, struct task *task);
/* Closes TASK's lane and frees it. */
void lifecycle_forget(struct tracer *t, struct task *task);
