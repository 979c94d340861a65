/* Follows the masks and actions of tasks, and restores them (kept_signals.h). */
#include "tracer/kept_signals.h"

#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "patch/breakpoints.h"
#include "patch/permits.h"
#include "target/memory.h"
#include "target/status.h"
#include "tracer/reports.h"
#include "tracer/stopping.h"

static const unsigned long RESET_HAND = 0x80000000;

_Static_assert(sizeof(struct kept_action) <= SLAB_SCRATCH_BYTES, "");
_Static_assert(sizeof(siginfo_t) <= SLAB_SCRATCH_BYTES, "");
_Static_assert(sizeof(struct kept_action) == 3 * sizeof(long) + 8,
               "struct sigaction of the kernel's");

static const int numbers[KEPT_SIGNALS] = {SIGTRAP, SIGSEGV, SIGBUS};

int kept_signal_number(enum kept_signal which) { return numbers[which]; }

/* KEPT_SIGNALS: SIG is none of them. */
static enum kept_signal which_is(int sig) {
    unsigned i = 0;
    while (i < KEPT_SIGNALS && numbers[i] != sig)
        i++;
    return (enum kept_signal)i;
}

/* ---- remote calls ---- */

/* Makes a system call with scratch memory; false: it was not made, or failed. */
static bool call(const struct space *s, pid_t tid, enum kept_signal which,
                 const struct remote_call *c) {
    int64_t result;
    return permits(s, tid, which == KEPT_TRAP ? PERMIT_TRAPS : PERMIT_READS) &&
           thread_call(tid, &s->remote, c, &result, NULL) == 0 && result == 0;
}

bool kept_signals_get(const struct space *s, pid_t tid, enum kept_signal which,
                      struct kept_action *ret) {
    const struct slab *slab = s->slabs.at[0];
    struct remote_call c = {SYS_rt_sigaction,
                            {(uint64_t)numbers[which], 0, slab_scratch(slab), sizeof ret->mask}};
    if (!call(s, tid, which, &c))
        return false;
    memcpy(ret, slab_scratch_here(slab), sizeof *ret);
    return true;
}

bool kept_signals_set(const struct space *s, pid_t tid, enum kept_signal which,
                      const struct kept_action *action) {
    const struct slab *slab = s->slabs.at[0];
    memcpy(slab_scratch_here(slab), action, sizeof *action);
    return call(s, tid, which,
                &(struct remote_call){
                    SYS_rt_sigaction,
                    {(uint64_t)numbers[which], slab_scratch(slab), 0, sizeof action->mask}});
}

void kept_signals_send_again(const struct space *s, pid_t tid, const siginfo_t *info) {
    const struct slab *slab = s->slabs.at[0];
    pid_t pid = status_innermost_pid(tid), own = status_innermost_tid(tid);
    memcpy(slab_scratch_here(slab), info, sizeof *info);
    call(s, tid, which_is(info->si_signo),
         &(struct remote_call){
             SYS_rt_tgsigqueueinfo,
             {(uint64_t)pid, (uint64_t)own, (uint64_t)info->si_signo, slab_scratch(slab)}});
}

/* ---- what is known ---- */

static bool share_actions(const struct task *a, const struct task *b) {
    enum { KCMP_SIGHAND = 4 };
    return a->pid == b->pid ||
           (a->space == b->space && syscall(SYS_kcmp, a->tid, b->tid, KCMP_SIGHAND, 0, 0) == 0);
}

void kept_signals_note(struct tracer *t, const struct task *task, enum kept_signal which,
                       const struct kept_action *action) {
    const struct kept_action copy = *action;
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (share_actions(k, task))
            k->signals.actions[which] = copy;
}

bool kept_signals_read(struct tracer *t, const struct space *space, pid_t caller,
                       enum kept_signal which) {
    struct kept_action action;
    if (!kept_signals_get(space, caller, which, &action))
        return false;
    for (struct task *k = NULL; (k = tasks_next_in(&t->tasks, k, space));)
        k->signals.actions[which] = action;
    return true;
}

void kept_signals_forget(struct task *task) {
    task->signals.sets = 0;
    task->signals.syscall = 0;
    task->signals.watched = false;
}

/* ---- stops ---- */

/* TASK is about to make system call STOP. */
static void note_call(struct task *task, const struct thread_syscall_stop *stop) {
    struct task_signals *s = &task->signals;
    s->syscall = stop->number;
    const bool sets = stop->number == SYS_rt_sigaction && stop->args[1] &&
                      which_is((int)stop->args[0]) < KEPT_SIGNALS &&
                      memory_read(task->space->remote.memory_fd, stop->args[1], &s->new_action,
                                  sizeof s->new_action, NULL) == 0;
    s->sets = sets ? (int)stop->args[0] : 0;
}

/* If a sandbox forbids to restore the action at SIGTRAP, withdraws the breakpoints. */
static void respect_sandbox(const struct tracer *t, struct task *task) {
    struct err err = {0};
    if (!task->space->traps.set ||
        permits_check(task->space, task->tid, PERMIT_TRAPS,
                      "breakpoints could not be hidden there: they are withdrawn", &err) == 0)
        return;
    breakpoints_remove(task->space);
    tracer_warn(t, task->tid, &err);
}

/* TASK is back from its call. */
static void note_result(struct tracer *t, struct task *task) {
    struct task_signals *s = &task->signals;
    struct regs regs;
    bool set = s->sets && thread_get_regs(task->tid, &regs) == 0 && regs_syscall_result(&regs) == 0;
    if (set)
        kept_signals_note(t, task, which_is(s->sets), &s->new_action);
    s->sets = 0;
    if (s->syscall == SYS_seccomp || s->syscall == SYS_prctl)
        respect_sandbox(t, task);
    s->syscall = 0;
}

static void go_on(struct task *task, int sig) {
    struct task_signals *s = &task->signals;
    s->enters_handler = sig && status_catches(task->tid, sig);
    if (s->enters_handler)
        thread_enter_handler(task->tid, sig);
    else
        thread_continue_to_syscall(task->tid, sig);
}

/* Another task's read may fault at any moment, and the kernel then resets the action. So TASK
 * begins with its handler while all others are stopped, and what they have reset is restored. */
static void enter_handler_alone(struct tracer *t, struct task *task, int sig) {
    struct space *space = space_ref(task->space);
    const pid_t tid = task->tid;
    task_set_state(task, TASK_STOPPED);
    task_set_state(task, TASK_HELD);
    stop_space(t, space);
    task = tasks_find(&t->tasks, tid);
    if (task) {
        task_set_running(task);
        go_on(task, sig);
    }
    while (task && task->signals.enters_handler && !task_stands_still(task) && reports_await(t))
        task = tasks_find(&t->tasks, tid);
    resume_space(t, space);
    space_unref(space);
}

void kept_signals_resume(struct tracer *t, struct task *task, int sig) {
    struct task_signals *s = &task->signals;
    const enum kept_signal which = which_is(sig);
    const bool handled = which < KEPT_SIGNALS && s->actions[which].handler > IGNORE_ACTION;
    if (handled && s->actions[which].flags & RESET_HAND) {
        struct kept_action reset = s->actions[which];
        reset.handler = DEFAULT_ACTION;
        kept_signals_note(t, task, which, &reset);
    }
    s->watched = thread_get_mask(task->tid, &s->mask) == 0;
    if (handled && task->space->reads.state == READS_WATCHED && which != KEPT_TRAP)
        enter_handler_alone(t, task, sig);
    else
        go_on(task, sig);
}

void kept_signals_on_stop(struct task *task) {
    const bool entering = task->signals.enters_handler;
    siginfo_t info;
    struct regs regs;
    task->signals.enters_handler = false;
    if (entering && task->stop.kind == STOP_SIGNAL && task->stop.signal == SIGTRAP &&
        ptrace(PTRACE_GETSIGINFO, task->tid, NULL, &info) == 0 &&
        thread_get_regs(task->tid, &regs) == 0 &&
        (info.si_code == SIGTRAP || (info.si_code == TRAP_TRACE && !regs_trap_flag(&regs))))
        task_drop_stop(task);
}

void kept_signals_restore_ignore(struct task *task) {
    if (task->signals.must_ignore)
        kept_signals_set(task->space, task->tid, KEPT_TRAP, &task->signals.actions[KEPT_TRAP]);
    task->signals.must_ignore = false;
}

/* TASK is about to read or change the action at such a signal: its call runs to its end while all
 * others are stopped and what spoor has caused is undone. Returns whether TASK still exists. */
static bool call_alone(struct tracer *t, struct task *task) {
    struct space *space = space_ref(task->space);
    pid_t tid = task->tid;
    stop_space(t, space);
    for (struct task *k = NULL; (k = tasks_next_in(&t->tasks, k, space));)
        if (k->state == TASK_STOPPED && k->tid != tid)
            kept_signals_restore_ignore(k);
    task = tasks_find(&t->tasks, tid);
    bool here = task && thread_finish_syscall(tid, NULL) == 0;
    if (here)
        note_result(t, task);
    here = resume_others(t, space, tid);
    space_unref(space);
    return here;
}

bool kept_signals_at_syscall(struct tracer *t, struct task *task) {
    struct thread_syscall_stop stop;
    if (!thread_at_syscall(task->tid, &stop)) {
        note_result(t, task);
        return true;
    }
    note_call(task, &stop);
    bool alone = stop.number == SYS_rt_sigaction && which_is((int)stop.args[0]) < KEPT_SIGNALS;
    return !alone || call_alone(t, task);
}
