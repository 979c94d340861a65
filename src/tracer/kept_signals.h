/*
 * Signals that spoor causes, without a trace of them in the program: SIGTRAP at its breakpoints
 * (traps.h), SIGSEGV and SIGBUS where the read of a value faults (read_faults.h). The kernel
 * handles such a signal that is blocked or ignored specially (force_sig_info_to_task() in
 * kernel/signal.c): it unblocks the signal and resets its handler to the default, and the old
 * values are lost. So a task of a watched space runs from one syscall-stop to the next: its mask
 * and actions change only at system calls and where a handler begins, and it stops there, too. Then
 * the known values are restored.
 */
#pragma once

#include <signal.h>

#include "tracer/tracer_state.h"

enum { DEFAULT_ACTION = 0, IGNORE_ACTION = 1 }; /* handlers */

/* Whether the tasks of SPACE are to run from one syscall-stop to the next. */
static inline bool kept_signals_watch(const struct space *s) {
    return s->traps.set || s->reads.state == READS_WATCHED;
}
int kept_signal_number(enum kept_signal which);
static inline uint64_t kept_signal_bit(enum kept_signal which) {
    return UINT64_C(1) << (kept_signal_number(which) - 1);
}

/* The remote calls are made by TID, stopped in S. False: it could not be made. */
bool kept_signals_get(const struct space *s, pid_t tid, enum kept_signal which,
                      struct kept_action *ret);
bool kept_signals_set(const struct space *s, pid_t tid, enum kept_signal which,
                      const struct kept_action *action);
/* Sends the thread a signal with the siginfo that it had: only the thread itself may do so. */
void kept_signals_send_again(const struct space *s, pid_t tid, const siginfo_t *info);
/* TASK and all that share its actions have ACTION. */
void kept_signals_note(struct tracer *t, const struct task *task, enum kept_signal which,
                       const struct kept_action *action);
/* Reads the action into all tasks of SPACE. CALLER is one of them. False: it could not be read. */
bool kept_signals_read(struct tracer *t, const struct space *space, pid_t caller,
                       enum kept_signal which);
/* Resumes TASK, whose space is watched, with signal SIG. */
void kept_signals_resume(struct tracer *t, struct task *task, int sig);
/* TASK has stopped: if that was where a handler begins, nothing is to be delivered. */
void kept_signals_on_stop(struct task *task);
/* TASK, whose space is watched, is at a syscall-stop. Returns whether it still exists. */
bool kept_signals_at_syscall(struct tracer *t, struct task *task);
/* If TASK's program ignores SIGTRAP, but a trap has made the kernel reset that: ignores it again.
 * All tasks of its space are stopped. */
void kept_signals_restore_ignore(struct task *task);
/* TASK is not watched any more: it may change its signals unseen. */
void kept_signals_forget(struct task *task);
