/* A signal on its way to a task, and system calls that a stop has ended early. */
#pragma once

#include "tracer/core.h"

/* Signal SIG is about to be delivered: its handler shall find the program's own pc. False: spoor
 * has caused it, and the program shall not see it. The task may be gone afterwards. */
bool deliver_prepare(struct tracer *t, struct task *task, int sig);
/* Whether SIG, which stops TID, comes from the instruction that it stands at. */
bool deliver_is_fault(pid_t tid, int sig);
/* TASK has stopped. If only spoor's stop has made its system call return early, and the kernel does
 * not restart that (EINTR), the call shall go on. */
void deliver_restart_syscall(struct task *task);
