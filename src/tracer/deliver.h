/* Prepares the delivery of a signal to a task, and restarts system calls that a stop has ended
 * early. */
#pragma once

#include "tracer/tracer_state.h"

/* Signal SIG is about to be delivered: its handler must find the program's own pc. False: spoor has
 * caused the signal, and the program must not get it. The task may be gone afterwards. */
bool deliver_prepare(struct tracer *t, struct task *task, int sig);
/* Whether SIG, for which TID is stopped, is a fault of the instruction at its pc. */
bool deliver_is_fault(pid_t tid, int sig);
/* TASK has stopped. Its system call may have returned early only because of spoor's stop, and the
 * kernel may not restart it (EINTR). Then the call is made to go on. */
void deliver_restart_syscall(struct task *task);
