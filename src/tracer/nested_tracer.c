#include "tracer/nested_tracer.h"

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "target/status.h"
#include "tracer/detach.h"
#include "tracer/gs_conflict.h"
#include "tracer/identity.h"

/* Once for each DEBUGGER. STOPPED: one of the two. */
static void say_ceded(const struct tracer *t, struct task *debugger, pid_t pid, pid_t stopped) {
    struct identity by, whom;
    struct err err = {0};
    if (debugger->nested.reported || !options_of(t)->follow)
        return;
    identity_of_process(debugger->pid, &by);
    identity_of_process(pid, &whom);
    err_set(&err, EBUSY, "ceded",
            "process %d (%s): traces process %d (%s) itself, as it will others: what it traces is "
            "not traced by spoor",
            debugger->pid, by.command, pid, whom.command);
    tracer_warn(t, stopped, &err);
    debugger->nested.reported = true;
}

/* TASK asks to be traced by its parent. A parent that is not traced, as the program's own, does not
 * mean to be its tracer: then the call does nothing but succeed once, which is what programs look
 * at that want to know whether they are debugged. */
static bool cede_itself(struct tracer *t, struct task *task, const struct thread_call_stop *call) {
    struct task *parent = tasks_find(&t->tasks, status_parent_of(task->pid));
    if (!parent) {
        task->nested.traceme = task->nested.traceme ? TRACEME_GRANTED : TRACEME_PENDING;
        task->nested.call = *call;
        return false;
    }
    say_ceded(t, parent, task->pid, task->tid);
    leave_task(t, task);
    return true;
}

/* TASK is about to become the tracer of TID, whose process is left, and with it those that share
 * its memory, as nobody but its tracer could stop it where that is changed. Only where TASK is
 * among these does the memory stay as it is. */
static void cede_other(struct tracer *t, struct task *task, pid_t tid) {
    const struct task *other = tasks_find(&t->tasks, tid);
    if (!other || other->pid == task->pid)
        return; /* not ours, or what the kernel refuses */
    pid_t pid = other->pid;
    say_ceded(t, task, pid, task->tid);
    if (other->space && other->space != task->space)
        leave_space(t, other->space);
    else
        leave_process(t, pid);
}

/* TASK has come back from the call that it asked by. */
static void grant(struct task *task) {
    struct regs regs;
    task->nested.traceme = TRACEME_GRANTED;
    if (thread_get_regs(task->tid, &regs) < 0)
        return;
    regs_set_syscall_result(&regs, 0, task->nested.call.args);
    thread_set_regs(task->tid, &regs);
}

/* TASK is about to take the register that lanes hang off: before, all processes that have its
 * memory are left, since it runs their code. Returns whether it is gone. */
static bool let_go(struct tracer *t, struct task *task) {
    struct err err = {0};
    pid_t tid = task->tid;
    gs_conflict_describe(task->pid, &err);
    tracer_warn(t, tid, &err);
    if (!status_seccomp_filters(tid) && thread_put_off_call(tid) == 0)
        task_drop_stop(task);
    task_set_state(task, TASK_STOPPED);
    leave_space(t, task->space);
    return !tasks_find(&t->tasks, tid);
}

bool nested_tracer_at_syscall(struct tracer *t, struct task *task) {
    struct thread_call_stop stop;
    bool enters = thread_at_call(task->tid, &stop);
    if (!enters && task->nested.traceme == TRACEME_PENDING)
        grant(task);
    if (enters && task->space && regs_call_sets_lane(stop.number, stop.args[0]))
        return !let_go(t, task);
    if (!enters || stop.number != SYS_ptrace)
        return true;
    long request = (long)stop.args[0];
    if (request == PTRACE_TRACEME)
        return !cede_itself(t, task, &stop);
    if (request == PTRACE_ATTACH || request == PTRACE_SEIZE)
        cede_other(t, task, (pid_t)stop.args[1]);
    return true;
}
