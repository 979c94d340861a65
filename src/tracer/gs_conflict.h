/*
 * Detects programs that use the lanes' register (x86-64: the gs base) for something of their own:
 * emulators, Wine. A stub would write into their data. They set it by a system call, which spoor
 * watches for, or by an instruction, which no tracer sees: programs with such instructions are not
 * traced.
 */
#pragma once

#include "patch/space.h"

/* Whether code that PID, stopped or running, has mapped may ask the kernel to set the register.
 * CACHE has answers about files. */
bool gs_conflict_is_possible(const struct plan_cache *cache, pid_t pid);
/* Checks whether TID, which has no lane yet, uses the register. Errors: "lane-taken". */
int gs_conflict_check_thread(pid_t tid, struct err *err);
/* Checks whether SPACE has mapped code with such instructions. Errors: "lane-taken". */
int gs_conflict_check_code(const struct space *space, struct err *err);
/* PID is about to set the register. Sets "lane-taken". */
void gs_conflict_describe(pid_t pid, struct err *err);
