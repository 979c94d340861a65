#include "tracer/loop.h"

#include <errno.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "patch/aside.h"
#include "target/status.h"
#include "tracer/core_dump.h"
#include "tracer/deliver.h"
#include "tracer/detach.h"
#include "tracer/late_join.h"
#include "tracer/lifecycle.h"
#include "tracer/nested_tracer.h"
#include "tracer/orphans.h"
#include "tracer/reports.h"
#include "tracer/syscall_resume.h"
#include "tracer/traps.h"

void loop_resume(struct tracer *t, pid_t tid, int sig) {
    struct task *task = tasks_find(&t->tasks, tid);
    if (task)
        syscall_resume_remainder(task);
    if (task && task->space && sig)
        aside_note(task->space->aside, tid);
    if (task && task->space && task->space->traps.standing)
        traps_resume(t, task, sig);
    else if (task && task->watched)
        thread_continue_to_call(tid, sig);
    else if (task)
        thread_continue(tid, sig);
}

static void answer_event(struct tracer *t, struct task *task, int event, int sig) {
    pid_t tid = task->tid;
    switch (event) {
    case PTRACE_EVENT_EXEC:
        if (!lifecycle_exec(t, task))
            return;
        break;
    case PTRACE_EVENT_STOP:
        task->standing = is_stop_signal(sig) && thread_listen(tid) == 0;
        if (task->standing)
            return;
        break; /* after a remote call it reports its group-stop once more when continued */
    default:
        break;
    }
    loop_resume(t, tid, 0);
}

/* TASK is about to get stop signal SIG. */
static void note_stop(struct tracer *t, const struct task *task, int sig) {
    siginfo_t info;
    if (task->pid != t->adopted || ptrace(PTRACE_GETSIGINFO, task->tid, NULL, &info) < 0)
        return;
    t->stop = (struct tracer_stop){t->stop.number + 1, sig, info.si_code, 0};
    if (info.si_code <= 0) /* sent by a process */
        t->stop.sender = info.si_pid;
}

/* TASK stands at a system call. Returns false when it is gone. */
static bool answer_call(struct tracer *t, struct task *task) {
    if (task->space && task->space->traps.standing && !traps_at_syscall(t, task))
        return false;
    return !task->watched || nested_tracer_at_syscall(t, task);
}

static void answer(struct tracer *t, struct task *task) {
    pid_t tid = task->tid;
    task->stopped = false;
    if (!task->ready && !lifecycle_first_stop(t, task))
        return;
    if (task->late)
        late_join(t, task);
    if (task->hit) {
        traps_count(t, task);
        task = tasks_find(&t->tasks, tid);
        if (!task)
            return;
    }
    int event = task->status >> 16, sig = WSTOPSIG(task->status);
    if (event) {
        answer_event(t, task, event, sig);
        return;
    }
    if (is_call_stop(task->status)) {
        if (answer_call(t, task))
            loop_resume(t, tid, 0);
        return;
    }
    if (is_stop_signal(sig))
        note_stop(t, task, sig);
    bool wanted = !traps_is_ignored(task, sig) && deliver_prepare(t, task, sig);
    task = tasks_find(&t->tasks, tid); /* it may be gone: killed meanwhile */
    if (wanted && task && core_dump_needs_detach(task, sig)) {
        leave_task(t, task);
        return;
    }
    if (wanted && task)
        core_dump_prepare(t, task, sig);
    if (is_stop_signal(sig) && thread_is_continued(tid))
        wanted = false;
    loop_resume(t, tid, wanted ? sig : 0);
}

/* PID has ended; it may have been let go before. */
static void remember_end(struct tracer *t, pid_t pid, int status) {
    struct ended e = {pid, status};
    if (pid == t->adopted)
        ARRAY_PUSH(&t->ended, e);
}

static void on_end(struct tracer *t, struct task *task, int status) {
    remember_end(t, task->tid, status);
    if (WIFSIGNALED(status))
        orphans_note_killed(t, task);
    lifecycle_forget(t, task);
}

static void on_exit_event(struct tracer *t, struct task *task) {
    if (WIFSIGNALED((int)thread_event_message(task->tid)))
        orphans_note_killed(t, task);
    lifecycle_exit(t, task);
}

static bool is_birth(int event) {
    return event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_CLONE;
}

static void on_stop(struct tracer *t, struct task *task, int status) {
    if (task->lent && task->space && task->slot)
        keys_pass(task->space, task->tid, task->slot->at, 0);
    task->lent = false;
    task->stuck = false;
    task->vfork_child = 0; /* it runs, so its child is done with the shared memory */
    task->stopped = true;
    task->standing = false;
    task->finished = false;
    task->status = status;
    if (!is_call_stop(status))
        syscall_resume_end(task);
    if (task->space && task->space->traps.any && !traps_meet(task)) {
        task->stopped = false;
        return;
    }
    if (is_birth(status >> 16))
        lifecycle_birth(t, task, status >> 16);
    if (status >> 16 == PTRACE_EVENT_EXEC)
        lifecycle_forget_threads(t, task);
    if (task->leaving) {
        leave_stopped_task(t, task);
        return;
    }
    if (is_unknown_newborn(task))
        t->unknown_newborns++;
    else
        deliver_restart_syscall(task);
    if (!is_unknown_newborn(task) && !(task->space && task->space->stopping))
        answer(t, task);
}

static void report(struct tracer *t, pid_t tid, int status) {
    struct task *task = tasks_find(&t->tasks, tid);
    if (!task && WIFSTOPPED(status))
        task = tasks_add(&t->tasks, tid);
    if (task && !WIFSTOPPED(status))
        on_end(t, task, status);
    else if (tid == t->adopted && !task)
        remember_end(t, tid, status);
    else if (status >> 16 == PTRACE_EVENT_EXIT)
        on_exit_event(t, task);
    else if (task)
        on_stop(t, task, status);
    reports_answer_newborns(t);
}

const struct loop_handlers loop_handlers = {report, answer};
