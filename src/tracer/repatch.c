/* Changes the patches of stale spaces, each in one stop. */
#include "tracer/repatch.h"

#include <errno.h>

#include "arch/clock.h"
#include "patch/lane_guard.h"
#include "patch/modules.h"
#include "patch/patcher.h"
#include "patch/permits.h"
#include "patch/settle.h"
#include "patch/unpatch.h"
#include "ring/kept_calls.h"
#include "target/timing.h"
#include "tracer/detach.h"
#include "tracer/goroutines.h"
#include "tracer/gs_conflict.h"
#include "tracer/kept_signals.h"
#include "tracer/read_faults.h"
#include "tracer/reports.h"
#include "tracer/rt_priority.h"
#include "tracer/seizing.h"
#include "tracer/stopping.h"
#include "tracer/trace_changes.h"
#include "tracer/tracer.h"
#include "tracer/traps.h"

enum { PATIENCE_MS = 1000, MOST_TRIES = 1000 /* of a ms each */ };

static bool is_stale(const struct tracer *t, const struct space *s) {
    const struct space_context *ctx = &t->options.context;
    if (!s->agent || s->state == SPACE_GIVEN_UP || s->state == SPACE_LEAVING)
        return false;
    return ctx->paused ? !space_is_unpatched(s) : space_is_unpatched(s) || s->filter != ctx->filter;
}

/* A task of a stale space that can be changed now; *RET_ANY: there are stale spaces. */
static struct task *find_stale(const struct tracer *t, bool *ret_any) {
    *ret_any = false;
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k)) {
        if (!k->space || !is_stale(t, k->space))
            continue;
        *ret_any = true;
        if (task_is_ready(k) && k->state != TASK_EXITING && !k->space->borrowed &&
            !k->space->stopping)
            return k;
    }
    return NULL;
}

/* ---- one space ---- */

static int busy(const struct space *space, struct err *err) {
    if (space->unlisted)
        return seizing_unlisted(space->pid, space->unlisted, err);
    return err_set(err, EBUSY, "busy", "process %d: cannot be stopped now: it is changed later",
                   space->pid);
}

/* Stops SPACE, and untraced tasks that share its memory. */
static bool stop_all(struct tracer *t, struct space *space, struct untraced *untraced) {
    enum { MOST_LOOKS = 100 };
    bool all = stop_space_within(t, space, PATIENCE_MS);
    for (int i = 0; i < MOST_LOOKS && seizing_find_untraced(t, space, untraced); i++)
        all = stop_space_within(t, space, PATIENCE_MS);
    return all && !space->unlisted;
}

/* Stops SPACE and UNTRACED, which was searched for before. Returns a task that may make remote
 * calls; NULL: SPACE runs on. */
static struct task *stop_for_change(struct tracer *t, struct space *space,
                                    struct untraced *untraced, struct err *err) {
    struct task *caller = NULL;
    if (stop_all(t, space, untraced))
        caller = stop_space_with_caller(t, space);
    if (!caller) {
        busy(space, err);
        resume_changed_space(t, space, t->change_cause);
    }
    return caller;
}

/* The text is restored: moves all threads out of trampolines. False: one cannot be moved. */
static bool move_out(const struct tracer *t, const struct space *space) {
    bool all = true;
    for (struct task *k = NULL; (k = tasks_next_stopped(&t->tasks, k, space));) {
        enum settled settled = SETTLED_OUTSIDE;
        int rc = settle_out(space, k->tid, k->lane, &settled);
        all &= rc == -ESRCH || (rc == 0 && settled == SETTLED_OUTSIDE);
        kept_signals_restore_ignore(k);
        kept_signals_forget(k);
    }
    return all;
}

/* Writes that from now on the open calls of threads are unknown. */
static void end_calls(const struct tracer *t, const struct space *space) {
    uint64_t ticks = clock_ticks();
    for (struct task *k = NULL; (k = tasks_next_in(&t->tasks, k, space));)
        if (k->lane && !k->lane->unread)
            drain_frames(t->options.drain, k->lane,
                         &(struct trace_frames){.stream = k->stream, .ticks = ticks});
}

static int replace(struct tracer *t, struct space *space, pid_t caller, struct err *err) {
    const unsigned purposes = PERMIT_CODE | PERMIT_LEAVE;
    if (permits_check(space, caller, purposes, "what it runs is left untraced from now on", err) <
        0) {
        tracer_warn(t, caller, err);
        *err = (struct err){0};
        return space_give_up(space, caller, err);
    }
    return space_replace(&t->options.context, space, caller, err);
}

static void copy_stacks(const struct tracer *t, const struct space *space,
                        struct open_frames *frames) {
    for (struct task *k = NULL; (k = tasks_next_stopped(&t->tasks, k, space));)
        open_frames_copy(frames, k->tid);
}

static void set_streams(const struct tracer *t, const struct space *space,
                        struct open_frames *frames) {
    open_frames_set_time(frames);
    for (struct task *k = NULL; (k = tasks_next_in(&t->tasks, k, space));)
        if (task_is_ready(k) && k->lane && k->state != TASK_STOPPED)
            task_set_stage(k, TASK_LATE);
        else if (k->lane && !k->lane->unread) {
            kept_calls_all(k->lane);
            open_frames_set_stream(frames, k->tid, k->stream, k->lane);
        }
}

/* All tasks of SPACE, which has MAPS, are stopped, and about to be patched: adds their
 * positions. */
static void gather_positions(const struct tracer *t, const struct space *space,
                             const struct maps *maps, struct thread_positions *ret) {
    const struct tasks *tasks = &t->tasks;
    for (struct task *k = NULL; (k = tasks_next_in(tasks, k, space));)
        if (k->vfork_child || (k->state == TASK_STOPPED && !task_is_at_exec(k)))
            thread_positions_add(ret, space->remote.memory_fd, maps, k->tid);
    parked_sigframes_collect(space->parked, space->remote.memory_fd, &ret->parked);
    goroutines_find(space, ret);
}

void repatch_look(const struct tracer *t, const struct space *space, struct open_frames *frames,
                  struct thread_positions *ret) {
    copy_stacks(t, space, frames);
    gather_positions(t, space, open_frames_maps(frames), ret);
}

/* Whether options judge each event as it comes. */
static bool judges_events(const struct tracer *t) {
    return options_of(t)->depth || options_of(t)->threshold_ns;
}

void repatch_set_streams(const struct tracer *t, const struct space *space,
                         struct open_frames *frames) {
    set_streams(t, space, frames);
    if (judges_events(t))
        open_frames_write(frames, t->options.drain);
}

void repatch_write_calls(const struct tracer *t, struct open_frames *frames) {
    if (!judges_events(t))
        open_frames_write(frames, t->options.drain);
}

/* Their space is patched: writes the goroutines' stacks to the trace. */
static void write_goroutines(const struct tracer *t, const struct space *space,
                             const struct thread_positions *positions) {
    const struct tasks *tasks = &t->tasks;
    for (struct task *k = NULL; (k = tasks_next_in(tasks, k, space));)
        if (k->lane && !k->lane->unread) {
            goroutines_write(space, positions, k->lane, options_of(t)->overflow);
            return;
        }
}

/* SPACE is unpatched: whether its program uses the lanes' register, or is about to. */
static bool has_lane_conflict(const struct tracer *t, struct space *space,
                              const struct open_frames *frames,
                              const struct thread_positions *positions) {
    if (gs_conflict_is_entered(space, open_frames_maps(frames), positions))
        space->lane_conflict = LANE_CONFLICT_PLACE;
    for (struct task *k = NULL;
         lane_guards_exist(space) && (k = tasks_next_stopped(&t->tasks, k, space));)
        if (k->lane && !task_is_at_exec(k) && lane_lookup_is_taken(space, k->tid))
            space->lane_conflict = LANE_CONFLICT_VALUE;
    return space->lane_conflict;
}

/* SPACE is unpatched, and its threads are in the program's own code: patches it. */
static int patch_stopped(struct tracer *t, struct space *space, pid_t caller,
                         struct open_frames *frames, struct err *err) {
    const struct space_context *ctx = &t->options.context;
    struct thread_positions positions = {.pcs = {0}};
    repatch_look(t, space, frames, &positions);
    if (has_lane_conflict(t, space, frames, &positions)) {
        thread_positions_done(&positions);
        return space_give_up(space, caller, err);
    }
    space->positions = &positions;
    int rc = space->filter != ctx->filter ? replace(t, space, caller, err)
                                          : space_repatch(ctx, space, caller, err);
    space->positions = NULL;
    write_goroutines(t, space, &positions);
    thread_positions_done(&positions);
    traps_read_action(t, space, caller);
    read_faults_note(t, space, caller);
    repatch_set_streams(t, space, frames);
    return rc;
}

/* All tasks of SPACE are stopped; CALLER may make remote calls. FRAMES: NULL if nothing is to be
 * patched. */
static int change_stopped(struct tracer *t, struct space *space, pid_t caller,
                          struct open_frames *frames, struct err *err) {
    settle_off_ways(t, space);
    int rc = space_is_unpatched(space) ? 0 : space_unpatch(space, caller, err);
    if (rc < 0)
        return rc;
    if (!move_out(t, space))
        return busy(space, err);
    if (frames)
        return patch_stopped(t, space, caller, frames, err);
    end_calls(t, space);
    return 0;
}

/* A thread may have ended without being reported yet: tries all, main threads first, which hardly
 * ever end before the others. */
void repatch_prepare(struct tracer *t, struct space *space) {
    for (int others = 0; others < 2; others++)
        for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k)) {
            bool first = k->tid == k->pid && k->state != TASK_EXITING;
            if (k->space == space && task_is_ready(k) && first == !others &&
                space_prepare_anew(&t->options.context, space, k->tid, NULL) == 0)
                return;
        }
}

/* Does what can be done before SPACE is stopped. */
static void prepare(struct tracer *t, struct space *space, pid_t tid) {
    const struct space_context *ctx = &t->options.context;
    if (ctx->paused)
        return;
    if (space->filter == ctx->filter) {
        space_prepare(ctx, space, tid, NULL);
    } else if (!space->prepared.count) {
        repatch_prepare(t, space);
        space_write_prepared(ctx, space);
    }
}

/* SPACE, stopped, has been changed: leaves it if its program uses the lanes' register. Returns
 * whether it does. */
static bool leave_if_conflict(struct tracer *t, struct space *space) {
    struct err err = {0};
    if (space_is_paused(space) ? !space->lane_conflict : gs_conflict_check_code(space, &err) == 0)
        return false;
    gs_conflict_check_code(space, &err);
    tracer_warn(t, space->pid, &err);
    leave_space(t, space);
    return true;
}

/* Changes TASK's space. Raises *RET_NS to the time for which the space was stopped. */
static int change_space(struct tracer *t, struct task *task, uint64_t *ret_ns, struct err *err) {
    struct space *space = space_ref(task->space);
    prepare(t, space, task->tid);
    struct open_frames *frames = t->options.context.paused ? NULL : open_frames_new(space);
    if (frames)
        stopping_find_parked(t, space);
    struct untraced untraced = {.join = true};
    seizing_find_untraced(t, space, &untraced);
    struct rt_priority priority;
    rt_priority_raise(&priority);
    uint64_t begin = timing_now().ns;
    const struct task *caller = stop_for_change(t, space, &untraced, err);
    int rc = -EBUSY;
    if (caller) {
        bool was_unpatched = space_is_unpatched(space), comes = space->state == SPACE_COMING;
        uint64_t ticks = clock_ticks(); /* no later than any call found open */
        rc = change_stopped(t, space, caller->tid, frames, err);
        if (space_is_unpatched(space) != was_unpatched && !comes)
            trace_changes_space(t, space, space_is_unpatched(space) ? TRACE_PAUSED : TRACE_RESUMED,
                                space_is_unpatched(space) ? clock_ticks() : ticks);
        bool leave = !comes && leave_if_conflict(t, space);
        if (!leave)
            resume_changed_space(t, space, t->change_cause);
    }
    uint64_t stood = timing_now().ns - begin;
    rt_priority_restore(&priority);
    sharing_done(&untraced.sharing);
    parked_sigframes_forget(&space->parked);
    if (ret_ns && stood > *ret_ns)
        *ret_ns = stood;
    if (frames && rc != -EBUSY)
        repatch_write_calls(t, frames);
    open_frames_free(frames);
    space_unref(space);
    return rc;
}

/* ---- all spaces ---- */

int repatch_all(struct tracer *t, uint64_t *ret_ns, struct err *err) {
    bool any = true;
    struct err why = {0};
    for (int i = 0; any && i < MOST_TRIES;) {
        struct task *task = find_stale(t, &any);
        int rc = task ? change_space(t, task, ret_ns, &why) : 0;
        if (rc == 0 && task)
            continue;
        if (any)
            reports_wait_ms();
        i += rc == -EBUSY ? 100 : 1;
        reports_handle(t);
    }
    t->stale = any;
    if (!any)
        return 0;
    return why.code ? (*err = why, -EBUSY)
                    : err_set(err, EBUSY, "busy",
                              "a process that has just been created cannot be changed yet: it is "
                              "changed later");
}

/* A space that cannot be stopped soon is detached in one stop (leaving.c). */
uint64_t repatch_undo(struct tracer *t, struct space *space) {
    struct untraced untraced = {.join = false};
    struct rt_priority priority;
    struct err err = {0};
    if (!space->agent || (space_is_unpatched(space) && !space_is_paused(space)))
        return 0;
    seizing_find_untraced(t, space, &untraced);
    rt_priority_raise(&priority);
    uint64_t begin = timing_now().ns;
    const struct task *caller = stop_for_change(t, space, &untraced, &err);
    if (caller) {
        settle_off_ways(t, space);
        if (space_unpatch_for_good(space, caller->tid, &err) == 0)
            move_out(t, space);
        resume_changed_space(t, space, PAUSE_FILTER);
    }
    uint64_t stood = timing_now().ns - begin;
    rt_priority_restore(&priority);
    sharing_done(&untraced.sharing);
    return stood;
}

void tracer_catch_up(struct tracer *t) {
    struct err err = {0};
    bool any;
    if (!t->stale)
        return;
    struct task *task = find_stale(t, &any);
    pid_t tid = task ? task->tid : 0;
    t->stale = any;
    if (task && change_space(t, task, NULL, &err) < 0 && err.code != EBUSY)
        tracer_warn(t, tid, &err);
}
