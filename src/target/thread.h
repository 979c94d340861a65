/*
 * One thread under ptrace. All calls belong to the thread that seized it.
 *
 * A thread may be killed at any moment, also while it is stopped: every call
 * can fail with -ESRCH, which means "its end is about to be reported".
 */
#pragma once

#include <sys/types.h>

#include "arch/regs.h"
#include "base/err.h"
#include "base/types.h"
#include "target/status.h"

/* PTRACE_SEIZE with events for clone, fork, vfork and exec. Errors: "seize". */
int thread_seize(pid_t tid, struct err *err);
int thread_interrupt(pid_t tid);
int thread_continue(pid_t tid, int signal);
/* The same, to the next entry to or exit from a system call at most. */
int thread_continue_to_syscall(pid_t tid, int signal);
int thread_listen(pid_t tid); /* stay in a group-stop */
int thread_detach(pid_t tid, int signal);
/* Waits for the next stop of TID. −ESRCH: it has ended; its end (not its exit event) stays to be
 * reported by wait(). */
int thread_wait(pid_t tid, int *ret_status);
/* TID stands at an exec, fork or clone event, inside that system call: runs it to the end of the
 * call, where registers can be set. */
int thread_finish_syscall(pid_t tid, struct err *err);
/* TID has stopped at its entry to a system call: makes that the next thing that it does, and stops
 * it before. Not for one with seccomp filters, which would see a call that it does not make. */
int thread_postpone_syscall(pid_t tid);
/* Whether TID stops once more when it exits (as its ptrace options, this is inherited by what it
 * creates). */
int thread_watch_exit(pid_t tid, bool watch);
/* Whether the system call that TID, stopped, is in or comes back from has its number from
 * REGS_CALLS; programs of x86-64 may make calls of 32-bit x86, too. */
bool thread_syscall_is_native(pid_t tid);
/* TID has stopped at a system call: is it about to enter it, and which? Number −1: none that
 * REGS_CALLS numbers. */
struct thread_syscall_stop {
    long number;
    uint64_t args[6];
};
bool thread_at_syscall(pid_t tid, struct thread_syscall_stop *ret);
/* Whether TID has stopped at the end of one, before it is in its program again. */
bool thread_is_at_syscall_end(pid_t tid);
int thread_get_regs(pid_t tid, struct regs *ret);
int thread_set_regs(pid_t tid, const struct regs *regs);
/* Where lanes hang off a register of their own (patch/lane_lookup.h). 0: none. */
int thread_set_lane(pid_t tid, taddr_t lane);
taddr_t thread_get_lane(pid_t tid);
/* The thread pointer: where the thread's own control block is, as its C library has told the
 * processor. */
int thread_get_pointer(pid_t tid, uint64_t *ret);
/* On 32-bit Arm the thread does that itself, at SITE (thread_call()); NULL: it is not to. −EAGAIN:
 * not where it stands now, as it is in a call that this would disturb; −ENOTSUP: not at all. */
struct remote_site;
int thread_set_pointer(pid_t tid, uint64_t pointer, const struct remote_site *site);
/* TID stands at its entry to a call whose registers were changed so that it will come back to it:
 * does not make it now. */
int thread_cancel_syscall(pid_t tid);
/* It has stopped behind that. BEFORE: its registers at the call's entry. */
int thread_end_cancelled_syscall(pid_t tid, const struct regs *before);
/* What has to be known of a thread beforehand, where its registers do not tell what call it comes
 * back from when it stops. */
struct thread_past {
    struct status_wait wait; /* what it waited in when it was interrupted; number < 0: not known */
    struct {
        taddr_t pc, sp;
    } handled[8]; /* where handlers have interrupted it, the last ones */
    size_t handled_count;
    struct regs whole; /* at its last stop, if no call was to be made again then */
    bool was_whole;
};
/* TID is about to be interrupted. */
void thread_note_wait(pid_t tid, struct thread_past *past);
/* A thread with REGS is about to get a signal, for which it may have a handler. */
void thread_note_signal(const struct regs *regs, struct thread_past *past);
/* Whether REGS may be what a handler's return has put back: those of a call, an instruction of
 * CALL_BYTES, that had made way for it, before which or behind which it was. */
bool thread_was_handled(const struct thread_past *past, const struct regs *regs,
                        unsigned call_bytes);
/* REGS are of TID, which has stopped, and look like those of a thread that has come back from a
 * call (regs_past_call()). Whether it has, and with which first argument. */
bool thread_returned_from_syscall(pid_t tid, const struct thread_past *past,
                                  const struct regs *regs, uint64_t *ret_argument);
/* REGS are of TID, which was stopped by us or before a signal that does nothing: if that has ended
 * a call early, which the kernel does not make again, they shall. Returns whether it was so. */
bool thread_restart_interrupted(pid_t tid, const struct thread_past *past, struct regs *regs);
/* A signal frame at AT that makes TID, stopped, what it is now, with REGS; the first SIZE bytes of
 * it, at most regs_signal_frame_size(). */
int thread_signal_frame(pid_t tid, const struct regs *regs, taddr_t at, uint8_t *out, size_t size);
/* What of a thread's state the kernel forgets when it makes a call, to be freed; NULL: nothing. */
void *thread_save_vectors(pid_t tid);
void thread_restore_vectors(pid_t tid, const void *vectors); /* which may be NULL */
/* Writes COUNT words to its floating-point registers, as struct regs_reach says. −ENOTSUP: on this
 * machine nobody has to. */
int thread_fill_vectors(pid_t tid, unsigned first, const regs_word_t *words, unsigned count);
/* Signals that it blocks, by number − 1. While it waits with others blocked (sigsuspend), those
 * that it blocks again afterwards. */
int thread_get_mask(pid_t tid, uint64_t *ret);
int thread_set_mask(pid_t tid, uint64_t mask);
/* Whether the processor compares its returns with a shadow stack. */
bool thread_guards_returns(pid_t tid);
/* Whether SIGNAL, sent to it alone, waits to be delivered. */
bool thread_has_pending(pid_t tid, int signal);
/* Whether SIGCONT waits for TID or its process. A stop signal takes away one that was there before
 * it; so one that has come since, and the program is not to stop any more. The kernel knows that by
 * itself, but not where a thread had to do something before it is given the stop signal. */
bool thread_is_continued(pid_t tid);
/* Delivers SIGNAL, which it stands before, and stops the thread at its handler's first instruction:
 * by SIGTRAP, or where processors do not step (REGS_STEPS) as by thread_interrupt(). */
int thread_enter_handler(pid_t tid, int signal);
unsigned long thread_event_message(pid_t tid);

/* What comes while a thread is made to do something, to be made good for when that is over. */
struct meanwhile {
    bool group_stop; /* it belongs into a group-stop */
    bool sigstop;    /* the one signal that cannot be blocked */
};
/* Runs it to its next entry to or exit from a system call, or to a fault (*ret_fault) before that.
 * Other signals that come are blocked from then on, and wait. Leaves nothing behind in the kernel
 * that a tracer that dies would have to take back (a single step does). */
int thread_run_to_syscall(pid_t tid, struct meanwhile *m, bool *ret_fault);
/* It stands at a system call: makes that, and stops before SIGNAL, which is sent to it for that;
 * all others are blocked. */
int thread_run_to_signal(pid_t tid, int signal, struct meanwhile *m);
/* Stops it where it stands in another way: as by thread_interrupt(). */
int thread_halt(pid_t tid, struct meanwhile *m);
/* The signal is sent again, the group-stop is reported again after thread_continue(). */
void thread_redeliver(pid_t tid, const struct meanwhile *m);

/* Where an address space lets its threads make remote calls. */
struct remote_site {
    int memory_fd;
    taddr_t code;  /* the agent's instruction that calls the kernel */
    taddr_t frame; /* REMOTE_FRAME_BYTES of writable memory, 64-byte aligned; 0: use the stack */
};
enum { REMOTE_FRAME_BYTES = 3 * 4096 };

struct remote_call {
    long number;
    uint64_t args[6];
};

/*
 * Makes the stopped thread perform one system call, and puts it back as it was, at a stop from
 * which it goes on by thread_continue(tid, 0). It must not stand inside a system call (at a fork or
 * exec event), nor before a signal: that would lose its siginfo. A group-stop is reported anew
 * after thread_continue(). A thread whose tracer dies in the middle recovers alone: the code behind
 * the call restores all registers from the signal frame (src/agent).
 * *ret_result: the call's result, −errno.
 * Errors: "remote-call" (the thread died or was stopped otherwise).
 */
int thread_call(pid_t tid, const struct remote_site *site, const struct remote_call *call,
                int64_t *ret_result, struct err *err);
/* Whether TID stands where it may, as the kernel has it: not behind another such call, either. */
bool thread_may_call(pid_t tid);
/* Detaches the thread and makes its next deed that call. If it comes back from it, its registers
 * become what they were. Conditions and errors as above. */
int thread_detach_by_call(pid_t tid, const struct remote_site *site, const struct remote_call *call,
                          struct err *err);
