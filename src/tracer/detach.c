/* Detaches tasks and spaces, and restores their memory if possible. */
#include "tracer/detach.h"

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>

#include "patch/breakpoints.h"
#include "patch/leftovers.h"
#include "patch/settle.h"
#include "patch/space_lifecycle.h"
#include "patch/unpatch.h"
#include "target/status.h"
#include "tracer/kept_signals.h"
#include "tracer/lifecycle.h"
#include "tracer/reports.h"
#include "tracer/seizing.h"
#include "tracer/stopping.h"
#include "tracer/task_lane.h"
#include "tracer/thread_names.h"
#include "tracer/trace_changes.h"

/* If TASK is at a syscall-entry-stop, it stopped there in place of an interrupt. The kernel would
 * still cut the call short, and spoor, detached then, could not restart it: postpones the call. */
static void postpone_call(const struct task *task) {
    struct thread_syscall_stop call;
    if (task->stop.kind == STOP_SYSCALL && thread_at_syscall(task->tid, &call) &&
        !status_seccomp_filters(task->tid))
        thread_postpone_syscall(task->tid);
}

void detach_task(struct tracer *t, struct task *task, taddr_t lane) {
    thread_names_read(t, task);
    kept_signals_restore_ignore(task);
    postpone_call(task);
    if (!task->space || task->space->agent)
        lane_lookup_leave(task->space, task->tid, task->stop.kind == STOP_EXEC ? 0 : lane);
    thread_detach(task->tid, task->stop.kind == STOP_SIGNAL ? task->stop.signal : 0);
    task_leave(task, TASK_LEAVES); /* it lives on, so its vfork parent still waits */
    lifecycle_forget(t, task);
}

void detach_settle_all(const struct tracer *t, struct space *space, bool restored) {
    for (struct task *k = NULL; (k = tasks_next_stopped(&t->tasks, k, space));) {
        enum settled settled = SETTLED_INSIDE;
        if (restored)
            settle_out(space, k->tid, k->lane, &settled);
        else
            settle_step_out(space, k->tid, k->lane, &settled);
        leftovers_keep_place(space, k->tid, settled != SETTLED_OUTSIDE);
    }
}

/* Searches for parked signal frames while all threads are stopped, as deliveries were not noted. */
static void keep_parked(struct tracer *t, struct space *space) {
    struct parked_sigframes parked = {.frames = {0}};
    tid_array tids = {0};
    stopping_find_parked(t, space);
    parked_sigframes_collect(space->parked, space->remote.memory_fd, &parked);
    parked_sigframes_forget(&space->parked);
    for (struct task *k = NULL; (k = tasks_next_stopped(&t->tasks, k, space));)
        ARRAY_PUSH(&tids, k->tid);
    leftovers_keep_parked(space, &parked, tids.at, tids.count);
    ARRAY_FREE(&parked.frames);
    ARRAY_FREE(&tids);
}

/* Signals delivered without a tracer may have interrupted threads in trampolines. */
static void keep_returns(struct tracer *t, struct space *space) {
    for (struct task *k = NULL; (k = tasks_next_stopped(&t->tasks, k, space));)
        leftovers_keep_returns(space, k->tid);
    keep_parked(t, space);
}

static void take_back_all(const struct tracer *t, struct space *space) {
    for (struct task *k = NULL; (k = tasks_next_stopped(&t->tasks, k, space));)
        lane_lookup_unassign(space, k->tid);
}

/* The text is restored. Threads that are not seen may still run in the memory. */
static int memory_stays(const struct space *space, struct err *err) {
    return err_set(err, EBUSY, "busy",
                   "process %d: %s: the memory that tracing took stays: 'spoor detach %d' "
                   "removes it",
                   space->pid,
                   space->unlisted ? "cannot list its threads"
                                   : "none of its threads can be made to call the kernel",
                   space->pid);
}

static int undo_stopped(struct tracer *t, struct space *space, struct err *err) {
    if (!space->agent)
        return 0;
    if (space->inherited)
        keep_returns(t, space);
    take_back_all(t, space); /* before a remote call changes their registers */
    const struct task *caller = find_caller(t, space);
    settle_off_ways(t, space);
    int rc = 0;
    if (space->state != SPACE_LEAVING)
        rc = caller ? space_restore_for_good(space, caller->tid, err)
                    : space_restore(space, space->pid, err);
    detach_settle_all(t, space, rc == 0);
    if (rc < 0)
        return rc;
    return caller && !space->unlisted ? space_uninstall(space, caller->tid, err)
                                      : memory_stays(space, err);
}

/* TASK has not stopped and is in the kernel. If it waits for a vfork child, it is detached at its
 * next stop; else when spoor ends. */
static void detach_unstopped(struct tracer *t, struct task *task, bool undone) {
    if (!task->vfork_child) {
        thread_names_read(t, task);
        lifecycle_forget(t, task);
        return;
    }
    task_lane_close(t, task);
    task->sink = undone ? 0 : space_sink(task->space);
    task_leave(task, undone ? TASK_LEAVES_RESTORED : TASK_LEAVES);
    space_unref(task->space);
    task->space = NULL;
}

int detach_stopped(struct tracer *t, struct space *space, struct err *ret) {
    struct err err = {0};
    int rc = undo_stopped(t, space, &err);
    bool undone = rc == 0;
    if (err.code && !ret)
        tracer_report_left(t, space, &err);
    if (!undone)
        breakpoints_remove(space);
    space->stopping = false;
    for (struct task *k = tasks_next(&t->tasks, NULL), *next; k; k = next) {
        next = tasks_next(&t->tasks, k);
        if (k->space == space && k->state == TASK_STOPPED)
            detach_task(t, k, undone ? 0 : space_sink(space));
        else if (k->space == space)
            detach_unstopped(t, k, undone);
    }
    if (ret && err.code)
        *ret = err;
    return rc;
}

/* Whether another task than TASK has its memory. */
static bool shares_space(const struct tracer *t, const struct task *task) {
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (k != task && k->space == task->space)
            return true;
    return false;
}

/* The lane of TASK, which is to be detached: nobody reads its events; 0: its code is not
 * patched. */
static taddr_t lane_of_leaver(const struct task *task) {
    if (task->leaving == TASK_LEAVES_RESTORED)
        return 0;
    if (task->space)
        return space_sink(task->space);
    return task->sink ? task->sink : lane_lookup_lane(task->space, task->tid);
}

void leave_task(struct tracer *t, struct task *task) {
    struct err err = {0};
    taddr_t lane = lane_of_leaver(task);
    if (task->space && !shares_space(t, task)) {
        if (space_restore(task->space, task->tid, &err) < 0)
            tracer_warn(t, task->tid, &err);
        else
            lane = 0;
    }
    if (task->space && lane)
        breakpoints_remove(task->space);
    task_leave(task, TASK_LEAVES);
    trace_changes_process(t, task->pid, TRACE_LEFT);
    detach_task(t, task, lane);
}

void leave_stopped_task(struct tracer *t, struct task *task) {
    enum settled settled;
    if (task->space && !task_is_at_exec(task))
        settle_step_out(task->space, task->tid, task->lane, &settled);
    detach_task(t, task, lane_of_leaver(task));
}

static struct task *find_in_process(const struct tracer *t, pid_t pid) {
    struct task *k = tasks_next(&t->tasks, NULL);
    while (k && k->pid != pid)
        k = tasks_next(&t->tasks, k);
    return k;
}

/* Whether spoor waits for a task of PID that is to be detached. */
static bool is_leaving(const struct tracer *t, pid_t pid) {
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (k->pid == pid && k->leaving && !task_stands_still(k))
            return true;
    return false;
}

/* Detaches the tasks of PID one by one. The patches stay for other processes that share its
 * memory. */
static void detach_one_by_one(struct tracer *t, pid_t pid) {
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k)) {
        if (k->pid != pid)
            continue;
        task_leave(k, TASK_LEAVES);
        if (k->space)
            breakpoints_remove(k->space);
        task_interrupt(k);
    }
    while (is_leaving(t, pid) && reports_await_one(t))
        ;
}

/* Detaches SPACE. Untraced tasks that share it run its code, too: seizes them and detaches them
 * with it. */
static void leave_with_untraced(struct tracer *t, struct space *space) {
    enum { MOST_LOOKS = 100 };
    struct untraced untraced = {.join = false};
    seizing_find_untraced(t, space, &untraced); /* takes long: done while SPACE runs */
    stop_space_with_caller(t, space);
    for (int i = 0; i < MOST_LOOKS && seizing_find_untraced(t, space, &untraced); i++)
        stop_space_with_caller(t, space);
    detach_stopped(t, space, NULL);
    sharing_done(&untraced.sharing);
}

void leave_space(struct tracer *t, struct space *space) {
    tid_array pids = tracer_pids_of(t, space);
    for (size_t i = 0; i < pids.count; i++)
        trace_changes_process(t, pids.at[i], TRACE_LEFT);
    space_ref(space);
    leave_with_untraced(t, space);
    space_unref(space);
    for (size_t i = 0; i < pids.count; i++)
        detach_one_by_one(t, pids.at[i]);
    ARRAY_FREE(&pids);
}

void leave_process(struct tracer *t, pid_t pid) {
    const struct task *first = find_in_process(t, pid);
    if (first && first->space)
        trace_changes_process(t, pid, TRACE_LEFT);
    detach_one_by_one(t, pid);
}

static bool is_any_leaving(struct tracer *t, const struct space *space) {
    (void)space;
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (k->leaving)
            return true;
    return false;
}

void await_detachments(struct tracer *t) { reports_await_while(t, is_any_leaving, NULL); }
