/*
 * Detects programs that use the lanes' register (x86-64: the gs base) for something of their own:
 * emulators, Wine. A stub would write into their data. They set it by a system call, which spoor
 * watches for, or by an instruction, which no tracer sees: guards at the entries of functions with
 * such instructions tell of it (patch/lane_guard.h). Programs that cannot be guarded are not
 * traced.
 */
#pragma once

#include "patch/space.h"
#include "patch/thread_positions.h"

/* Whether code that PID, stopped or running, has mapped may ask the kernel to set the register.
 * CACHE has answers about files. */
bool gs_conflict_is_possible(const struct plan_cache *cache, pid_t pid);
/* Checks whether TID, which has no lane yet, uses the register. Errors: "lane-taken". */
int gs_conflict_check_thread(pid_t tid, struct err *err);
/* Checks whether SPACE has a conflict, or has lost a guard. Errors: "lane-taken". */
int gs_conflict_check_code(const struct space *space, struct err *err);
/* SPACE is stopped, unpatched, and has MAPS: whether one of its THREADS is in a function with such
 * an instruction, past the guard, or will return there. */
bool gs_conflict_is_entered(const struct space *space, const struct maps *maps,
                            const struct thread_positions *threads);
/* PID is about to set the register. Sets "lane-taken". */
void gs_conflict_describe(pid_t pid, struct err *err);
