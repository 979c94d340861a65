/*
 * Programs that get rights by being executed (set-user-ID and the like), but not while a tracer
 * with less rights traces them. When that is known the program has begun without its rights, and
 * has not run an instruction: so it is executed once more, untraced.
 */
#pragma once

#include "tracer/core.h"

/* TASK, adopted or at its exec event, has begun a program. If the kernel has refused that its
 * rights, it begins again, untraced. Returns whether so: the caller forgets the task. */
bool privileged_exec_restart(struct tracer *t, const struct task *task);
