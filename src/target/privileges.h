/* Programs that give rights to the user who runs them: set-user-ID, set-group-ID, file
 * capabilities. The kernel withholds them if the tracer has fewer (execve(2)). */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "target/thread.h"

/* True if TID, at the start of a program, was refused rights because it is traced. May also be true
 * if the rights were refused for another reason. False if its file cannot be seen. */
bool privileges_withheld(pid_t tid);

/*
 * TID is at the start of a program, behind its execve (thread_finish_syscall). Detaches it and
 * makes it exec the same program with the same arguments once more, untraced. SITE: as for
 * thread_call(), without a frame. If the kernel refuses the exec, the program continues as it is.
 * Errors: "memory", "remote-call".
 */
int privileges_exec_again(pid_t tid, const struct remote_site *site, struct err *err);
