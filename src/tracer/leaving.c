/*
 * The end of tracing: every space is left in two stops. In the first its text becomes the program's
 * own again; in the second the rest of spoor is unmapped, and the tasks are detached.
 */
#include "patch/pages.h"
#include "target/timing.h"
#include "tracer/await_remainders.h"
#include "tracer/detach.h"
#include "tracer/lifecycle.h"
#include "tracer/repatch.h"
#include "tracer/reports.h"
#include "tracer/rt_priority.h"
#include "tracer/stopping.h"
#include "tracer/tracer.h"

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

/* No thread comes to a trampoline of SPACE any more: whether all threads have left them. */
static bool is_out(const struct tracer *t, struct space *space) {
    detach_settle_all(t, space, true);
    for (size_t i = 0; i < space->modules.count; i++)
        if (space->modules.at[i].kept)
            return false;
    return true;
}

/* If the second stop of SPACE has cut calls short, detaches all other tasks. What these calls need
 * of spoor stays until they have ended. Returns whether so. */
static bool detach_others(struct tracer *t, struct space *space) {
    stop_space_with_caller(t, space);
    if (space->state != SPACE_LEAVING || !has_cut(t, space) || !is_out(t, space))
        return false;
    for (struct task *k = tasks_next(&t->tasks, NULL), *next; k; k = next) {
        next = tasks_next(&t->tasks, k);
        if (k->space != space || k->state != TASK_STOPPED || k->cut.is_cut)
            continue;
        keys_take_back(space, k->tid);
        detach_task(t, k, 0);
    }
    return true;
}

static void leave_in_two_stops(struct tracer *t, struct space *space) {
    struct rt_priority priority;
    note_pause(t, repatch_undo(t, space));
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
        pages_foresee(first->space); /* its children have mapped mostly the same files */
    for (struct task *k; (k = find_in_space(t));) {
        struct space *space = space_ref(k->space);
        leave_in_two_stops(t, space);
        space_unref(space);
    }
    await_leavers(t);
    for (struct task *k = tasks_next(&t->tasks, NULL), *next; k; k = next) {
        next = tasks_next(&t->tasks, k);
        if (!k->leaving)
            lifecycle_forget(t, k); /* nothing of spoor is in it */
    }
}
