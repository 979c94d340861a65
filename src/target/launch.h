/* Starts a program under the tracer. */
#pragma once

#include <signal.h>
#include <sys/types.h>

#include "base/err.h"

/*
 * Forks, seizes the child and lets it exec ARGV (searched in PATH) with signal mask MASK. Returns
 * when the child is stopped at PTRACE_EVENT_EXEC, before the program's first instruction. If the
 * caller dies before the exec, so does the child. A file that the kernel cannot run is never given
 * to a shell, as execvp() would do.
 *
 * Errors: "not-found" (ENOENT), "not-executable" (EACCES, ENOEXEC, …; ENOENT if its interpreter is
 * missing), "fork", "seize".
 */
int launch(char *const argv[], const sigset_t *mask, pid_t *ret_pid, struct err *err);
