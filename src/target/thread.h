/*
 * ptrace requests and remote calls for one thread. All calls belong to the thread that seized it.
 *
 * A thread may be killed at any moment, also while it is stopped. So every call can fail with
 * -ESRCH: "its end is about to be reported".
 */
#pragma once

#include <sys/types.h>

#include "arch/regs.h"
#include "base/err.h"
#include "base/types.h"
#include "target/status.h"
#include "target/stop.h"

/* PTRACE_SEIZE with events for clone, fork, vfork and exec. Errors: "seize". */
int thread_seize(pid_t tid, struct err *err);
int thread_interrupt(pid_t tid);
int thread_continue(pid_t tid, int signal);
/* The same, but at most to the next entry to or exit from a system call. */
int thread_continue_to_syscall(pid_t tid, int signal);
int thread_listen(pid_t tid); /* stay in a group-stop */
int thread_detach(pid_t tid, int signal);
/* Waits for TID's next stop. −ESRCH: it has ended; wait() still reports that. */
int thread_wait(pid_t tid, struct stop *ret_stop);
/* TID is at an exec, fork or clone event, inside that system call. Runs it to the end of the call,
 * where registers can be set. */
int thread_finish_syscall(pid_t tid, struct err *err);
/* TID has stopped at the entry to a system call. Stops it before the call's instruction, so that it
 * makes the call next. Not for threads with seccomp filters, which would see a call that is not
 * made. */
int thread_postpone_syscall(pid_t tid);
/* Sets whether TID stops once more when it exits. Its children inherit this. */
int thread_watch_exit(pid_t tid, bool watch);
/* True if the system call that TID, stopped, is in or returns from has its number from
 * REGS_AUDIT_ARCH. Programs of x86-64 can make calls of 32-bit x86, too. */
bool thread_syscall_is_native(pid_t tid);
/* True if TID has stopped at the entry to a system call. Number −1: not from REGS_AUDIT_ARCH. */
struct thread_syscall_stop {
    long number;
    uint64_t args[6];
};
bool thread_at_syscall(pid_t tid, struct thread_syscall_stop *ret);
/* True if TID has stopped at the end of a system call, before it is in its program again. */
bool thread_is_at_syscall_end(pid_t tid);
int thread_get_regs(pid_t tid, struct regs *ret);
int thread_set_regs(pid_t tid, const struct regs *regs);
/* The lane register, on machines that have one (patch/lane_lookup.h). 0: no lane. */
int thread_set_lane(pid_t tid, taddr_t lane);
taddr_t thread_get_lane(pid_t tid);
/* The thread pointer: the address of the thread's control block, set by its C library. */
int thread_get_pointer(pid_t tid, uint64_t *ret);
/* On 32-bit Arm the thread sets it itself, by a remote call at SITE (thread_call()); NULL: it must
 * not. −EAGAIN: not now, as the thread is in a call that this disturbs. −ENOTSUP: never. */
struct remote_site;
int thread_set_pointer(pid_t tid, uint64_t pointer, const struct remote_site *site);
/* TID is at the entry to a call, and its registers were changed so that it will make the call
 * again. Skips the call now. */
int thread_cancel_syscall(pid_t tid);
/* TID has stopped behind the skipped call. BEFORE: its registers at the call's entry. */
int thread_end_cancelled_syscall(pid_t tid, const struct regs *before);
/* What spoor notes of a thread before it stops, on machines where the registers at a stop do not
 * tell which call it returns from. */
struct thread_past {
    struct status_wait wait; /* its call when it was interrupted; number < 0: not known */
    struct {
        taddr_t pc, sp;
    } handled[8]; /* where signal handlers interrupted it most recently */
    size_t handled_count;
    struct regs whole; /* its registers at its last stop, if was_whole */
    bool was_whole;    /* no call was to be made again at that stop */
};
/* Call before interrupting TID. */
void thread_note_wait(pid_t tid, struct thread_past *past);
/* Call before a thread with REGS gets a signal that may have a handler. */
void thread_note_signal(const struct regs *regs, struct thread_past *past);
/* True if a handler's return may have restored REGS: the handler interrupted a call, an instruction
 * of CALL_BYTES, at its first byte or behind it. */
bool thread_was_handled(const struct thread_past *past, const struct regs *regs,
                        unsigned call_bytes);
/* REGS are those of the stopped TID, and look like a return from a call (regs_past_call()). True if
 * TID has returned from one; *RET_ARGUMENT is its first argument. */
bool thread_returned_from_syscall(pid_t tid, const struct thread_past *past,
                                  const struct regs *regs, uint64_t *ret_argument);
/* REGS are those of TID, stopped by spoor or before a signal that does nothing. If the stop has
 * ended a call early that the kernel does not restart, changes REGS so that TID makes it again, and
 * is true. */
bool thread_restart_interrupted(pid_t tid, const struct thread_past *past, struct regs *regs);
/* REGS are those of TID, stopped by spoor, after thread_restart_interrupted(). Whether TID waited
 * in a system call, which it will make again. */
bool thread_repeats_call(pid_t tid, const struct regs *regs);
/* Writes the first SIZE bytes (at most regs_signal_frame_size()) of a signal frame for address AT.
 * Returning from it gives TID, stopped, its present state, with REGS. */
int thread_signal_frame(pid_t tid, const struct regs *regs, taddr_t at, uint8_t *out, size_t size);
/* Saves the vector state that the kernel drops when the thread makes a call. The caller frees it.
 * NULL: nothing is dropped. */
void *thread_save_vectors(pid_t tid);
void thread_restore_vectors(pid_t tid, const void *vectors); /* may be NULL */
/* Writes COUNT words to TID's floating-point registers, as struct regs_access says. −ENOTSUP: not
 * needed. */
int thread_fill_vectors(pid_t tid, unsigned first, const regs_word_t *words, unsigned count);
/* SIZE bytes of TID's vector register NUMBER (capture.h, FROM_VECTOR), from byte PART on. They are
 * within its lower 16 bytes (Arm: 8). */
int thread_read_vector(pid_t tid, unsigned number, unsigned part, void *ret, size_t size);
/* SIZE bytes, at most 10, of TID's st(NUMBER). −ENOTSUP: the machine has none. */
int thread_read_x87(pid_t tid, unsigned number, void *ret, size_t size);
/* The signals that TID blocks; bit n: signal n + 1. In sigsuspend: those it will block again. */
int thread_get_mask(pid_t tid, uint64_t *ret);
int thread_set_mask(pid_t tid, uint64_t mask);
/* True if the processor compares TID's returns with a shadow stack. */
bool thread_guards_returns(pid_t tid);
/* True if SIGNAL, sent to TID alone, is pending. */
bool thread_has_pending(pid_t tid, int signal);
/* True if SIGNAL, sent to TID or its process, is pending. */
bool thread_has_any_pending(pid_t tid, int signal);
/* True if SIGNAL is pending for TID's process because an interval timer (setitimer) has expired. */
bool thread_has_timer_signal(pid_t tid, int signal);
/* True if SIGCONT is pending for TID or its process. A stopping signal removes earlier SIGCONTs, so
 * this one came later, and the program is not to stop any more. The kernel sees to that itself,
 * unless the thread must do something before it gets the stopping signal. */
bool thread_is_continued(pid_t tid);
/* TID is in the signal-delivery-stop of SIGNAL. Delivers it, and stops TID at its handler's first
 * instruction: by SIGTRAP, or as by thread_interrupt() on processors that do not step
 * (REGS_CAN_STEP).
 */
int thread_enter_handler(pid_t tid, int signal);
unsigned long thread_event_message(pid_t tid);

/* Stops and signals that come while spoor runs a thread, to be redelivered afterwards. */
struct meanwhile {
    bool group_stop;  /* the thread belongs into a group-stop */
    bool sigstop;     /* SIGSTOP came, which cannot be blocked */
    bool stop_signal; /* likewise the signal by which thread_calls() stops the thread */
};
/* Runs TID to its next entry to or exit from a system call, or to an earlier fault (*ret_fault).
 * Other signals that come are blocked from then on, and stay pending. If the tracer dies, nothing
 * of this remains in the kernel (a single step would). */
int thread_run_to_syscall(pid_t tid, struct meanwhile *m, bool *ret_fault);
/* TID is at a system call, with all signals but SIGNAL blocked. Sends SIGNAL, makes the call, and
 * stops TID in the signal-delivery-stop of SIGNAL. */
int thread_run_to_signal(pid_t tid, int signal, struct meanwhile *m);
/* Replaces TID's stop by one as by thread_interrupt(), at the same place. */
int thread_halt(pid_t tid, struct meanwhile *m);
/* Sends the SIGSTOP again. The group-stop is reported again after thread_continue(). */
void thread_redeliver(pid_t tid, const struct meanwhile *m);

/* Where threads of an address space make remote calls. */
struct remote_site {
    int memory_fd;
    taddr_t code;   /* the agent's system call instruction */
    taddr_t frame;  /* REMOTE_FRAME_BYTES of writable memory, 64-byte aligned; 0: use the stack */
    taddr_t series; /* the agent's code for several calls in a row; 0: none */
};
enum { REMOTE_FRAME_BYTES = 3 * 4096 };

struct remote_call {
    long number;
    uint64_t args[6];
};

/*
 * Makes the stopped thread perform one system call, and restores its state, at a stop from which
 * thread_continue(tid, 0) continues it. It must not be inside a system call (at a fork or exec
 * event), nor in a signal-delivery-stop, whose siginfo would be lost. A group-stop is reported
 * again after thread_continue(). If the tracer dies in the middle, the thread recovers alone: the
 * code behind the call restores all registers from the signal frame (src/agent). *ret_result: the
 * call's result, or −errno. Errors: "remote-call" (the thread died or was stopped otherwise).
 */
int thread_call(pid_t tid, const struct remote_site *site, const struct remote_call *call,
                int64_t *ret_result, struct err *err);
/*
 * The same for COUNT calls, one after the other. Makes all of them, with two changes between spoor
 * and the thread instead of four for each call. -ENOTSUP, without an error, if that cannot be done
 * now: no call was made. SITE's thread may get SIGURG once if the tool dies.
 */
struct remote_step {
    struct remote_call call;
    struct { /* memory that an argument points to: copied there, and back; BYTES NULL: none */
        unsigned argument;
        size_t size;
        void *bytes;
    } data;
    struct remote_argument { /* the result becomes an argument of a later step; step 0: of none */
        size_t step;
        unsigned argument;
    } into[2];
    int64_t result; /* or -errno */
};
int thread_calls(pid_t tid, const struct remote_site *site, struct remote_step *steps, size_t count,
                 struct err *err);
/* True if TID is at a stop where the kernel allows that, and is not behind another remote call. */
bool thread_may_call(pid_t tid);
/* Detaches the thread so that it makes that call next. If the call returns, the thread's registers
 * are restored. Conditions and errors as above. */
int thread_detach_by_call(pid_t tid, const struct remote_site *site, const struct remote_call *call,
                          struct err *err);
