/*
 * Watched programs run from one syscall-stop to the next: those that may trace others
 * (nested_tracer.h) or use the register of lanes (gs_conflict.h). Their threads and children are
 * watched with them.
 */
#pragma once

#include "tracer/task.h"

/* Whether the program that TID runs may trace others. That takes some time, except for the program
 * of the last call. */
bool syscall_watch_traces_others(pid_t tid);
/* TASK stands at the start of a program: decides whether it is watched. */
void syscall_watch_decide(struct task *task);
