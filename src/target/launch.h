/* Starts a program under the tracer. */
#pragma once

#include <signal.h>
#include <sys/types.h>

#include "base/err.h"

/*
 * Forks, seizes the child and lets it exec ARGV (searched in PATH). The child gets MASK as its
 * signal mask. Returns when the child stands at PTRACE_EVENT_EXEC, before the first instruction of
 * the new image. Errors: "not-found" (ENOENT), "not-executable" (EACCES, ENOEXEC, … and ENOENT when
 * its interpreter is missing), "fork", "seize". A file that the kernel cannot run is never given to
 * a shell, as execvp() would. When the caller dies before the exec, so does the child.
 */
int launch(char *const argv[], const sigset_t *mask, pid_t *ret_pid, struct err *err);
