/* See thread.h. The machines' own parts are in aarch64.c, arm.c and x86_64.c. */
#include "target/thread.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "target/memory.h"
#include "target/proc_memo.h"
#include "target/refusal.h"
#include "target/status.h"
#include "target/thread_requests.h"

static const uintptr_t OPTIONS = PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                                 PTRACE_O_TRACEVFORKDONE | PTRACE_O_TRACEEXEC |
                                 PTRACE_O_TRACESYSGOOD;

int thread_seize(pid_t tid, struct err *err) {
    int rc = request(PTRACE_SEIZE, tid, NULL, (void *)OPTIONS);
    if (rc == 0)
        return 0;
    AUTO_FREE char *what = mem_printf("process %d", tid);
    return refusal(tid, what, -rc, err);
}

int thread_watch_exit(pid_t tid, bool watch) {
    uintptr_t options = OPTIONS | (watch ? PTRACE_O_TRACEEXIT : 0);
    return request(PTRACE_SETOPTIONS, tid, NULL, (void *)options);
}

int thread_interrupt(pid_t tid) { return request(PTRACE_INTERRUPT, tid, NULL, NULL); }
int thread_continue(pid_t tid, int sig) {
    proc_memo_forget_maps();
    return request(PTRACE_CONT, tid, NULL, (void *)(uintptr_t)sig);
}
int thread_continue_to_syscall(pid_t tid, int sig) {
    proc_memo_forget_maps();
    return request(PTRACE_SYSCALL, tid, NULL, (void *)(uintptr_t)sig);
}
int thread_listen(pid_t tid) { return request(PTRACE_LISTEN, tid, NULL, NULL); }
int thread_detach(pid_t tid, int sig) {
    return request(PTRACE_DETACH, tid, NULL, (void *)(uintptr_t)sig);
}

bool thread_syscall_is_native(pid_t tid) {
    struct __ptrace_syscall_info info = {0};
    return ptrace(PTRACE_GET_SYSCALL_INFO, tid, (void *)sizeof info, &info) < 0 ||
           info.arch == REGS_AUDIT_ARCH;
}

bool thread_at_syscall(pid_t tid, struct thread_syscall_stop *ret) {
    struct __ptrace_syscall_info info = {0};
    if (ptrace(PTRACE_GET_SYSCALL_INFO, tid, (void *)sizeof info, &info) < 0 ||
        info.op != PTRACE_SYSCALL_INFO_ENTRY)
        return false;
    ret->number = info.arch == REGS_AUDIT_ARCH ? (long)info.entry.nr : -1;
    for (size_t i = 0; i < 6; i++)
        ret->args[i] = info.entry.args[i];
    return true;
}

bool thread_is_at_syscall_end(pid_t tid) {
    struct __ptrace_syscall_info info = {0};
    return ptrace(PTRACE_GET_SYSCALL_INFO, tid, (void *)sizeof info, &info) >= 0 &&
           info.op == PTRACE_SYSCALL_INFO_EXIT;
}

int thread_postpone_syscall(pid_t tid) {
    struct regs regs, before;
    struct stop stop;
    int rc = thread_get_regs(tid, &regs);
    if (rc < 0)
        return rc;
    before = regs;
    regs_postpone_syscall(&regs);
    rc = thread_set_regs(tid, &regs);
    if (rc == 0)
        rc = thread_cancel_syscall(tid);
    if (rc < 0)
        thread_set_regs(tid, &before);
    else
        rc = thread_interrupt(tid);
    if (rc == 0)
        rc = thread_continue(tid, 0);
    if (rc == 0)
        rc = thread_wait(tid, &stop);
    return rc < 0 ? rc : thread_end_cancelled_syscall(tid, &before);
}

/* OP: REGS_GET or REGS_SET. */
static int transfer_regs(int op, pid_t tid, struct regs *regs) {
    struct iovec io = {&regs->raw, sizeof regs->raw};
    bool of_set = op == PTRACE_GETREGSET || op == PTRACE_SETREGSET;
    return request(op, tid, (void *)NT_PRSTATUS, of_set ? (void *)&io : &regs->raw);
}

int thread_get_regs(pid_t tid, struct regs *ret) { return transfer_regs(REGS_GET, tid, ret); }

int thread_set_regs(pid_t tid, const struct regs *regs) {
    struct regs set = *regs;
    return transfer_regs(REGS_SET, tid, &set);
}

int thread_get_mask(pid_t tid, uint64_t *ret) {
    return request(PTRACE_GETSIGMASK, tid, (void *)sizeof *ret, ret);
}

int thread_set_mask(pid_t tid, uint64_t mask) {
    return request(PTRACE_SETSIGMASK, tid, (void *)sizeof mask, &mask);
}

/* FLAGS: PTRACE_PEEKSIGINFO_SHARED for the process's queue; 0 for the thread's. CODE: a si_code, or
 * ANY_CODE. */
enum { ANY_CODE = INT_MIN };
static bool is_in_queue(pid_t tid, int sig, uint32_t flags, int code) {
    enum { MOST = 16 };
    siginfo_t info[MOST];
    struct __ptrace_peeksiginfo_args args = {.nr = MOST, .flags = flags};
    for (long n; (n = ptrace(PTRACE_PEEKSIGINFO, tid, &args, info)) > 0; args.off += (uint64_t)n)
        for (long i = 0; i < n; i++)
            if (info[i].si_signo == sig && (code == ANY_CODE || info[i].si_code == code))
                return true;
    return false;
}

bool thread_has_pending(pid_t tid, int sig) { return is_in_queue(tid, sig, 0, ANY_CODE); }

/* Linux kernel/time/itimer.c: it_real_fn(), posix-cpu-timers.c: check_cpu_itimer(). */
bool thread_has_timer_signal(pid_t tid, int sig) {
    return is_in_queue(tid, sig, PTRACE_PEEKSIGINFO_SHARED, SI_KERNEL);
}

bool thread_has_any_pending(pid_t tid, int sig) {
    return is_in_queue(tid, sig, 0, ANY_CODE) ||
           is_in_queue(tid, sig, PTRACE_PEEKSIGINFO_SHARED, ANY_CODE);
}

bool thread_is_continued(pid_t tid) { return thread_has_any_pending(tid, SIGCONT); }

/* A stop requested before a signal's delivery takes place when the handler has been entered. */
int thread_enter_handler(pid_t tid, int sig) {
    if (REGS_CAN_STEP)
        return request(PTRACE_SINGLESTEP, tid, NULL, (void *)(uintptr_t)sig);
    int rc = thread_interrupt(tid);
    return rc < 0 ? rc : thread_continue(tid, sig);
}

unsigned long thread_event_message(pid_t tid) {
    unsigned long message = 0;
    request(PTRACE_GETEVENTMSG, tid, NULL, &message);
    return message;
}

/* The registers of a signal frame besides the general ones. BYTES: room for them. */
struct regs_extended thread_get_extended(pid_t tid, uint8_t bytes[EXTENDED_ROOM]) {
    struct iovec io = {bytes, EXTENDED_ROOM};
    if (request(PTRACE_GETREGSET, tid, (void *)REGS_EXTENDED_NOTE, &io) < 0)
        io.iov_len = 0;
    return (struct regs_extended){bytes, io.iov_len};
}

int thread_signal_frame(pid_t tid, const struct regs *regs, taddr_t at, uint8_t *out, size_t size) {
    AUTO_FREE uint8_t *bytes = mem_alloc(EXTENDED_ROOM);
    uint64_t mask;
    struct regs_extended extended = thread_get_extended(tid, bytes);
    int rc = extended.size ? thread_get_mask(tid, &mask) : -ENOTSUP;
    if (rc < 0)
        return rc;
    AUTO_FREE uint8_t *frame = mem_alloc(regs_signal_frame_size(extended.size));
    regs_signal_frame(frame, at, regs, mask, &extended);
    memcpy(out, frame, size);
    return 0;
}

/* Takes a stop that TID has reported. 0: there is none. -ESRCH: TID is gone. */
static int take_stop(pid_t tid, struct stop *ret) {
    siginfo_t info = {.si_code = 0};
    if (waitid(P_PID, (id_t)tid, &info, WSTOPPED | WNOHANG | __WALL) < 0)
        return -ESRCH;
    *ret = stop_of_status(W_STOPCODE(info.si_status));
    return info.si_pid != 0;
}

/*
 * The kernel withholds the end of a thread group's leader until the ends of all other threads have
 * been taken. So the thread's status is read, whenever any child reports.
 */
static int await_stop(pid_t tid, struct stop *ret) {
    sigset_t reports, mask;
    int taken;
    sigemptyset(&reports);
    sigaddset(&reports, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &reports, &mask);
    for (bool woken = false; !(taken = take_stop(tid, ret)); woken = true) {
        if (woken && status_has_ended(tid))
            break;
        clock_wait_child_ns(10000000);
    }
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    return taken;
}

int thread_wait(pid_t tid, struct stop *ret_stop) {
    if (await_stop(tid, ret_stop) <= 0)
        return -ESRCH;
    if (ret_stop->kind != STOP_EXIT)
        return 0;
    thread_continue(tid, 0); /* it was killed, and can only end */
    return -ESRCH;
}

/* The kernel of 32-bit Arm reports the end of a call only if it has reported its entry (Linux
 * arch/arm/kernel/entry-common.S, ret_fast_syscall: seen in 6.1). */
int thread_finish_syscall(pid_t tid, struct err *err) {
    struct meanwhile m = {0};
    struct stop stop;
    int rc;
    if (REGS_REPORTS_LONE_CALL_ENDS) {
        rc = request(PTRACE_SYSCALL, tid, NULL, NULL);
        if (rc == 0)
            rc = thread_wait(tid, &stop);
    } else {
        rc = thread_halt(tid, &m);
        thread_redeliver(tid, &m);
    }
    return rc < 0 ? thread_call_error(err, tid, rc) : 0;
}

enum stop_kind thread_event_stop(pid_t tid) {
    siginfo_t info;
    bool known = request(PTRACE_GETSIGINFO, tid, NULL, &info) == 0;
    return known && info.si_code >> 8 == PTRACE_EVENT_STOP
               ? stop_of_status(W_STOPCODE(info.si_code)).kind
               : STOP_NONE;
}

bool thread_may_call(pid_t tid) { return thread_event_stop(tid) != STOP_NONE; }

/* Notes a stop that can be redelivered. False: it is another one. */
bool thread_note_stop(struct meanwhile *m, const struct stop *stop) {
    if (stop->kind == STOP_GROUP)
        m->group_stop = true;
    else if (stop->kind == STOP_SIGNAL && stop->signal == SIGSTOP)
        m->sigstop = true;
    else
        return stop->kind == STOP_INTERRUPT;
    return true;
}

void thread_redeliver(pid_t tid, const struct meanwhile *m) {
    if (m->sigstop)
        syscall(SYS_tkill, tid, SIGSTOP);
    if (m->stop_signal)
        syscall(SYS_tkill, tid, SIGURG);
    if (m->group_stop)
        thread_interrupt(tid);
}

/* TID is in the signal-delivery-stop of SIG. True if an instruction of TID raised it. */
bool thread_is_raised(pid_t tid, int sig) {
    siginfo_t info;
    bool may_be = sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE || sig == SIGILL ||
                  sig == SIGTRAP || sig == SIGSYS;
    return may_be && request(PTRACE_GETSIGINFO, tid, NULL, &info) == 0 && info.si_code > 0;
}

int thread_also_block(pid_t tid, int sig) {
    uint64_t mask;
    int rc = thread_get_mask(tid, &mask);
    return rc < 0 ? rc : thread_set_mask(tid, mask | UINT64_C(1) << (sig - 1));
}

/* RC: result of the request before. If it is 0, waits for the thread's next report. */
int thread_then_wait(int rc, pid_t tid, struct stop *ret) {
    return rc == 0 ? thread_wait(tid, ret) : rc;
}

int thread_run_to_syscall(pid_t tid, struct meanwhile *m, bool *ret_fault) {
    for (int next_signal = 0;;) {
        struct stop stop;
        int rc = thread_then_wait(thread_continue_to_syscall(tid, next_signal), tid, &stop);
        if (rc < 0)
            return rc;
        bool noted = thread_note_stop(m, &stop);
        *ret_fault = !noted && thread_is_raised(tid, stop.signal);
        if (*ret_fault || stop.kind == STOP_SYSCALL)
            return 0;
        next_signal = noted ? 0 : stop.signal;
        rc = noted ? 0 : thread_also_block(tid, stop.signal);
        if (rc < 0)
            return rc;
    }
}

int thread_run_to_signal(pid_t tid, int sig, struct meanwhile *m) {
    struct stop stop;
    int rc = thread_then_wait(thread_continue(tid, sig), tid, &stop);
    while (rc == 0 && thread_note_stop(m, &stop))
        rc = thread_then_wait(thread_continue(tid, 0), tid, &stop);
    return rc;
}

int thread_halt(pid_t tid, struct meanwhile *m) {
    struct stop stop;
    int rc = thread_interrupt(tid);
    if (rc == 0)
        rc = thread_continue(tid, 0);
    if (rc == 0)
        rc = thread_wait(tid, &stop);
    if (rc == 0)
        thread_note_stop(m, &stop);
    return rc;
}

void thread_note_signal(const struct regs *regs, struct thread_past *past) {
    const size_t most = sizeof past->handled / sizeof *past->handled;
    past->handled[past->handled_count % most].pc = regs_pc(regs);
    past->handled[past->handled_count++ % most].sp = regs_sp(regs);
}

bool thread_was_handled(const struct thread_past *past, const struct regs *regs,
                        unsigned call_bytes) {
    const size_t most = sizeof past->handled / sizeof *past->handled;
    for (size_t i = 0; i < most && i < past->handled_count; i++)
        if (past->handled[i].sp == regs_sp(regs) &&
            (past->handled[i].pc == regs_pc(regs) ||
             past->handled[i].pc == regs_pc(regs) - call_bytes))
            return true;
    return false;
}
