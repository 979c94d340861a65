/* Moves tasks out of patches before signals, and restarts system calls that spoor has
 * interrupted. */
#include "tracer/deliver.h"

#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "patch/patcher.h"
#include "patch/settle.h"
#include "target/status.h"
#include "tracer/stopping.h"
#include "tracer/syscall_resume.h"

bool deliver_is_fault(pid_t tid, int sig) {
    siginfo_t info;
    if (sig != SIGSEGV && sig != SIGBUS && sig != SIGFPE && sig != SIGILL && sig != SIGTRAP)
        return false;
    return ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) == 0 && info.si_code > 0;
}

/* A relocated instruction in the middle of a window has faulted. The handler (or the core dump)
 * must see the original pc, and may resume there: restores the site first. */
static void withdraw_site(struct tracer *t, pid_t tid, struct space *space,
                          const struct settle_place *place) {
    struct regs regs;
    space_ref(space);
    stop_space(t, space);
    if (tasks_find(&t->tasks, tid)) /* it may have been detached meanwhile, with all of its space */
        patcher_withdraw(place->patched, space->remote.memory_fd, place->original, NULL);
    if (thread_get_regs(tid, &regs) == 0 && settle_put_back(space, place, &regs))
        thread_set_regs(tid, &regs);
    resume_others(t, space, tid);
    space_unref(space);
}

/* Lets the task run out of its trampoline. If that ends in a fault, the fault is repeated in the
 * program's own code, after the handler. */
static void step_out(struct tracer *t, const struct task *task) {
    struct space *space = task->space;
    pid_t tid = task->tid;
    enum settled settled;
    struct settle_place place = {0};
    if (settle_step_out(space, tid, task->lane, &settled) < 0 || settled == SETTLED_OUTSIDE)
        return;
    if (settle_registers(space, tid, task->lane, &settled, &place) == 0 && place.original)
        withdraw_site(t, tid, space, &place);
}

/* Whether SIG is the end of a single step that the program itself has asked for. */
static bool is_own_step(pid_t tid, int sig) {
    siginfo_t info;
    return sig == SIGTRAP && ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) == 0 &&
           info.si_code == TRAP_TRACE;
}

/* The program steps itself and has come to a patch. Untraced, it would not have executed an
 * instruction yet: restores the site, and the step begins again. Returns whether it does. */
static bool step_again(struct tracer *t, pid_t tid, struct space *space) {
    struct regs regs;
    enum settled settled;
    struct settle_place place = {0};
    if (thread_get_regs(tid, &regs) < 0)
        return false;
    struct patched *p = space_owner_at(space, regs_pc(&regs));
    struct task *task = tasks_find(&t->tasks, tid);
    if (!p || settle_registers(space, tid, task->lane, &settled, &place) < 0 ||
        settled != SETTLED_OUTSIDE || thread_get_regs(tid, &regs) < 0)
        return false;
    place = (struct settle_place){.patched = p, .original = regs_pc(&regs)};
    withdraw_site(t, tid, space, &place);
    return true;
}

/*
 * The copying of a slice has faulted in a page of the thread's own stack that the program has made
 * unreadable: for slices the stack ends there from now on. The thread is rolled back to its stub or
 * site, and begins the slice again. Returns whether it does.
 */
static bool end_readable_stack(struct task *task) {
    enum { LEAST_PAGE = 4096 };
    struct span *stack = &task->readable;
    struct regs regs;
    enum settled settled;
    struct settle_place place = {0};
    siginfo_t info;
    if (!task->lane || ptrace(PTRACE_GETSIGINFO, task->tid, NULL, &info) ||
        thread_get_regs(task->tid, &regs) < 0)
        return false;
    taddr_t at = (taddr_t)(uintptr_t)info.si_addr;
    const struct patched *p = space_area_at(task->space, regs_pc(&regs));
    if (!p || regs_agent_place(&regs, p->area) != AGENT_RELEASED || at < regs_sp(&regs) ||
        at < stack->start || at >= stack->end)
        return false;
    stack->end = at / LEAST_PAGE * LEAST_PAGE;
    lane_handle_set_slices(task->lane, task->lane->lane->slice_bytes, *stack);
    return settle_registers(task->space, task->tid, task->lane, &settled, &place) == 0 &&
           (settled == SETTLED_OUTSIDE || place.mark);
}

bool deliver_prepare(struct tracer *t, struct task *task, int sig) {
    enum settled settled;
    struct settle_place place = {0};
    if (!task->space)
        return true;
    if (is_own_step(task->tid, sig) && step_again(t, task->tid, task->space))
        return false;
    bool fault = deliver_is_fault(task->tid, sig);
    if (fault && sig == SIGSEGV && settle_clockless(task->space, task->tid, task->lane))
        return false;
    if (fault && (sig == SIGSEGV || sig == SIGBUS) && end_readable_stack(task))
        return false;
    if (settle_registers(task->space, task->tid, task->lane, &settled, &place) < 0 ||
        settled == SETTLED_OUTSIDE)
        return true;
    if (fault && place.original) {
        withdraw_site(t, task->tid, task->space, &place);
        /* SIGILL and SIGFPE report the instruction's address: it runs again at its own. */
        return sig != SIGILL && sig != SIGFPE;
    }
    step_out(t, task);
    return true;
}

/* Whether the program, untraced, would not have noticed the stop: it is spoor's, or for an ignored
 * signal (untraced, such a signal does not even wake a thread). */
static bool is_unnoticed(const struct task *task) {
    return task->stop.kind == STOP_INTERRUPT ||
           (task->stop.kind == STOP_SIGNAL && status_ignores(task->tid, task->stop.signal));
}

/* Whether TASK may not have run since its last stop: it may have made a remote call then, and be
 * stopped again before its next instruction. Then the kernel's record of calls is of the remote
 * call (AArch64). */
static bool is_as_before(const struct task *task, const struct regs *regs) {
    return task->past.was_whole && memcmp(&task->past.whole, regs, sizeof *regs) == 0;
}

/* TASK is at a syscall-exit-stop. If PTRACE_INTERRUPT has cut the call short, this stop replaces
 * the one that was asked for (Linux kernel/signal.c, ptrace_stop()). */
static void restart_ended_call(struct task *task) {
    struct regs regs;
    if (task->cut.remainder == REMAINDER_NONE && thread_is_at_syscall_end(task->tid) &&
        thread_get_regs(task->tid, &regs) == 0 &&
        thread_restart_interrupted(task->tid, &task->past, &regs)) {
        task->pause.in_call = true;
        if (!status_signal_pending(task->tid))
            thread_set_regs(task->tid, &regs);
    }
}

void deliver_restart_syscall(struct task *task) {
    struct regs regs;
    if (task->stop.kind == STOP_SYSCALL) {
        restart_ended_call(task);
        return;
    }
    if (thread_get_regs(task->tid, &regs) < 0)
        return;
    bool unnoticed = is_unnoticed(task), looked = unnoticed && !is_as_before(task, &regs);
    bool again = looked && thread_restart_interrupted(task->tid, &task->past, &regs);
    if (looked && !again)
        syscall_resume_note(task, &regs);
    task->pause.in_call = task->cut.is_cut || thread_repeats_call(task->tid, &regs);
    task->past.was_whole = unnoticed && !again && !task->cut.is_cut;
    task->past.whole = regs;
    bool resumes = unnoticed && (again || task->cut.is_cut) && !status_signal_pending(task->tid);
    task->cut.is_cut &= resumes;
    task->past.wait.number = -1; /* valid until the next stop only */
    if (!REGS_SHOW_PAST_CALLS && task->stop.kind == STOP_SIGNAL && !unnoticed)
        thread_note_signal(&regs, &task->past);
    if (again && resumes)
        thread_set_regs(task->tid, &regs);
}
