/* Starts a program under the tracer. */
#ifndef SPOOR_TARGET_LAUNCH_H
#define SPOOR_TARGET_LAUNCH_H

#include <signal.h>
#include <sys/types.h>

#include "base/err.h"

/*
 * Forks, seizes the child and lets it exec ARGV (searched in PATH). The child gets MASK as its
 * signal mask. Returns when the child stands at PTRACE_EVENT_EXEC, before the first instruction of
 * the new image. Errors: "not-found" (ENOENT), "not-executable" (EACCES, ENOEXEC, …), "fork",
 * "seize".
 */
int launch(char *const argv[], const sigset_t *mask, pid_t *ret_pid, struct err *err);

#endif
