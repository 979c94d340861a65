/*
 * Decides which programs are watched: run from one syscall-stop to the next. These are programs
 * that may trace others (nested_tracer.h) or use the lanes' register (gs_conflict.h). Their threads
 * and children are watched, too.
 */
#pragma once

#include "tracer/task.h"

/* Whether the program of TID may trace others. The answer takes some time, except for the program
 * of the last call. */
bool syscall_watch_traces_others(pid_t tid);
/* TASK is at the start of a program: decides whether it is watched. CACHE has answers. */
void syscall_watch_decide(const struct plan_cache *cache, struct task *task);
