/*
 * Names that threads get while they are recorded: by prctl(), or by a write to their comm file,
 * which pthread_setname_np() makes for other threads. Nothing tells the tracer of either. So names
 * are read ten times a second, at a thread's end and when it is left. A name that a thread had for
 * less time may be missed, but hardly its last one.
 */
#pragma once

#include "tracer/tracer_state.h"

/* TASK has got a lane; its record has NAME. */
void thread_names_begin(struct task *task, const char *name);
/* Reads TASK's name, and writes it if it is another one. It may have ended, but must not have been
 * reaped. */
void thread_names_read(struct tracer *t, struct task *task);
/* The same for a task that ends. Where many ended without another name, most are left out. */
void thread_names_end(struct tracer *t, struct task *task);
/* Reads the names of some tasks, if it is time. */
void thread_names_poll(struct tracer *t);
