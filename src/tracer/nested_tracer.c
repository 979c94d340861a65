/* Handles ptrace() calls of traced programs, and their use of the lanes' register. */
#include "tracer/nested_tracer.h"

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "target/status.h"
#include "tracer/detach.h"
#include "tracer/gs_conflict.h"
#include "tracer/identity.h"

/* Warns once for each DEBUGGER that it traces PID itself. STOPPED: a stopped thread of either. */
static void warn_once(const struct tracer *t, struct task *debugger, pid_t pid, pid_t stopped) {
    struct identity by, tracee;
    struct err err = {0};
    if (debugger->nested.reported || !options_of(t)->follow)
        return;
    identity_of_process(debugger->pid, &by);
    identity_of_process(pid, &tracee);
    err_set(&err, EBUSY, "ceded",
            "process %d (%s): traces process %d (%s) itself: spoor does not trace the processes "
            "that it traces",
            debugger->pid, by.command, pid, tracee.command);
    tracer_warn(t, stopped, &err);
    debugger->nested.reported = true;
}

/* TASK calls PTRACE_TRACEME. An untraced parent does not mean to be its tracer: then the call does
 * nothing, but succeeds once. Programs call it to see whether they are debugged. Returns whether
 * TASK is gone. */
static bool on_traceme(struct tracer *t, struct task *task,
                       const struct thread_syscall_stop *call) {
    struct task *parent = tasks_find(&t->tasks, status_parent_of(task->pid));
    if (!parent) {
        task->nested.traceme = task->nested.traceme ? TRACEME_GRANTED : TRACEME_PENDING;
        task->nested.call = *call;
        return false;
    }
    warn_once(t, parent, task->pid, task->tid);
    leave_task(t, task);
    return true;
}

/* TASK is about to become the tracer of TID. Detaches TID's process, with all that share its
 * memory: spoor could not stop TID any more to change that memory. If TASK shares it, the memory
 * stays as it is. */
static void on_attach(struct tracer *t, struct task *task, pid_t tid) {
    const struct task *other = tasks_find(&t->tasks, tid);
    if (!other || other->pid == task->pid)
        return; /* not traced by spoor, or the kernel refuses it */
    pid_t pid = other->pid;
    warn_once(t, task, pid, task->tid);
    if (other->space && other->space != task->space)
        leave_space(t, other->space);
    else
        leave_process(t, pid);
}

/* TASK is back from PTRACE_TRACEME, which the kernel has refused: makes it succeed. */
static void grant(struct task *task) {
    struct regs regs;
    task->nested.traceme = TRACEME_GRANTED;
    if (thread_get_regs(task->tid, &regs) < 0)
        return;
    regs_set_syscall_result(&regs, 0, task->nested.call.args);
    thread_set_regs(task->tid, &regs);
}

/* TASK is about to set the lanes' register: detaches all processes that have its memory, since they
 * run the same code. Returns whether TASK is gone. */
static bool on_gs_conflict(struct tracer *t, struct task *task) {
    struct err err = {0};
    pid_t tid = task->tid;
    gs_conflict_describe(task->pid, &err);
    tracer_warn(t, tid, &err);
    if (!status_seccomp_filters(tid) && thread_postpone_syscall(tid) == 0)
        task_drop_stop(task);
    task_set_state(task, TASK_STOPPED);
    leave_space(t, task->space);
    return !tasks_find(&t->tasks, tid);
}

bool nested_tracer_at_syscall(struct tracer *t, struct task *task) {
    struct thread_syscall_stop stop;
    bool enters = thread_at_syscall(task->tid, &stop);
    if (!enters && task->nested.traceme == TRACEME_PENDING)
        grant(task);
    if (enters && task->space && regs_call_sets_lane(stop.number, stop.args[0]))
        return !on_gs_conflict(t, task);
    if (!enters || stop.number != SYS_ptrace)
        return true;
    long request = (long)stop.args[0];
    if (request == PTRACE_TRACEME)
        return !on_traceme(t, task, &stop);
    if (request == PTRACE_ATTACH || request == PTRACE_SEIZE)
        on_attach(t, task, (pid_t)stop.args[1]);
    return true;
}
