/* Stops and resumes all tasks of a space, and finds tasks that may make remote calls. */
#include "tracer/stopping.h"

#include <signal.h>
#include <sys/ptrace.h>

#include "base/page.h"
#include "patch/parked_sigframes.h"
#include "patch/permits.h"
#include "patch/settle.h"
#include "target/status.h"
#include "target/timing.h"
#include "tracer/reports.h"

static bool all_stopped(const struct tracer *t, const struct space *space) {
    for (struct task *k = NULL; (k = tasks_next_in(&t->tasks, k, space));)
        if (!task_stands_still(k))
            return false;
    return true;
}

static void interrupt_all(const struct tracer *t, struct space *space) {
    space->stopping = true;
    for (struct task *k = NULL; (k = tasks_next_in(&t->tasks, k, space));)
        if (!task_stands_still(k))
            task_interrupt(k);
}

bool stop_space_within(struct tracer *t, struct space *space, unsigned ms) {
    interrupt_all(t, space);
    reports_handle(t);
    for (unsigned i = 0; i < ms && !all_stopped(t, space); i++) {
        reports_wait_ms();
        reports_handle(t);
    }
    return all_stopped(t, space);
}

pid_t find_unstopped(const struct tracer *t, const struct space *space) {
    for (struct task *k = NULL; (k = tasks_next_in(&t->tasks, k, space));)
        if (!task_stands_still(k))
            return k->tid;
    return 0;
}

/* TID of SPACE, which is being stopped, may wait in the kernel for another thread of SPACE: one
 * that fills its page (userfaultfd), or answers its call (seccomp notifications, FUSE). So lets the
 * stopped tasks run until TID stops, or for a while. */
static void let_others_run(struct tracer *t, struct space *space, pid_t tid) {
    static const uint64_t WHILE_NS = 100000000;
    tid_array tids = {0};
    for (struct task *k = NULL; (k = tasks_next_in(&t->tasks, k, space));)
        if (k->state == TASK_STOPPED)
            ARRAY_PUSH(&tids, k->tid);
    space->stopping = false;
    reports_answer_all(t, &tids);
    space->stopping = true;
    uint64_t until = timing_now().ns + WHILE_NS;
    const struct task *k = tasks_find(&t->tasks, tid);
    while (k && !task_stands_still(k) && timing_now().ns < until && reports_await(t))
        k = tasks_find(&t->tasks, tid);
}

/* Whether K, which is to stop, waits in the kernel, and will return to an address outside spoor's
 * mappings. It stops before it runs the program's code again. */
static bool waits_elsewhere(const struct space *space, const struct task *k) {
    taddr_t pc;
    return status_is_uninterruptible(k->tid) && status_pc_of(k->tid, &pc) &&
           pc - space->agent >= page_bytes() && !space_owner_at(space, pc);
}

/* The user asks spoor to end, or has waited long enough for tasks of SPACE that do not stop: counts
 * them as standing still, if that is safe for all of them. Returns whether it does. */
static bool give_up_waiting(const struct tracer *t, const struct space *space) {
    bool all = t->leave_ns && (reports_is_urged() || timing_now().ns >= t->leave_ns);
    for (struct task *k = tasks_next(&t->tasks, NULL); k && all; k = tasks_next(&t->tasks, k))
        all = k->space != space || task_stands_still(k) || waits_elsewhere(space, k);
    for (struct task *k = tasks_next(&t->tasks, NULL); k && all; k = tasks_next(&t->tasks, k))
        if (k->space == space && !task_stands_still(k))
            task_set_state(k, TASK_IN_UNINTERRUPTIBLE_WAIT);
    return all;
}

void stop_space(struct tracer *t, struct space *space) {
    static const uint64_t PATIENCE_NS = 20000000;
    interrupt_all(t, space);
    uint64_t begin = timing_now().ns;
    while (!all_stopped(t, space) && reports_await(t)) {
        pid_t tid = find_unstopped(t, space);
        if (timing_now().ns - begin < PATIENCE_NS || !status_is_uninterruptible(tid) ||
            give_up_waiting(t, space))
            continue;
        let_others_run(t, space, tid);
        interrupt_all(t, space);
        begin = timing_now().ns;
    }
}

void resume_space(struct tracer *t, struct space *space) {
    tid_array tids = {0};
    space->stopping = false;
    for (struct task *k = NULL; (k = tasks_next_in(&t->tasks, k, space));)
        if (k->state == TASK_STOPPED)
            ARRAY_PUSH(&tids, k->tid);
    reports_answer_all(t, &tids);
    reports_answer_newborns(t);
}

void resume_changed_space(struct tracer *t, struct space *space, enum pause_cause cause) {
    task_pause_note_all(t, space, cause);
    resume_space(t, space);
}

bool resume_others(struct tracer *t, struct space *space, pid_t tid) {
    struct task *task = tasks_find(&t->tasks, tid);
    if (task && task->state == TASK_STOPPED)
        task_set_state(task, TASK_HELD);
    resume_space(t, space);
    return tasks_find(&t->tasks, tid);
}

static bool is_unsandboxed(const struct task *k) {
    return permits(k->space, k->tid, PERMIT_CODE | PERMIT_LANES | PERMIT_LEAVE);
}

/* TASK is at a fork or clone event: lets its call return, once; a second time it would run into its
 * next call. */
static bool finish_birth(struct task *task) {
    if (task->stop.kind != STOP_BIRTH_DONE && thread_finish_syscall(task->tid, NULL) == 0)
        task->stop.kind = STOP_BIRTH_DONE;
    return task->stop.kind == STOP_BIRTH_DONE;
}

struct task *find_caller(const struct tracer *t, const struct space *space) {
    struct task *parent = NULL, *any = NULL;
    for (struct task *k = NULL; (k = tasks_next_stopped(&t->tasks, k, space));) {
        enum stop_kind kind = k->stop.kind;
        if (task_may_call(k) && is_unsandboxed(k))
            return k;
        if (task_may_call(k))
            any = k;
        if (kind == STOP_FORK || kind == STOP_CLONE || kind == STOP_BIRTH_DONE)
            parent = k;
    }
    if (any)
        return any;
    return parent && finish_birth(parent) ? parent : NULL;
}

pid_t unsandboxed_caller(const struct tracer *t, const struct task *task) {
    if (is_unsandboxed(task))
        return task->tid;
    for (struct task *k = NULL; (k = tasks_next_in(&t->tasks, k, task->space));)
        if (k->state == TASK_STOPPED && task_may_call(k) && is_unsandboxed(k))
            return k->tid;
    return task->tid;
}

/* Whether some task is at a signal-delivery-stop or a syscall-stop, and so will soon stop
 * elsewhere. */
static bool will_stop_elsewhere(const struct tracer *t, const struct space *space) {
    for (struct task *k = NULL; (k = tasks_next_in(&t->tasks, k, space));)
        if (k->state == TASK_STOPPED &&
            (k->stop.kind == STOP_SIGNAL || k->stop.kind == STOP_SYSCALL))
            return true;
    return false;
}

struct task *stop_space_with_caller(struct tracer *t, struct space *space) {
    enum { MOST_TRIES = 100 };
    for (int i = 0;; i++) {
        stop_space(t, space);
        struct task *caller = find_caller(t, space);
        if (caller || i == MOST_TRIES || !will_stop_elsewhere(t, space))
            return caller;
        resume_space(t, space);
    }
}

void settle_off_ways(const struct tracer *t, const struct space *space) {
    struct settle_place place;
    enum settled settled;
    for (struct task *k = NULL; (k = tasks_next_stopped(&t->tasks, k, space));)
        settle_registers(space, k->tid, k->lane, &settled, &place);
}

static void handle_reports(void *tracer) { reports_handle(tracer); }

void stopping_find_parked(struct tracer *t, struct space *space) {
    parked_sigframes_search(&space->parked, space->remote.memory_fd, space_thread(space),
                            &(struct parked_search_pace){handle_reports, t});
}
