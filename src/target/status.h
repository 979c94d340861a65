/* Facts from /proc/TID. */
#pragma once

#include <sys/types.h>

#include "base/types.h"

/* The process that thread TID belongs to; TID itself when it cannot be read. */
pid_t status_process_of(pid_t tid);
pid_t status_parent_of(pid_t tid);
/* Whether TID's process is PID, a child of it, a child's child, and so on. */
bool status_descends(pid_t tid, pid_t pid);
/* The id of TID's process as it sees it itself, in its own pid namespace; 0 when it cannot be read.
 */
pid_t status_innermost_pid(pid_t tid);
/* The same for TID itself. */
pid_t status_innermost_tid(pid_t tid);
/* Where the first thread's stack was when its program began; 0: unknown. */
taddr_t status_stack_start(pid_t tid);
/* Where the program break of TID's process began; 0: unknown. */
taddr_t status_break_start(pid_t tid);
/* 0: no seccomp; strict mode counts as very many. */
unsigned status_seccomp_filters(pid_t tid);
bool status_seccomp_is_strict(pid_t tid);
/* Whether a signal is pending for TID that it neither blocks nor ignores. */
bool status_signal_pending(pid_t tid);
/* Whether TID's process has a handler for SIGNAL. */
bool status_catches(pid_t tid, int signal);
/* Whether SIGNAL would do nothing at all to TID's process. */
bool status_ignores(pid_t tid, int signal);
/* Whether TID is dead, even if wait() does not tell yet. */
bool status_has_ended(pid_t tid);
/* Whether TID runs, or waits for nothing but a processor. */
bool status_is_runnable(pid_t tid);
/* How often TID has begun to wait, or had to let others run; 0 when it cannot be read. */
uint64_t status_switches(pid_t tid);
/* Not so: threads of the kernel, and what has ended or is about to. */
bool status_has_memory(pid_t tid);
/* Whether it waits in the kernel for something that no stop cuts short. */
bool status_is_uninterruptible(pid_t tid);
bool status_is_kernel_thread(pid_t tid);
/* Whether TID, listed among the threads of a process, is one of the kernel's that works for it
 * (io_uring, vhost), and never runs code of it. What it waits in fails when it is interrupted. */
bool status_is_worker(pid_t tid);
/* The threads of PID's process that have not ended, to be freed; how many. */
size_t status_threads(pid_t pid, pid_t **ret);
/* The system call that TID waits in, with all that it has given to it; number < 0: none, or that
 * may not be looked at. */
struct status_wait {
    long number;
    uint64_t args[6];
    taddr_t sp, pc;
};
void status_blocking_syscall(pid_t tid, struct status_wait *ret);
/* The system call that TID, stopped, is in, and its first argument. Returns false when it is in
 * none, or may not be looked at. */
bool status_syscall_of(pid_t tid, long *ret_number, uint64_t *ret_argument);
/* The stack pointer of TID, which waits in a system call: it need not be stopped. False: it does
 * not wait, or may not be looked at. */
bool status_stack_of(pid_t tid, taddr_t *ret_sp);
/* Where in the program TID, which waits in the kernel, will go on; it need not be stopped. False:
 * it does not wait, or may not be looked at. */
bool status_pc_of(pid_t tid, taddr_t *ret_pc);
/* Whether it is thread TID that has made CHILD; if the kernel does not tell that, whether its
 * process has. */
bool status_created(pid_t tid, pid_t child);
/* Whether TID waits for a child of vfork, or of a clone like it. */
bool status_is_in_vfork(pid_t tid);
/* The thread that traces TID; 0: none. */
pid_t status_tracer_of(pid_t tid);
/* What TID may do. */
struct status_credentials {
    uid_t user;
    gid_t group;                  /* both: effective */
    uint64_t permitted, bounding; /* capabilities */
    bool no_new;                  /* it gets no more by executing programs */
};
void status_credentials(pid_t tid, struct status_credentials *ret);
/* Whether all user and group ids of TID's are those of whom we act for: the condition under which
 * an unprivileged process may look at another (ptrace(2), "Ptrace access mode checking"). If not,
 * *ret_user is the first user id that is not. */
bool status_ids_match(pid_t tid, uid_t *ret_user);
/* The thread's name as ps shows it; "" when it is gone. */
void status_name(pid_t tid, char *out, size_t size);
