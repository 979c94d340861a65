/*
 * Programs that get privileges by exec (set-user-ID and the like), but not while a tracer without
 * these privileges traces them. Spoor learns that when the program has begun without its privileges
 * and has not run an instruction: it executes the program once more, untraced.
 */
#pragma once

#include "tracer/tracer_state.h"

/* TASK, adopted or at its exec event, has begun a program. If the kernel has withheld its
 * privileges, starts it again, untraced, and returns true: the caller forgets the task. */
bool privileged_exec_restart(struct tracer *t, const struct task *task);
