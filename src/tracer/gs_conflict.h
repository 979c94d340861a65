/*
 * Programs that use the register that lanes hang off (x86-64: the gs base) for something of their
 * own: emulators, Wine. A stub that runs with what they keep there would write into it. They write
 * it by a system call, which is waited for, or by an instruction, which nobody is told of: code
 * that has such is not traced at all.
 */
#ifndef SPOOR_TRACER_GS_CONFLICT_H
#define SPOOR_TRACER_GS_CONFLICT_H

#include "patch/space.h"

/* Whether some code that PID, stopped or not, has mapped now may ask the kernel for that. */
bool gs_conflict_is_possible(pid_t pid);
/* TID, which has nothing of ours, has taken it. Errors: "lane-taken". */
int gs_conflict_check_thread(pid_t tid, struct err *err);
/* SPACE has mapped code that takes it by itself. Errors: "lane-taken". */
int gs_conflict_check_code(const struct space *space, struct err *err);
/* PID is about to take it. Sets "lane-taken". */
void gs_conflict_describe(pid_t pid, struct err *err);

#endif
