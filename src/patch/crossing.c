/* Puts a stopped thread onto the bridge, and stops it again behind it as it was stopped before. */
#include "patch/crossing.h"

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>

#include "patch/permits.h"
#include "target/memory.h"

bool crossing_is_possible(const struct crossing *c) {
    return c->space->slabs.count && !c->patched->kept && permits(c->space, c->tid, PERMIT_MASK);
}

static uint64_t bit(int sig) { return UINT64_C(1) << (sig - 1); }

/* Faults stay unblocked, or the kernel would reset their dispositions. So does SIGSYS: it stops a
 * thread at the gate whose system calls go to a handler of its own. */
static uint64_t all_but_faults(void) {
    return ~(bit(SIGSEGV) | bit(SIGBUS) | bit(SIGFPE) | bit(SIGILL) | bit(SIGTRAP) | bit(SIGSYS));
}

static int write_bridge(const struct crossing *c, const struct bridge_notes *notes) {
    int fd = c->space->remote.memory_fd;
    taddr_t area = c->patched->area;
    uint8_t bytes[BRIDGE_WRITTEN];
    int rc = bridge_write(c->code, notes, area, bytes);
    if (rc == 0)
        rc = memory_write(fd, bridge_at(area), bytes, sizeof bytes, NULL);
    return rc < 0 ? rc : memory_write(fd, bridge_notes_at(area), notes, sizeof *notes, NULL);
}

/* If the tracer dies between two requests, the thread goes on with its own signal mask. It has this
 * mask until it is on the bridge; there the gate sets it from the notes. */
int crossing_begin(const struct crossing *c, struct crossing_before *ret) {
    struct regs regs;
    ret->vectors = NULL;
    int rc = thread_get_regs(c->tid, &regs);
    if (rc < 0)
        return rc;
    ret->notes = (struct bridge_notes){.from = c->from,
                                       .back = regs_code_pointer(&regs, c->from + c->size),
                                       .saved = slab_saved(c->space->slabs.at[0], c->space->pid)};
    rc = thread_get_mask(c->tid, &ret->notes.mask);
    if (rc == 0)
        rc = write_bridge(c, &ret->notes);
    if (rc < 0)
        return rc;
    ret->before_signal = ptrace(PTRACE_GETSIGINFO, c->tid, NULL, &ret->signal) == 0 &&
                         ret->signal.si_code >> 8 != PTRACE_EVENT_STOP;
    ret->trap_flag = regs_trap_flag(&regs);
    regs_set_trap_flag(&regs, false);
    regs_set_pc(&regs, bridge_at(c->patched->area));
    ret->vectors = thread_save_vectors(c->tid);
    rc = thread_set_regs(c->tid, &regs);
    return rc < 0 ? rc : thread_set_mask(c->tid, all_but_faults());
}

/*
 * A thread can be given a signal with its siginfo only in a signal-delivery-stop. So spoor sends a
 * signal that replaces SIG, for which the thread was stopped: SIG itself, if two of it are merged
 * into one and it has no effect before delivery; else a signal that programs must expect at any
 * time or, if they do not catch it, never see. (If the tracer dies before it has exchanged them,
 * the thread gets the replacement.)
 */
static int choose_replacement(pid_t tid, int sig) {
    static const int harmless[] = {SIGWINCH, SIGCHLD, SIGURG};
    bool is_job_control =
        sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU || sig == SIGCONT;
    if (sig < SIGRTMIN && !is_job_control && !thread_has_pending(tid, sig))
        return sig;
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        if (!thread_has_pending(tid, harmless[i]))
            return harmless[i];
    return harmless[0];
}

static int stop_before_signal(pid_t tid, int sig, struct meanwhile *m) {
    int other = choose_replacement(tid, sig);
    int rc = thread_set_mask(tid, ~bit(other));
    return rc < 0 ? rc : thread_run_to_signal(tid, other, m);
}

int crossing_end(const struct crossing *c, const struct crossing_before *before, bool *ret_fault) {
    pid_t tid = c->tid;
    struct meanwhile m = {0};
    struct regs regs;
    bool fault = false;
    int rc = thread_run_to_syscall(tid, &m, &fault);
    if (rc == 0 && !before->before_signal)
        rc = thread_halt(tid, &m);
    else if (rc == 0 && !fault)
        rc = stop_before_signal(tid, before->signal.si_signo, &m);
    if (rc == 0 && before->before_signal)
        ptrace(PTRACE_SETSIGINFO, tid, NULL, &before->signal);
    if (rc == 0)
        rc = thread_set_mask(tid, before->notes.mask);
    if (rc == 0)
        rc = thread_get_regs(tid, &regs);
    if (rc == 0 && before->trap_flag) {
        regs_set_trap_flag(&regs, true);
        rc = thread_set_regs(tid, &regs);
    }
    thread_restore_vectors(tid, before->vectors);
    free(before->vectors);
    thread_redeliver(tid, &m);
    *ret_fault = fault && rc == 0 && !bridge_is_gate(c->patched->area, regs_pc(&regs));
    return rc;
}
