/*
 * Programs that give rights to whoever runs them: set-user-ID, set-group-ID, file capabilities.
 * The kernel withholds these from a program whose tracer has less (execve(2), "traced by").
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "target/thread.h"

/* Whether TID, at the start of a program, has been refused rights because it is traced; it may be
 * said of a program, too, that gets none for another reason. False when its file cannot be seen. */
bool privileges_withheld(pid_t tid);

/*
 * TID stands at the start of a program, behind its execve (thread_finish_syscall). Detaches it and
 * makes it execute the same program with the same arguments once more, now as nobody's tracee.
 * SITE: code that makes a call, as for thread_call(), with no frame. If the kernel refuses, the
 * program goes on as it is. Errors: "memory", "remote-call".
 */
int privileges_exec_again(pid_t tid, const struct remote_site *site, struct err *err);
