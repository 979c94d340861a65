/*
 * Handles SIGTRAP of spoor's breakpoints without a trace in the program. The kernel handles a fault
 * that is blocked or ignored specially (force_sig_info_to_task() in kernel/signal.c): it unblocks
 * the signal and resets its action to the default, and the old values are lost. So while its space
 * holds traps, a task runs from one syscall-stop to the next: its mask and action change only at
 * system calls and where a handler begins, and it stops there, too. After a trap the known values
 * are restored. A SIGTRAP that was pending, blocked, replaces the trap's; it is sent again.
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

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "patch/breakpoints.h"
#include "patch/permits.h"
#include "select/trap_limit.h"
#include "target/memory.h"
#include "target/status.h"
#include "tracer/stopping.h"

static const uint64_t TRAP_BIT = UINT64_C(1) << (SIGTRAP - 1);
static const unsigned long DEFAULT = 0, IGNORE = 1; /* handlers */
static const unsigned long RESET_HAND = 0x80000000;

_Static_assert(sizeof(struct trap_action) <= SLAB_SCRATCH_BYTES, "");
_Static_assert(sizeof(siginfo_t) <= SLAB_SCRATCH_BYTES, "");
_Static_assert(sizeof(struct trap_action) == 3 * sizeof(long) + 8,
               "struct sigaction of the kernel's");

/* ---- the program's action at SIGTRAP ---- */

/* Makes a system call with scratch memory; false: it was not made, or failed. */
static bool call(const struct space *s, pid_t tid, const struct remote_call *c) {
    int64_t result;
    return permits(s, tid, PERMIT_TRAPS) && thread_call(tid, &s->remote, c, &result, NULL) == 0 &&
           result == 0;
}

static bool get_action(const struct space *s, pid_t tid, struct trap_action *ret) {
    const struct slab *slab = s->slabs.at[0];
    struct remote_call c = {SYS_rt_sigaction, {SIGTRAP, 0, slab_scratch(slab), sizeof ret->mask}};
    if (!call(s, tid, &c))
        return false;
    memcpy(ret, slab_scratch_here(slab), sizeof *ret);
    return true;
}

static void set_action(const struct space *s, pid_t tid, const struct trap_action *action) {
    const struct slab *slab = s->slabs.at[0];
    memcpy(slab_scratch_here(slab), action, sizeof *action);
    call(s, tid,
         &(struct remote_call){SYS_rt_sigaction,
                               {SIGTRAP, slab_scratch(slab), 0, sizeof action->mask}});
}

/* Sends the thread a signal with the siginfo that it had: only the thread itself may do so. */
static void send_again(const struct space *s, pid_t tid, const siginfo_t *info) {
    const struct slab *slab = s->slabs.at[0];
    pid_t pid = status_innermost_pid(tid), own = status_innermost_tid(tid);
    memcpy(slab_scratch_here(slab), info, sizeof *info);
    call(s, tid,
         &(struct remote_call){
             SYS_rt_tgsigqueueinfo,
             {(uint64_t)pid, (uint64_t)own, (uint64_t)info->si_signo, slab_scratch(slab)}});
}

static bool share_actions(const struct task *a, const struct task *b) {
    enum { KCMP_SIGHAND = 4 };
    return a->pid == b->pid ||
           (a->space == b->space && syscall(SYS_kcmp, a->tid, b->tid, KCMP_SIGHAND, 0, 0) == 0);
}

static void note_action(struct tracer *t, const struct task *task, struct trap_action action) {
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (share_actions(k, task))
            k->traps.action = action;
}

void traps_read_action(struct tracer *t, struct space *space, pid_t caller) {
    struct trap_action action;
    if (space->traps.armed || !space->traps.set || !get_action(space, caller, &action))
        return;
    for (struct task *k = NULL; (k = tasks_next_in(&t->tasks, k, space));)
        k->traps.action = action;
    space->traps.armed = true;
}

/* TASK is about to make system call STOP. */
static void note_call(struct task *task, const struct thread_syscall_stop *stop) {
    task->traps.syscall = stop->number;
    task->traps.sets_action =
        stop->number == SYS_rt_sigaction && stop->args[0] == SIGTRAP && stop->args[1] &&
        memory_read(task->space->remote.memory_fd, stop->args[1], &task->traps.new_action,
                    sizeof task->traps.new_action, NULL) == 0;
}

/* If a sandbox forbids to restore the action at SIGTRAP, withdraws the breakpoints. */
static void respect_sandbox(const struct tracer *t, struct task *task) {
    struct err err = {0};
    if (permits_check(task->space, task->tid, PERMIT_TRAPS,
                      "breakpoints could not be hidden there: they are withdrawn", &err) == 0)
        return;
    breakpoints_remove(task->space);
    tracer_warn(t, task->tid, &err);
}

/* TASK is back from its call. */
static void note_result(struct tracer *t, struct task *task) {
    struct regs regs;
    bool set = task->traps.sets_action && thread_get_regs(task->tid, &regs) == 0 &&
               regs_syscall_result(&regs) == 0;
    task->traps.sets_action = false;
    if (set)
        note_action(t, task, task->traps.new_action);
    if (task->traps.syscall == SYS_seccomp || task->traps.syscall == SYS_prctl)
        respect_sandbox(t, task);
    task->traps.syscall = 0;
}

void traps_resume(struct tracer *t, struct task *task, int sig) {
    uint64_t mask;
    if (sig == SIGTRAP && task->traps.action.handler > IGNORE &&
        task->traps.action.flags & RESET_HAND)
        note_action(t, task, (struct trap_action){.handler = DEFAULT});
    if (thread_get_mask(task->tid, &mask) == 0)
        task->traps.blocked = mask & TRAP_BIT;
    task->traps.enters_handler = sig && status_catches(task->tid, sig);
    if (task->traps.enters_handler)
        thread_enter_handler(task->tid, sig);
    else
        thread_continue_to_syscall(task->tid, sig);
}

void traps_restore_ignore(struct task *task) {
    if (task->traps.must_ignore)
        set_action(task->space, task->tid, &task->traps.action);
    task->traps.must_ignore = false;
}

/* TASK is about to read or change the action at SIGTRAP: its call runs to its end while all others
 * are stopped and the effects of traps are undone. Returns whether TASK still exists. */
static bool call_alone(struct tracer *t, struct task *task) {
    struct space *space = space_ref(task->space);
    pid_t tid = task->tid;
    stop_space(t, space);
    for (struct task *k = NULL; (k = tasks_next_in(&t->tasks, k, space));)
        if (k->state == TASK_STOPPED && k->tid != tid)
            traps_restore_ignore(k);
    task = tasks_find(&t->tasks, tid);
    bool here = task && thread_finish_syscall(tid, NULL) == 0;
    if (here)
        note_result(t, task);
    here = resume_others(t, space, tid);
    space_unref(space);
    return here;
}

bool traps_at_syscall(struct tracer *t, struct task *task) {
    struct thread_syscall_stop stop;
    if (!thread_at_syscall(task->tid, &stop)) {
        note_result(t, task);
        return true;
    }
    note_call(task, &stop);
    bool alone = stop.number == SYS_rt_sigaction && stop.args[0] == SIGTRAP;
    return !alone || call_alone(t, task);
}

bool traps_is_ignored(const struct task *task, int sig) {
    siginfo_t info;
    return sig == SIGTRAP && task->space && task->space->traps.any &&
           task->traps.action.handler == IGNORE &&
           ptrace(PTRACE_GETSIGINFO, task->tid, NULL, &info) == 0 && info.si_code <= 0;
}

/* Restores the mask and action of TASK: a trap has raised SIGTRAP even if it was blocked. */
static void restore(struct task *task) {
    uint64_t mask;
    if (task->traps.blocked && thread_get_mask(task->tid, &mask) == 0)
        thread_set_mask(task->tid, mask | TRAP_BIT);
    task->traps.must_ignore |= task->traps.action.handler == IGNORE;
    if (task->traps.blocked && task->traps.action.handler > IGNORE)
        set_action(task->space, task->tid, &task->traps.action);
}

/* ---- threads at traps ---- */

/* Whether a SIGTRAP reported right behind a trap is the trap's. It is, even if another SIGTRAP that
 * was pending has replaced it: one that was blocked, or one that came inside the window, where no
 * instruction ends. */
static bool is_hit(const struct task *task, const struct trap *trap, const siginfo_t *info) {
    return info->si_code == REGS_TRAP_CODE || task->traps.blocked || trap->window > 1;
}

static void send_on(struct task *task, const struct patched *p, const struct trap *trap,
                    struct regs *regs) {
    task->traps.hit = trap->at + p->bias;
    task->traps.hit_in_step = regs_trap_flag(regs);
    regs_set_pc(regs, task->traps.hit_in_step ? task->traps.hit : p->area + trap->trampoline);
    thread_set_regs(task->tid, regs);
    task_drop_stop(task);
}

/* TASK reports SIGTRAP: sends it on if that is of a trap. */
static void handle_report(struct task *task, struct regs *regs, bool entering) {
    struct patched *p;
    siginfo_t info;
    const struct trap *trap = breakpoints_at(task->space, regs_pc(regs) - REGS_TRAP_BYTES, &p);
    if (ptrace(PTRACE_GETSIGINFO, task->tid, NULL, &info) < 0)
        return;
    /* If the pc is at a trap and not behind it, a handler's first instruction may be a trap that is
     * still to be run. */
    const bool entered = entering && (info.si_code == SIGTRAP ||
                                      (info.si_code == TRAP_TRACE && !regs_trap_flag(regs)));
    const bool is_ahead = entered && REGS_TRAP_BYTES == 0;
    if (trap && !is_ahead && is_hit(task, trap, &info)) {
        send_on(task, p, trap, regs);
        restore(task);
        if (info.si_code != REGS_TRAP_CODE)
            send_again(task->space, task->tid, &info);
        if (task->traps.must_stop_again)
            thread_interrupt(task->tid);
        task->traps.must_stop_again = false;
    } else if (entered) {
        task_drop_stop(task);
    }
}

/* Whether TASK, interrupted or in a group-stop, has hit a trap that it has not reported. */
static bool is_about_to_report(const struct task *task, const struct regs *regs) {
    struct patched *p;
    uint64_t mask;
    return breakpoints_at(task->space, regs_pc(regs) - REGS_TRAP_BYTES, &p) &&
           thread_has_pending(task->tid, SIGTRAP) && thread_get_mask(task->tid, &mask) == 0 &&
           !(mask & TRAP_BIT);
}

bool traps_on_stop(struct task *task) {
    bool entering = task->traps.enters_handler;
    struct regs regs;
    task->traps.enters_handler = false;
    bool report = task->stop.kind == STOP_SIGNAL && task->stop.signal == SIGTRAP;
    if ((!report && !task_may_call(task)) || thread_get_regs(task->tid, &regs) < 0)
        return true;
    if (report) {
        handle_report(task, &regs, entering);
    } else if (is_about_to_report(task, &regs)) {
        task->traps.must_stop_again = task->stop.kind == STOP_GROUP;
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
    if (!often && !stepped && !task->traps.must_ignore)
        return;
    struct space *space = space_ref(task->space);
    stop_space(t, space);
    if (often || stepped)
        breakpoints_withdraw(space, at, often);
    task = tasks_find(&t->tasks, tid);
    if (task)
        traps_restore_ignore(task);
    resume_others(t, space, tid);
    space_unref(space);
}
