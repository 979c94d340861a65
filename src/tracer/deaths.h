/*
 * Processes that signals end: which signal, which thread, and the calls on its stack. The stack is
 * unwound while the thread is stopped with the signal; names and lines are the recording's to find
 * (record/deaths.h), because that takes long.
 */
#pragma once

#include "tracer/tracer_state.h"

/* TASK gets SIG at TICKS: remembers it if it is a fault. */
void deaths_note_fault(struct task *task, int sig, uint64_t ticks);
/* TASK, stopped with SIG, which came at TICKS, is about to get it, in the program's own code. */
void deaths_note(struct tracer *t, struct task *task, int sig, uint64_t ticks);
/* Process PID has ended with the wait status STATUS. */
void deaths_end(struct tracer *t, pid_t pid, int status);
void deaths_free(death_array *deaths);
