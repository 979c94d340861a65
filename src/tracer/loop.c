/* Decodes reports, updates tasks, and answers their stops. */
#include "tracer/loop.h"

#include <sys/ptrace.h>

#include "arch/clock.h"
#include "patch/parked_sigframes.h"
#include "target/status.h"
#include "tracer/core_dump.h"
#include "tracer/deaths.h"
#include "tracer/deliver.h"
#include "tracer/detach.h"
#include "tracer/kept_signals.h"
#include "tracer/lifecycle.h"
#include "tracer/nested_tracer.h"
#include "tracer/orphans.h"
#include "tracer/read_faults.h"
#include "tracer/reports.h"
#include "tracer/syscall_resume.h"
#include "tracer/task_lane.h"
#include "tracer/traps.h"

/* ---- answers ---- */

void loop_resume(struct tracer *t, pid_t tid, int sig) {
    struct task *task = tasks_find(&t->tasks, tid);
    if (!task)
        return;
    if (task->state == TASK_STOPPED || task->state == TASK_HELD)
        task_set_running(task);
    syscall_resume_remainder(task);
    task_pause_end(task);
    if (task->space && sig)
        parked_sigframes_note(task->space->parked, tid);
    if (task->space && kept_signals_watch(task->space))
        kept_signals_resume(t, task, sig);
    else if (task->watched)
        thread_continue_to_syscall(tid, sig);
    else
        thread_continue(tid, sig);
}

/* TASK is at a syscall-stop. Returns false when it is gone. */
static bool answer_syscall(struct tracer *t, struct task *task) {
    if (task->space && kept_signals_watch(task->space) && !kept_signals_at_syscall(t, task))
        return false;
    return !task->watched || nested_tracer_at_syscall(t, task);
}

/* TASK is about to get stopping signal SIG. */
static void note_stop(struct tracer *t, const struct task *task, int sig) {
    siginfo_t info;
    if (task->pid != t->adopted || ptrace(PTRACE_GETSIGINFO, task->tid, NULL, &info) < 0)
        return;
    t->stop = (struct tracer_stop){t->stop.number + 1, sig, info.si_code, 0};
    if (info.si_code <= 0) /* sent by a process */
        t->stop.sender = info.si_pid;
}

/* TASK is at a signal-delivery-stop. Returns false when it is gone. *RET_SIG becomes 0 if the
 * program must not get the signal. */
static bool answer_signal(struct tracer *t, struct task *task, int *ret_sig) {
    uint64_t now = clock_ticks();
    int sig = *ret_sig;
    pid_t tid = task->tid;
    if (is_stop_signal(sig))
        note_stop(t, task, sig);
    bool wanted = !traps_is_ignored(task, sig) && deliver_prepare(t, task, sig);
    task = tasks_find(&t->tasks, tid); /* it may have been killed */
    if (wanted && task && core_dump_needs_detach(task, sig)) {
        leave_task(t, task);
        return false;
    }
    if (wanted && task)
        core_dump_prepare(t, task, sig, now);
    task = tasks_find(&t->tasks, tid);
    if (wanted && task) {
        deaths_note_fault(task, sig, now);
        deaths_note(t, task, sig, now);
    }
    if (!wanted || (is_stop_signal(sig) && thread_is_continued(tid)))
        *ret_sig = 0;
    return true;
}

/* TASK is in a group-stop. Returns whether it stays there. After a remote call it does not: it
 * reports its group-stop again when it is resumed. */
static bool answer_group_stop(struct task *task) {
    if (thread_listen(task->tid) < 0)
        return false;
    task_set_state(task, TASK_IN_GROUP_STOP);
    return true;
}

/* Returns whether TASK is to be resumed, with signal *RET_SIG. */
static bool answer_stop(struct tracer *t, struct task *task, int *ret_sig) {
    *ret_sig = 0;
    switch (task->stop.kind) {
    case STOP_EXEC:
        return lifecycle_exec(t, task);
    case STOP_GROUP:
        return !answer_group_stop(task);
    case STOP_SYSCALL:
        return answer_syscall(t, task);
    case STOP_SIGNAL:
        *ret_sig = task->stop.signal;
        return answer_signal(t, task, ret_sig);
    default:
        return true;
    }
}

static void answer(struct tracer *t, struct task *task) {
    pid_t tid = task->tid;
    int sig;
    task_set_state(task, TASK_HELD);
    if (!task_is_ready(task) && !lifecycle_first_stop(t, task))
        return;
    if (task->stage == TASK_LATE)
        task_lane_join_late(t, task);
    if (task->traps.hit)
        traps_count(t, task);
    task = tasks_find(&t->tasks, tid); /* it may be gone */
    if (task && answer_stop(t, task, &sig))
        loop_resume(t, tid, sig);
}

/* ---- reports ---- */

/* PID has ended; it may have been detached before: then TASK is NULL. */
static void remember_end(struct tracer *t, const struct task *task, pid_t pid, int status) {
    struct ended e = {pid, status};
    if (pid == t->adopted)
        ARRAY_PUSH(&t->ended, e);
    if (pid == t->adopted || (task && task->pid == pid))
        deaths_end(t, pid, status);
}

static void on_end(struct tracer *t, struct task *task, enum stop_kind kind) {
    if (kind == STOP_KILLED)
        orphans_note_killed(t, task);
    lifecycle_forget(t, task);
}

static void on_exit_event(struct tracer *t, struct task *task) {
    if (stop_of_status((int)thread_event_message(task->tid)).kind == STOP_KILLED)
        orphans_note_killed(t, task);
    lifecycle_exit(t, task);
}

static void note_stopped(struct task *task, const struct stop *stop) {
    if (task->vfork_lane && task->space && task->lane)
        lane_lookup_pass(task->space, task->tid, task->lane->at, 0);
    task->vfork_lane = false;
    task->vfork_child = 0; /* it has run, so its vfork child does not use its memory any more */
    task->stop = *stop;
    task_set_state(task, TASK_STOPPED);
    task_pause_begin(task);
}

/* TASK has stopped. False: it runs on, as it is about to report a signal that spoor has caused. */
static bool signals_on_stop(struct tracer *t, struct task *task) {
    kept_signals_on_stop(task);
    return (!task->space->traps.any || traps_on_stop(task)) &&
           (task->space->reads.state == READS_UNKNOWN || read_faults_on_stop(t, task));
}

static void on_stop(struct tracer *t, struct task *task, const struct stop *stop) {
    note_stopped(task, stop);
    if (stop->kind != STOP_SYSCALL)
        syscall_resume_end(task);
    if (task->space && !signals_on_stop(t, task)) {
        task_set_running(task);
        return;
    }
    if (stop->kind == STOP_FORK || stop->kind == STOP_VFORK || stop->kind == STOP_CLONE)
        lifecycle_birth(t, task);
    if (stop->kind == STOP_EXEC)
        lifecycle_forget_threads(t, task);
    if (task->leaving) {
        leave_stopped_task(t, task);
        return;
    }
    if (task->stage == TASK_UNKNOWN) {
        t->unknown_newborns++;
        return;
    }
    deliver_restart_syscall(task);
    if (!(task->space && task->space->stopping))
        answer(t, task);
}

static void report(struct tracer *t, pid_t tid, int status) {
    const struct stop stop = stop_of_status(status);
    struct task *task = tasks_find(&t->tasks, tid);
    if (stop_is_end(stop.kind))
        remember_end(t, task, tid, status);
    else if (!task)
        task = tasks_add(&t->tasks, tid);
    if (task && stop_is_end(stop.kind))
        on_end(t, task, stop.kind);
    else if (task && stop.kind == STOP_EXIT)
        on_exit_event(t, task);
    else if (task)
        on_stop(t, task, &stop);
    reports_answer_newborns(t);
}

const struct loop_handlers loop_handlers = {report, answer};
