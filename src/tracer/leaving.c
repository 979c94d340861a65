/*
 * The end of tracing: every space is detached in two stops. The first restores its text; the second
 * unmaps the rest of spoor, and detaches the tasks.
 */
#include "patch/pages.h"
#include "target/status.h"
#include "target/timing.h"
#include "tracer/detach.h"
#include "tracer/lifecycle.h"
#include "tracer/repatch.h"
#include "tracer/reports.h"
#include "tracer/rt_priority.h"
#include "tracer/stopping.h"
#include "tracer/syscall_resume.h"
#include "tracer/tracer.h"

/* ---- tasks that make remainders of system calls ---- */

static void make_remainder(struct task *k) {
    k->cut.remainder = REMAINDER_MADE;
    task_set_running(k);
    thread_continue_to_syscall(k->tid, 0);
}

/* K has come back from the call: stops it where remote calls can be made. */
static void end_remainder(struct task *k) {
    syscall_resume_end(k);
    if (k->cut.is_cut && !status_signal_pending(k->tid) && syscall_resume_remainder(k)) {
        make_remainder(k);
        return;
    }
    k->cut.remainder = REMAINDER_OVER;
    task_set_running(k);
    thread_interrupt(k->tid);
    thread_continue(k->tid, 0);
}

/* K, which was making a remainder, has stopped. Returns whether it still makes one. */
static bool still_makes_remainder(struct task *k) {
    struct thread_syscall_stop call;
    if (k->cut.remainder == REMAINDER_MADE && k->stop.kind == STOP_SYSCALL) {
        if (thread_at_syscall(k->tid, &call))
            make_remainder(k);
        else
            end_remainder(k);
        return true;
    }
    if (k->cut.remainder == REMAINDER_MADE && syscall_resume_remainder(k)) {
        make_remainder(k);
        return true;
    }
    k->cut.remainder = REMAINDER_NONE;
    return false;
}

static bool handle_remainders(struct tracer *t, const struct space *space) {
    size_t left = 0;
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        left += k->space == space && k->cut.remainder != REMAINDER_NONE &&
                (k->state != TASK_STOPPED || still_makes_remainder(k));
    for (struct task *k = tasks_next(&t->tasks, NULL), *next; k && left; k = next) {
        next = tasks_next(&t->tasks, k);
        if (k->space != space || k->state != TASK_STOPPED || k->cut.remainder != REMAINDER_NONE)
            continue;
        lane_lookup_unassign(k->space, k->tid);
        detach_task(t, k, 0);
    }
    return left;
}

static bool makes_remainder(const struct task *k, const struct space *space) {
    return k->space == space && k->state != TASK_STOPPED && k->cut.remainder == REMAINDER_MADE &&
           !status_has_ended(k->tid);
}

static void warn(const struct tracer *t, const struct task *k, const char *what) {
    AUTO_FREE char *text = mem_printf("process %d: thread %d %s", k->pid, k->tid, what);
    report_warn(&options_of(t)->report, text);
}

/* Whether a remainder has progressed since the last call. REPORTED: the user knows of
 * remainders. */
static bool have_progressed(const struct tracer *t, const struct space *space, bool reported) {
    bool any = false;
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k)) {
        if (!makes_remainder(k, space))
            continue;
        uint64_t before = k->cut.switches;
        k->cut.switches = status_switches(k->tid);
        if (k->cut.switches == before && !status_is_runnable(k->tid))
            continue;
        if (!reported)
            warn(t, k,
                 "has not yet sent or received all of its data: "
                 "spoor waits for that; ^C lets the system call end early");
        any = true;
    }
    return any;
}

/* SPACE is stopped, and all other tasks are detached. Tasks whose calls were cut short make the
 * remainder, and are detached when they come back, except the last, which stays stopped. Waits as
 * long as they progress, unless the user asks spoor once more to end. */
static void await_remainders(struct tracer *t, const struct space *space) {
    for (struct task *k = NULL; (k = tasks_next_in(&t->tasks, k, space));)
        if (k->state == TASK_STOPPED && syscall_resume_remainder(k)) {
            k->cut.switches = status_switches(k->tid);
            make_remainder(k);
        }
    for (bool reported = false;
         reports_await_while(t, handle_remainders, space) && have_progressed(t, space, reported);)
        reported = true;
    for (const struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (makes_remainder(k, space))
            warn(t, k,
                 "has not yet sent or received all of its data: "
                 "as spoor leaves, the system call ends early");
}

/* ---- one space after the other ---- */

static struct task *find_in_space(const struct tracer *t) {
    struct task *k = tasks_next(&t->tasks, NULL);
    while (k && !k->space)
        k = tasks_next(&t->tasks, k);
    return k;
}

static void note_pause(struct tracer *t, uint64_t ns) {
    if (ns > t->pauses.leave_ns)
        t->pauses.leave_ns = ns;
}

static bool has_cut(const struct tracer *t, const struct space *space) {
    for (struct task *k = NULL; (k = tasks_next_in(&t->tasks, k, space));)
        if (k->state == TASK_STOPPED && k->cut.is_cut)
            return true;
    return false;
}

/* SPACE's text is restored: returns whether all threads have left its trampolines. */
static bool have_threads_left(const struct tracer *t, struct space *space) {
    detach_settle_all(t, space, true);
    for (size_t i = 0; i < space->modules.count; i++)
        if (space->modules.at[i].kept)
            return false;
    return true;
}

/* If the second stop of SPACE has cut calls short, detaches all other tasks, and returns true. What
 * these calls need of spoor stays until they have ended. */
static bool detach_others(struct tracer *t, struct space *space) {
    stop_space_with_caller(t, space);
    if (space->state != SPACE_LEAVING || !has_cut(t, space) || !have_threads_left(t, space))
        return false;
    for (struct task *k = tasks_next(&t->tasks, NULL), *next; k; k = next) {
        next = tasks_next(&t->tasks, k);
        if (k->space != space || k->state != TASK_STOPPED || k->cut.is_cut)
            continue;
        lane_lookup_unassign(space, k->tid);
        detach_task(t, k, 0);
    }
    return true;
}

static void leave_in_two_stops(struct tracer *t, struct space *space) {
    struct rt_priority priority;
    const uint64_t stood_ns = repatch_undo(t, space);
    note_pause(t, stood_ns);
    if (stood_ns) { /* it runs in between: else both stops would be one for it */
        reports_wait_ms();
        reports_handle(t);
    }
    rt_priority_raise(&priority);
    uint64_t begin = timing_now().ns;
    if (detach_others(t, space)) {
        note_pause(t, timing_now().ns - begin);
        begin = timing_now().ns;
        await_remainders(t, space);
        t->leave_ns += timing_now().ns - begin;
        begin = timing_now().ns;
    }
    stop_space_with_caller(t, space);
    detach_stopped(t, space, NULL);
    note_pause(t, timing_now().ns - begin);
    rt_priority_restore(&priority);
}

void tracer_release_all(struct tracer *t) {
    const struct task *first = find_in_space(t);
    t->leave_ns = timing_now().ns + LEAVE_PATIENCE_S * UINT64_C(1000000000);
    if (first)
        pages_prefetch(first->space); /* its children map mostly the same files */
    for (struct task *k; (k = find_in_space(t));) {
        struct space *space = space_ref(k->space);
        leave_in_two_stops(t, space);
        space_unref(space);
    }
    await_detachments(t);
    for (struct task *k = tasks_next(&t->tasks, NULL), *next; k; k = next) {
        next = tasks_next(&t->tasks, k);
        if (!k->leaving)
            lifecycle_forget(t, k); /* it holds nothing of spoor */
    }
}
