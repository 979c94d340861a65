/*
 * Handles SIGTRAP of spoor's breakpoints without a trace in the program (kept_signals.h). A SIGTRAP
 * that was pending, blocked, replaces the trap's; it is sent again.
 *
 * Ignoring a signal discards pending ones (do_sigaction()), even one by which another thread is
 * about to report a breakpoint; that thread would go on behind the breakpoint. So SIGTRAP is
 * ignored, by spoor or the program, only while all tasks of the space are stopped and have
 * reported.
 *
 * A thread may be stopped for another reason between the breakpoint and its report. Then its pc is
 * behind the breakpoint, where no instruction begins: it goes on until it has reported.
 */
#include "tracer/traps.h"

#include <signal.h>
#include <sys/ptrace.h>

#include "patch/breakpoints.h"
#include "select/trap_limit.h"
#include "tracer/kept_signals.h"
#include "tracer/stopping.h"

void traps_read_action(struct tracer *t, struct space *space, pid_t caller) {
    if (!space->traps.armed && space->traps.set)
        space->traps.armed = kept_signals_read(t, space, caller, KEPT_TRAP);
}

static const struct kept_action *action_of(const struct task *task) {
    return &task->signals.actions[KEPT_TRAP];
}

static bool is_blocked(const struct task *task) {
    return task->signals.mask & kept_signal_bit(KEPT_TRAP);
}

bool traps_is_ignored(const struct task *task, int sig) {
    siginfo_t info;
    return sig == SIGTRAP && task->space && task->space->traps.any &&
           action_of(task)->handler == IGNORE_ACTION &&
           ptrace(PTRACE_GETSIGINFO, task->tid, NULL, &info) == 0 && info.si_code <= 0;
}

/* Restores the mask and action of TASK: a trap has raised SIGTRAP even if it was blocked. */
static void restore(struct task *task) {
    uint64_t mask;
    if (is_blocked(task) && thread_get_mask(task->tid, &mask) == 0)
        thread_set_mask(task->tid, mask | kept_signal_bit(KEPT_TRAP));
    task->signals.must_ignore |= action_of(task)->handler == IGNORE_ACTION;
    if (is_blocked(task) && action_of(task)->handler > IGNORE_ACTION)
        kept_signals_set(task->space, task->tid, KEPT_TRAP, action_of(task));
}

/* ---- threads at traps ---- */

/* Whether a SIGTRAP reported right behind a trap is the trap's. It is, even if another SIGTRAP that
 * was pending has replaced it: one that was blocked, or one that came inside the window, where no
 * instruction ends. */
static bool is_hit(const struct task *task, const struct trap *trap, const siginfo_t *info) {
    return info->si_code == REGS_TRAP_CODE || is_blocked(task) || trap->window > 1;
}

static void send_on(struct task *task, const struct patched *p, const struct trap *trap,
                    struct regs *regs) {
    task->traps.hit = trap->at + p->bias;
    task->traps.hit_in_step = regs_trap_flag(regs);
    regs_set_pc(regs, task->traps.hit_in_step ? task->traps.hit : p->area + trap->trampoline);
    thread_set_regs(task->tid, regs);
    task_drop_stop(task);
}

/* TASK reports SIGTRAP. If a trap of spoor's has raised it: moves TASK to the trampoline. */
static void handle_report(struct task *task, struct regs *regs) {
    struct patched *p;
    siginfo_t info;
    const struct trap *trap = breakpoints_at(task->space, regs_pc(regs) - REGS_TRAP_BYTES, &p);
    if (ptrace(PTRACE_GETSIGINFO, task->tid, NULL, &info) < 0)
        return;
    if (trap && is_hit(task, trap, &info)) {
        send_on(task, p, trap, regs);
        restore(task);
        if (info.si_code != REGS_TRAP_CODE)
            kept_signals_send_again(task->space, task->tid, &info);
        if (task->signals.must_stop_again)
            thread_interrupt(task->tid);
        task->signals.must_stop_again = false;
    }
}

/* Whether TASK, interrupted or in a group-stop, has hit a trap that it has not reported. */
static bool is_about_to_report(const struct task *task, const struct regs *regs) {
    struct patched *p;
    uint64_t mask;
    return breakpoints_at(task->space, regs_pc(regs) - REGS_TRAP_BYTES, &p) &&
           thread_has_pending(task->tid, SIGTRAP) && thread_get_mask(task->tid, &mask) == 0 &&
           !(mask & kept_signal_bit(KEPT_TRAP));
}

bool traps_on_stop(struct task *task) {
    struct regs regs;
    bool report = task->stop.kind == STOP_SIGNAL && task->stop.signal == SIGTRAP;
    if ((!report && !task_may_call(task)) || thread_get_regs(task->tid, &regs) < 0)
        return true;
    if (report) {
        handle_report(task, &regs);
    } else if (is_about_to_report(task, &regs)) {
        task->signals.must_stop_again = task->stop.kind == STOP_GROUP;
        thread_continue(task->tid, 0);
        return false;
    }
    return true;
}

/* ---- removal ---- */

/* Stops all tasks to remove a trap: puns that depend on it are longer than one byte. */
void traps_count(struct tracer *t, struct task *task) {
    struct patched *p;
    taddr_t at = task->traps.hit;
    pid_t tid = task->tid;
    bool stepped = task->traps.hit_in_step;
    const struct trap *trap = breakpoints_at(task->space, at, &p);
    task->traps.hit = 0;
    bool often =
        trap && !stepped && trap_limit_count(options_of(t), p->traced_module, trap->function);
    if (!often && !stepped && !task->signals.must_ignore)
        return;
    struct space *space = space_ref(task->space);
    stop_space(t, space);
    if (often || stepped)
        breakpoints_withdraw(space, at, often);
    task = tasks_find(&t->tasks, tid);
    if (task)
        kept_signals_restore_ignore(task);
    resume_others(t, space, tid);
    space_unref(space);
}
