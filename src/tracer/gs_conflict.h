/*
 * Programs that use the register of lanes (x86-64: the gs base) for something of their own:
 * emulators, Wine. A stub would write into what they keep there. They set it by a system call,
 * which spoor watches for, or by an instruction, which no tracer sees: programs that have such
 * instructions are not traced.
 */
#pragma once

#include "patch/space.h"

/* Whether code that PID, stopped or not, has mapped now may ask the kernel to set it. */
bool gs_conflict_is_possible(pid_t pid);
/* TID, which has no lane yet, uses it. Errors: "lane-taken". */
int gs_conflict_check_thread(pid_t tid, struct err *err);
/* SPACE has mapped code that has such instructions. Errors: "lane-taken". */
int gs_conflict_check_code(const struct space *space, struct err *err);
/* PID is about to set it. Sets "lane-taken". */
void gs_conflict_describe(pid_t pid, struct err *err);
