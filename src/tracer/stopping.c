#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include "base/page.h"
#include "patch/breakpoints.h"
#include "patch/leftovers.h"
#include "patch/space_lifecycle.h"
#include "patch/pages.h"
#include "patch/permits.h"
#include "patch/unpatch.h"
#include "patch/settle.h"
#include "target/timing.h"
#include "tracer/haste.h"
#include "tracer/tracer_parts.h"

/* Whether it cannot come to the program's code before we have answered what it reports next. */
static bool stands_still(const struct task *k) {
    return k->stopped || k->held || k->vfork_child || k->exiting || k->stuck;
}

static bool all_stopped(const struct tracer *t, const struct space *space) {
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (k->space == space && !stands_still(k))
            return false;
    return true;
}

static void begin_to_stop(const struct tracer *t, struct space *space) {
    space->stopping = true;
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (k->space == space && !stands_still(k))
            task_interrupt(k);
}

bool stop_space_within(struct tracer *t, struct space *space, unsigned ms) {
    const struct timespec nap = {.tv_nsec = 1000000};
    sigset_t reports;
    sigemptyset(&reports);
    sigaddset(&reports, SIGCHLD);
    begin_to_stop(t, space);
    tracer_handle_reports(t);
    for (unsigned i = 0; i < ms && !all_stopped(t, space); i++) {
        sigtimedwait(&reports, NULL, &nap); /* they are blocked: the session's loop reads them */
        tracer_handle_reports(t);
    }
    return all_stopped(t, space);
}

pid_t stopping_laggard(const struct tracer *t, const struct space *space) {
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (k->space == space && !stands_still(k))
            return k->tid;
    return 0;
}

/* Answers all reports, after a millisecond at most. False: nobody is left to make any. */
static bool await_reports(struct tracer *t) {
    const struct timespec nap = {.tv_nsec = 1000000};
    int status;
    pid_t tid;
    sigset_t reports;
    sigemptyset(&reports);
    sigaddset(&reports, SIGCHLD);
    sigtimedwait(&reports, NULL, &nap); /* they are blocked: the session's loop reads them */
    while ((tid = waitpid(-1, &status, __WALL | WNOHANG)) > 0)
        tracer_report(t, tid, status);
    return tid == 0;
}

/* LAGGARD of SPACE, which is being stopped, may wait in the kernel for another thread of its own:
 * one that fills its page (userfaultfd), or answers its call (seccomp's notifications, FUSE). So
 * those that have stopped run on until it stops, or for a while. */
static void let_others_run(struct tracer *t, struct space *space, pid_t laggard) {
    static const uint64_t WHILE_NS = 100000000;
    tid_array tids = {0};
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (k->space == space && k->stopped)
            ARRAY_PUSH(&tids, k->tid);
    space->stopping = false;
    tracer_answer_all(t, &tids);
    space->stopping = true;
    uint64_t until = timing_now().ns + WHILE_NS;
    const struct task *k = tasks_find(&t->tasks, laggard);
    while (k && !stands_still(k) && timing_now().ns < until && await_reports(t))
        k = tasks_find(&t->tasks, laggard);
}

static bool is_urged(void) {
    sigset_t pending;
    return sigpending(&pending) == 0 &&
           (sigismember(&pending, SIGINT) || sigismember(&pending, SIGTERM) ||
            sigismember(&pending, SIGHUP) || sigismember(&pending, SIGQUIT));
}

/* K, which is told to stop, waits in the kernel: it stops before it is in the program's code again.
 * Where that is nothing of ours is. */
static bool waits_elsewhere(const struct space *space, const struct task *k) {
    taddr_t pc;
    return status_is_uninterruptible(k->tid) && status_pc_of(k->tid, &pc) &&
           pc - space->agent >= page_bytes() && !space_owner_at(space, pc);
}

/* The user wants to be rid of us, or has waited long enough for those of SPACE who do not stop:
 * they count as standing, if all of them may. Returns whether so. */
static bool give_up_waiting(const struct tracer *t, const struct space *space) {
    bool all = t->leave_ns && (is_urged() || timing_now().ns >= t->leave_ns);
    for (struct task *k = tasks_next(&t->tasks, NULL); k && all; k = tasks_next(&t->tasks, k))
        all = k->space != space || stands_still(k) || waits_elsewhere(space, k);
    for (struct task *k = tasks_next(&t->tasks, NULL); k && all; k = tasks_next(&t->tasks, k))
        k->stuck |= k->space == space && !stands_still(k);
    return all;
}

void stop_space(struct tracer *t, struct space *space) {
    static const uint64_t PATIENCE_NS = 20000000;
    begin_to_stop(t, space);
    uint64_t begin = timing_now().ns;
    while (!all_stopped(t, space) && await_reports(t)) {
        pid_t laggard = stopping_laggard(t, space);
        if (timing_now().ns - begin < PATIENCE_NS || !status_is_uninterruptible(laggard) ||
            give_up_waiting(t, space))
            continue;
        let_others_run(t, space, laggard);
        begin_to_stop(t, space);
        begin = timing_now().ns;
    }
}

void resume_space(struct tracer *t, struct space *space) {
    tid_array tids = {0};
    space->stopping = false;
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (k->space == space && k->stopped)
            ARRAY_PUSH(&tids, k->tid);
    tracer_answer_all(t, &tids);
    tracer_answer_newborns(t);
}

bool resume_others(struct tracer *t, struct space *space, pid_t tid) {
    struct task *task = tasks_find(&t->tasks, tid);
    if (task) {
        task->stopped = false;
        task->held = true;
    }
    resume_space(t, space);
    task = tasks_find(&t->tasks, tid);
    if (task)
        task->held = false;
    return task;
}

bool may_call(const struct task *task) { return task->status >> 16 == PTRACE_EVENT_STOP; }

/* TASK may be about to make a call, stopped there instead of where we asked for it: the kernel
 * would cut that call short at its beginning, and nobody would be there to mend it at its end. */
static void put_off_call(const struct task *task) {
    struct thread_call_stop call;
    if (is_call_stop(task->status) && thread_at_call(task->tid, &call) &&
        !status_seccomp_filters(task->tid))
        thread_put_off_call(task->tid);
}

void release_task(struct tracer *t, struct task *task, taddr_t lane) {
    int event = task->status >> 16, sig = WSTOPSIG(task->status);
    traps_ignore_again(task);
    put_off_call(task);
    if (!task->space || task->space->agent)
        keys_leave(task->space, task->tid, event == PTRACE_EVENT_EXEC ? 0 : lane);
    thread_detach(task->tid, event || is_call_stop(task->status) ? 0 : sig);
    task->leaving = true; /* it lives on: who waits for it as its child of vfork does so, too */
    family_forget(t, task);
}

static bool is_free(const struct task *k) {
    return permits(k->space, k->tid, PERMIT_CODE | PERMIT_LANES | PERMIT_LEAVE);
}

/* TASK is about to come from the call that has made a child: once is enough, or it would go on into
 * its next call. */
static bool finish_birth(struct task *task) {
    task->finished = task->finished || thread_finish_call(task->tid, NULL) == 0;
    return task->finished;
}

/* A stopped task of SPACE that may make remote calls, if possible one whose sandbox allows all that
 * may be needed; NULL if there is none just now. */
static struct task *find_caller(const struct tracer *t, const struct space *space) {
    struct task *parent = NULL, *any = NULL;
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k)) {
        int event = k->status >> 16;
        if (!stands_in(k, space))
            continue;
        if (may_call(k) && is_free(k))
            return k;
        if (may_call(k))
            any = k;
        if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_CLONE)
            parent = k;
    }
    if (any)
        return any;
    return parent && finish_birth(parent) ? parent : NULL;
}

pid_t free_caller(const struct tracer *t, const struct task *task) {
    if (is_free(task))
        return task->tid;
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (k->space == task->space && k->stopped && may_call(k) && is_free(k))
            return k->tid;
    return task->tid;
}

/* Some task stands before a signal, or at a system call, from where it soon comes. */
static bool before_signal(const struct tracer *t, const struct space *space) {
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (k->space == space && k->stopped && !(k->status >> 16))
            return true;
    return false;
}

struct task *stop_with_caller(struct tracer *t, struct space *space) {
    enum { MOST_TRIES = 100 };
    for (int i = 0;; i++) {
        stop_space(t, space);
        struct task *caller = find_caller(t, space);
        if (caller || i == MOST_TRIES || !before_signal(t, space))
            return caller;
        resume_space(t, space);
    }
}

void settle_ways(const struct tracer *t, const struct space *space) {
    struct settle_place place;
    enum settled settled;
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (stands_in(k, space))
            settle_registers(space, k->tid, k->slot, &settled, &place);
}

/* Where the text is RESTORED, threads find what they were about to do. */
static void settle_all(const struct tracer *t, struct space *space, bool restored) {
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k)) {
        enum settled settled = SETTLED_INSIDE;
        if (!stands_in(k, space))
            continue;
        if (restored)
            settle_out(space, k->tid, k->slot, &settled);
        else
            settle_step_out(space, k->tid, k->slot, &settled);
        leftovers_keep_place(space, k->tid, settled != SETTLED_OUTSIDE);
    }
}

/* Handlers that stand aside are looked for while all stand, as nobody notes what is delivered. */
static void keep_aside(struct tracer *t, struct space *space) {
    struct aside aside = {.frames = {0}};
    tid_array tids = {0};
    tracer_look_aside(t, space);
    aside_gather(space->aside, space->remote.memory_fd, &aside);
    aside_forget(&space->aside);
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (stands_in(k, space))
            ARRAY_PUSH(&tids, k->tid);
    leftovers_keep_aside(space, &aside, tids.at, tids.count);
    ARRAY_FREE(&aside.frames);
    ARRAY_FREE(&tids);
}

/* Signals that were delivered while nobody saw to it have interrupted threads in trampolines. */
static void keep_returns(struct tracer *t, struct space *space) {
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (stands_in(k, space))
            leftovers_keep_returns(space, k->tid);
    keep_aside(t, space);
}

static void take_back_all(const struct tracer *t, struct space *space) {
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (stands_in(k, space))
            keys_take_back(space, k->tid);
}

static int undo_stopped(struct tracer *t, struct space *space, struct err *err) {
    if (!space->agent)
        return 0;
    if (space->inherited)
        keep_returns(t, space);
    take_back_all(t, space); /* before one of them makes other calls, and stands differently */
    const struct task *caller = find_caller(t, space);
    settle_ways(t, space);
    int rc = 0;
    if (space->state != SPACE_LEAVING)
        rc = caller ? space_give_back(space, caller->tid, err)
                    : space_restore(space, space->pid, err);
    settle_all(t, space, rc == 0);
    if (rc < 0)
        return rc;
    if (caller)
        return space_clear(space, caller->tid, err);
    return err_set(
        err, EBUSY, "busy",
        "process %d: none of its threads can be made to call the kernel: the memory that "
        "tracing took stays: 'spoor detach %d' removes it",
        space->pid, space->pid);
}

/* TASK is in the kernel. When it waits for a child of vfork it is let go as it comes from there;
 * else that is left to our end. */
static void release_unstopped(struct tracer *t, struct task *task, bool undone) {
    if (!task->vfork_child) {
        family_forget(t, task);
        return;
    }
    family_close_lane(t, task);
    task->sink = undone ? 0 : space_sink(task->space);
    task->rid = undone;
    task->leaving = true;
    space_unref(task->space);
    task->space = NULL;
}

int release_stopped(struct tracer *t, struct space *space, struct err *ret) {
    struct err err = {0};
    int rc = undo_stopped(t, space, &err);
    bool undone = rc == 0;
    if (err.code && !ret)
        tracer_tell_left(t, space, &err);
    if (!undone)
        breakpoints_remove(space);
    space->stopping = false;
    for (struct task *k = tasks_next(&t->tasks, NULL), *next; k; k = next) {
        next = tasks_next(&t->tasks, k);
        if (k->space == space && k->stopped)
            release_task(t, k, undone ? 0 : space_sink(space));
        else if (k->space == space)
            release_unstopped(t, k, undone);
    }
    if (ret && err.code)
        *ret = err;
    return rc;
}

static void release_space(struct tracer *t, struct space *space) {
    stop_with_caller(t, space);
    release_stopped(t, space, NULL);
}

/* Whether another task than TASK has its memory. */
static bool shares_space(const struct tracer *t, const struct task *task) {
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (k != task && k->space == task->space)
            return true;
    return false;
}

/* Where TASK may write events that nobody reads, as long as its code is patched. */
static taddr_t lane_of_leaver(const struct task *task) {
    if (task->rid)
        return 0;
    if (task->space)
        return space_sink(task->space);
    return task->sink ? task->sink : keys_lane(task->space, task->tid);
}

void part_with_task(struct tracer *t, struct task *task) {
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
    task->leaving = true;
    tell_change(t, task->pid, TRACE_LEFT);
    release_task(t, task, lane);
}

void part_when_stopped(struct tracer *t, struct task *task) {
    enum settled settled;
    if (task->space && !has_begun_program(task))
        settle_step_out(task->space, task->tid, task->slot, &settled);
    release_task(t, task, lane_of_leaver(task));
}

static struct task *find_in_process(const struct tracer *t, pid_t pid) {
    struct task *k = tasks_next(&t->tasks, NULL);
    while (k && k->pid != pid)
        k = tasks_next(&t->tasks, k);
    return k;
}

/* Whether some task of PID that is to leave can be waited for. */
static bool is_leaving(const struct tracer *t, pid_t pid) {
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (k->pid == pid && k->leaving && !stands_still(k))
            return true;
    return false;
}

/* The tasks of PID leave one by one; what patches there are stay with those who share its memory.
 */
static void part_one_by_one(struct tracer *t, pid_t pid) {
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k)) {
        if (k->pid != pid)
            continue;
        k->leaving = true;
        if (k->space)
            breakpoints_remove(k->space);
        task_interrupt(k);
    }
    while (is_leaving(t, pid)) {
        int status;
        pid_t tid = waitpid(-1, &status, __WALL);
        if (tid > 0)
            tracer_report(t, tid, status);
        else if (errno != EINTR)
            break;
    }
}

/* Leaves SPACE. Those whom the kernel keeps from tracers run its code, too: they are seized, to be
 * left with it. */
static void release_with_strays(struct tracer *t, struct space *space) {
    enum { MOST_LOOKS = 100 };
    struct strays strays = {.join = false};
    seizing_find_strays(t, space, &strays); /* takes long: others run */
    stop_with_caller(t, space);
    for (int i = 0; i < MOST_LOOKS && seizing_find_strays(t, space, &strays); i++)
        stop_with_caller(t, space);
    release_stopped(t, space, NULL);
    sharing_done(&strays.sharing);
}

static void add_once(tid_array *pids, pid_t pid) {
    for (size_t i = 0; i < pids->count; i++)
        if (pids->at[i] == pid)
            return;
    ARRAY_PUSH(pids, pid);
}

void part_with_space(struct tracer *t, struct space *space) {
    tid_array pids = {0};
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (k->space == space)
            add_once(&pids, k->pid);
    for (size_t i = 0; i < pids.count; i++)
        tell_change(t, pids.at[i], TRACE_LEFT);
    space_ref(space);
    release_with_strays(t, space);
    space_unref(space);
    for (size_t i = 0; i < pids.count; i++)
        part_one_by_one(t, pids.at[i]);
    ARRAY_FREE(&pids);
}

void part_with_process(struct tracer *t, pid_t pid) {
    const struct task *first = find_in_process(t, pid);
    if (first && first->space)
        tell_change(t, pid, TRACE_LEFT);
    part_one_by_one(t, pid);
}

static struct task *find_in_space(const struct tracer *t) {
    struct task *k = tasks_next(&t->tasks, NULL);
    while (k && !k->space)
        k = tasks_next(&t->tasks, k);
    return k;
}

static bool some_leave(struct tracer *t, const struct space *space) {
    (void)space;
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (k->leaving)
            return true;
    return false;
}

static const uint64_t LEAVE_PATIENCE_NS = 5000000000;

bool await_while(struct tracer *t, bool (*turn)(struct tracer *, const struct space *),
                 const struct space *space) {
    const struct timespec nap = {.tv_nsec = 1000000};
    sigset_t reports;
    sigemptyset(&reports);
    sigaddset(&reports, SIGCHLD);
    uint64_t until = timing_now().ns + LEAVE_PATIENCE_NS;
    while (turn(t, space)) {
        if (is_urged())
            return false;
        if (timing_now().ns >= until)
            return true;
        sigtimedwait(&reports, NULL, &nap); /* blocked, as ever */
        tracer_handle_reports(t);
    }
    return false;
}

void await_leavers(struct tracer *t) { await_while(t, some_leave, NULL); }

static void note_pause(struct tracer *t, uint64_t ns) {
    if (ns > t->pauses.leave_ns)
        t->pauses.leave_ns = ns;
}

static bool has_cut(const struct tracer *t, const struct space *space) {
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (k->space == space && k->stopped && k->is_cut)
            return true;
    return false;
}

/* Nobody comes to a trampoline of SPACE any more; whether nobody is in one, either. */
static bool is_out(const struct tracer *t, struct space *space) {
    settle_all(t, space, true);
    for (size_t i = 0; i < space->modules.count; i++)
        if (space->modules.at[i].kept)
            return false;
    return true;
}

/* The second stop of SPACE has cut calls short. All who are in none are left already, as those are
 * waited for: what they need of ours stays until then. Returns whether so. */
static bool release_others(struct tracer *t, struct space *space) {
    stop_with_caller(t, space);
    if (space->state != SPACE_LEAVING || !has_cut(t, space) || !is_out(t, space))
        return false;
    for (struct task *k = tasks_next(&t->tasks, NULL), *next; k; k = next) {
        next = tasks_next(&t->tasks, k);
        if (k->space != space || !k->stopped || k->is_cut)
            continue;
        keys_take_back(space, k->tid);
        release_task(t, k, 0);
    }
    return true;
}

/* In two stops: what the text is to be is the program's own again after the first; in the second
 * the rest is unmapped. */
static void leave_space(struct tracer *t, struct space *space) {
    struct haste haste;
    note_pause(t, live_end(t, space));
    haste_begin(&haste);
    uint64_t begin = timing_now().ns;
    if (release_others(t, space)) {
        note_pause(t, timing_now().ns - begin);
        begin = timing_now().ns;
        rests_await(t, space);
        t->leave_ns += timing_now().ns - begin;
        begin = timing_now().ns;
    }
    release_space(t, space);
    note_pause(t, timing_now().ns - begin);
    haste_end(&haste);
}

void tracer_release_all(struct tracer *t) {
    const struct task *first = find_in_space(t);
    t->leave_ns = timing_now().ns + LEAVE_PATIENCE_NS;
    if (first)
        pages_foresee(first->space); /* its children have the same files, most of them */
    for (struct task *k; (k = find_in_space(t));) {
        struct space *space = space_ref(k->space);
        leave_space(t, space);
        space_unref(space);
    }
    await_leavers(t);
    for (struct task *k = tasks_next(&t->tasks, NULL), *next; k; k = next) {
        next = tasks_next(&t->tasks, k);
        if (!k->leaving)
            family_forget(t, k); /* nothing of ours is in it */
    }
}
