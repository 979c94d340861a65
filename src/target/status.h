/* Facts from /proc/TID. Unreadable facts are 0 or false, unless the function says otherwise. */
#pragma once

#include <sys/types.h>

#include "base/types.h"

/* The process of thread TID; TID itself if it cannot be read. */
pid_t status_process_of(pid_t tid);
/* True if TID is a thread of process PID. Does not read /proc. */
bool status_is_thread_of(pid_t tid, pid_t pid);
pid_t status_parent_of(pid_t tid);
/* True if TID's process is PID or descends from it. */
bool status_descends(pid_t tid, pid_t pid);
/* The id of TID's process in the process's own pid namespace. */
pid_t status_innermost_pid(pid_t tid);
/* TID's own id there. */
pid_t status_innermost_tid(pid_t tid);
/* Where the first thread's stack began when its program began. */
taddr_t status_stack_start(pid_t tid);
/* Where the program break of TID's process began. */
taddr_t status_break_start(pid_t tid);
/* The number of filters. Strict mode counts as very many. */
unsigned status_seccomp_filters(pid_t tid);
bool status_seccomp_is_strict(pid_t tid);
/* True if a signal is pending for TID that it neither blocks nor ignores. */
bool status_signal_pending(pid_t tid);
/* True if TID's process has a handler for SIGNAL. */
bool status_catches(pid_t tid, int signal);
/* True if SIGNAL would do nothing to TID's process. */
bool status_ignores(pid_t tid, int signal);
/* The signals that TID's process catches and ignores; bit n: signal n + 1. False: unreadable. */
bool status_actions(pid_t tid, uint64_t *ret_caught, uint64_t *ret_ignored);
/* True if TID is dead, even if wait() does not report it yet. */
bool status_has_ended(pid_t tid);
/* True if TID runs, or waits for a processor only. */
bool status_is_runnable(pid_t tid);
/* The number of TID's context switches, voluntary or not. */
uint64_t status_switches(pid_t tid);
/* False for kernel threads, and for tasks that have ended or are about to. */
bool status_has_memory(pid_t tid);
/* True if TID waits in the kernel uninterruptibly. */
bool status_is_uninterruptible(pid_t tid);
bool status_is_kernel_thread(pid_t tid);
/* True if TID, listed among a process's threads, is a kernel worker (io_uring, vhost). It never
 * runs the program's code, and its waits fail when they are interrupted. */
bool status_is_worker(pid_t tid);
/* The number of living threads of PID's process, without workers. The caller frees *RET. */
size_t status_threads(pid_t pid, pid_t **ret);
/* The system call in which TID waits. number < 0: none, or not readable. */
struct status_wait {
    long number;
    uint64_t args[6];
    taddr_t sp, pc;
};
void status_blocking_syscall(pid_t tid, struct status_wait *ret);
/* The system call that TID, stopped, is in, and its first argument. False: none or unreadable. */
bool status_syscall_of(pid_t tid, long *ret_number, uint64_t *ret_argument);
/* The stack pointer of TID, which waits in a system call but need not be stopped. False: it does
 * not wait, or is not readable. */
bool status_stack_of(pid_t tid, taddr_t *ret_sp);
/* The pc at which TID, which waits in the kernel but need not be stopped, will continue. False: it
 * does not wait, or is not readable. */
bool status_pc_of(pid_t tid, taddr_t *ret_pc);
/* True if thread TID created CHILD. If the kernel does not say: if TID's process did. */
bool status_created(pid_t tid, pid_t child);
/* True if TID is suspended in vfork(), or in a clone like it. */
bool status_is_in_vfork(pid_t tid);
/* The tracer of TID; 0: none. */
pid_t status_tracer_of(pid_t tid);
/* TID's rights. */
struct status_credentials {
    uid_t user;
    gid_t group;                  /* both: effective */
    uint64_t permitted, bounding; /* capabilities */
    bool no_new_privileges;       /* exec gives it no further rights (no_new_privs) */
};
void status_credentials(pid_t tid, struct status_credentials *ret);
/* True if all user and group ids of TID are spoor's real ones: the condition under which an
 * unprivileged process may trace another (ptrace(2), "Ptrace access mode checking"). Otherwise
 * *ret_user is the first user id that differs. */
bool status_ids_match(pid_t tid, uid_t *ret_user);
/* The thread's name as ps shows it; "" if the thread is gone. */
void status_name(pid_t tid, char *out, size_t size);
