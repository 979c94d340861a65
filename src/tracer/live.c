/*
 * What is patched, changed while programs run: nothing for a while (pause), the same again, or
 * other functions (a new filter).
 *
 * What is wanted is noted in the context that all spaces are made by, so that those which begin
 * from now on (exec) are right from the start; the others are stale, and follow one by one. One
 * that has just been forked is a copy of its maker's, of that moment: it follows when its first
 * stop has been answered. What takes long (loading, planning, emitting) is done while the space
 * runs; while it stands, threads are moved out of trampolines, text is written, and threads are
 * moved in.
 *
 * Between two sets of patches nothing tells what calls have ended. So each thread's calls end, for
 * the trace, where its patches do, but for those that its stack shows to be open when it gets
 * others (frames.h), which go on or have begun before.
 */
#include <errno.h>
#include <signal.h>
#include <time.h>

#include "arch/clock.h"
#include "patch/arrival.h"
#include "patch/breakpoints.h"
#include "patch/modules.h"
#include "patch/patcher.h"
#include "patch/permits.h"
#include "patch/settle.h"
#include "patch/unpatch.h"
#include "target/timing.h"
#include "tracer/frames.h"
#include "tracer/haste.h"
#include "tracer/tracer_parts.h"

enum { PATIENCE_MS = 1000, MOST_TRIES = 1000 /* of a ms each */, EXEC_NS = 20000000 };

static struct space_context *context_of(struct tracer *t) { return &t->options.context; }

static bool is_stale(const struct tracer *t, const struct space *s) {
    const struct space_context *ctx = &t->options.context;
    if (!s->agent || s->state == SPACE_GIVEN_UP || s->state == SPACE_LEAVING)
        return false;
    bool lifted = space_is_lifted(s);
    return ctx->paused ? !lifted : lifted || s->filter != ctx->filter;
}

/* A task of a stale space that is ready to be changed; *RET_ANY: there are stale ones at all. */
static struct task *find_stale(const struct tracer *t, bool *ret_any) {
    *ret_any = false;
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k)) {
        if (!k->space || !is_stale(t, k->space))
            continue;
        *ret_any = true;
        if (k->ready && !k->exiting && !k->space->borrowed && !k->space->stopping)
            return k;
    }
    return NULL;
}

/* ---- one space ---- */

static int busy(const struct space *space, struct err *err) {
    return err_set(err, EBUSY, "busy",
                   "process %d: cannot be stopped where it is now: it follows when it can",
                   space->pid);
}

/* Stops SPACE, and those that share its memory without our having been told. */
static bool stop_all(struct tracer *t, struct space *space, struct strays *strays) {
    enum { MOST_LOOKS = 100 };
    bool all = stop_space_within(t, space, PATIENCE_MS);
    for (int i = 0; i < MOST_LOOKS && seizing_find_strays(t, space, strays); i++)
        all = stop_space_within(t, space, PATIENCE_MS);
    return all;
}

/* Stops SPACE, and STRAYS, which have been looked for; a task of it that may make remote calls, or
 * NULL: it runs on. */
static struct task *stand(struct tracer *t, struct space *space, struct strays *strays,
                          struct err *err) {
    struct task *caller = NULL;
    if (stop_all(t, space, strays))
        caller = stop_with_caller(t, space);
    if (!caller) {
        busy(space, err);
        resume_space(t, space);
    }
    return caller;
}

/* The text is the program's: moves all threads out of trampolines. False: one cannot be. */
static bool settle_space_out(const struct tracer *t, const struct space *space) {
    bool all = true;
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k)) {
        enum settled settled = SETTLED_OUTSIDE;
        if (!stands_in(k, space))
            continue;
        int rc = settle_out(space, k->tid, k->slot, &settled);
        all &= rc == -ESRCH || (rc == 0 && settled == SETTLED_OUTSIDE);
        traps_ignore_again(k);
        k->asks_action = false;
        k->call = 0;
    }
    return all;
}

/* From now on nothing is known of what threads had open. */
static void end_calls(const struct tracer *t, const struct space *space) {
    uint64_t ticks = clock_ticks();
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (k->space == space && k->slot && !k->slot->unread)
            drain_frames(t->options.drain, k->slot,
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
    return space_replace(context_of(t), space, caller, err);
}

static void copy_stacks(const struct tracer *t, const struct space *space, struct frames *frames) {
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (stands_in(k, space))
            frames_copy(frames, k->tid);
}

static void name_stacks(const struct tracer *t, const struct space *space, struct frames *frames) {
    frames_stand(frames);
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (k->space == space && k->ready && k->slot && !k->stopped)
            k->late = true;
        else if (k->space == space && k->slot && !k->slot->unread)
            frames_name(frames, k->tid, k->stream, k->slot);
}

/* SPACE is lifted, and its threads are in the program's own code. */
static int lay(struct tracer *t, struct space *space, pid_t caller, struct frames *frames,
               struct err *err) {
    const struct space_context *ctx = context_of(t);
    struct arrival arrival = {.pcs = {0}};
    copy_stacks(t, space, frames);
    gather_arrival(t, space, frames_maps(frames), &arrival);
    space->arrival = &arrival;
    int rc = space->filter != ctx->filter ? replace(t, space, caller, err)
                                          : space_lay(ctx, space, caller, err);
    space->arrival = NULL;
    tell_arrival(t, space, &arrival);
    arrival_done(&arrival);
    traps_arm(t, space, caller);
    name_stacks(t, space, frames);
    if (options_of(t)->depth || options_of(t)->threshold_ns) /* those judge events as they come */
        frames_tell(frames, t->options.drain);
    return rc;
}

/* All tasks of SPACE stand; CALLER may make remote calls. FRAMES: NULL if nothing is to be patched.
 */
static int change_standing(struct tracer *t, struct space *space, pid_t caller,
                           struct frames *frames, struct err *err) {
    settle_ways(t, space);
    int rc = space_is_lifted(space) ? 0 : space_lift(space, caller, err);
    if (rc < 0)
        return rc;
    if (!settle_space_out(t, space))
        return busy(space, err);
    if (frames)
        return lay(t, space, caller, frames, err);
    end_calls(t, space);
    return 0;
}

/* Prepares SPACE, which runs. Threads may have ended, and not be reported yet: the first hardly
 * ever, and of the others some thread tells what is mapped. */
static void prepare_anew(struct tracer *t, struct space *space) {
    for (int others = 0; others < 2; others++)
        for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k)) {
            bool first = k->tid == k->pid && !k->exiting;
            if (k->space == space && k->ready && first == !others &&
                space_prepare_anew(context_of(t), space, k->tid, NULL) == 0)
                return;
        }
}

/* What can be done before SPACE stops. */
static void prepare(struct tracer *t, struct space *space, pid_t tid) {
    const struct space_context *ctx = context_of(t);
    if (ctx->paused)
        return;
    if (space->filter == ctx->filter) {
        space_prepare(ctx, space, tid, NULL);
    } else if (!space->prepared.count) {
        prepare_anew(t, space);
        space_tell_prepared(ctx, space);
    }
}

/* TASK's space. Adds to *RET_NS for how long it stood, if that is longer. */
static int change(struct tracer *t, struct task *task, uint64_t *ret_ns, struct err *err) {
    struct space *space = space_ref(task->space);
    prepare(t, space, task->tid);
    struct frames *frames = context_of(t)->paused ? NULL : frames_new(space);
    if (frames)
        tracer_look_aside(t, space);
    struct strays strays = {.join = true};
    seizing_find_strays(t, space, &strays);
    struct haste haste;
    haste_begin(&haste);
    uint64_t begin = timing_now().ns;
    const struct task *caller = stand(t, space, &strays, err);
    int rc = -EBUSY;
    if (caller) {
        bool was_lifted = space_is_lifted(space), comes = space->state == SPACE_COMING;
        uint64_t ticks = clock_ticks(); /* no later than what is found open */
        rc = change_standing(t, space, caller->tid, frames, err);
        bool lifted = space_is_lifted(space);
        if (lifted != was_lifted && !comes)
            tell_change_of_space(t, space, lifted ? TRACE_PAUSED : TRACE_RESUMED,
                                 lifted ? clock_ticks() : ticks);
        resume_space(t, space);
    }
    uint64_t stood = timing_now().ns - begin;
    haste_end(&haste);
    sharing_done(&strays.sharing);
    aside_forget(&space->aside);
    if (ret_ns && stood > *ret_ns)
        *ret_ns = stood;
    if (frames && rc != -EBUSY && !options_of(t)->depth && !options_of(t)->threshold_ns)
        frames_tell(frames, t->options.drain);
    frames_free(frames);
    space_unref(space);
    return rc;
}

/* ---- all of them ---- */

static void nap(void) {
    const struct timespec ms = {.tv_nsec = 1000000};
    sigset_t reports;
    sigemptyset(&reports);
    sigaddset(&reports, SIGCHLD);
    sigtimedwait(&reports, NULL, &ms); /* they are blocked: the session's loop reads them */
}

int live_follow(struct tracer *t, uint64_t *ret_ns, struct err *err) {
    bool any = true;
    struct err why = {0};
    for (int i = 0; any && i < MOST_TRIES;) {
        struct task *task = find_stale(t, &any);
        int rc = task ? change(t, task, ret_ns, &why) : 0;
        if (rc == 0 && task)
            continue;
        if (any)
            nap();
        i += rc == -EBUSY ? 100 : 1;
        tracer_handle_reports(t);
    }
    t->stale = any;
    if (!any)
        return 0;
    return why.code ? (*err = why, -EBUSY)
                    : err_set(err, EBUSY, "busy",
                              "a process that has just been made cannot be changed yet: it follows "
                              "when it can");
}

/* Those that cannot be stopped soon are left in one go. */
uint64_t live_end(struct tracer *t, struct space *space) {
    struct strays strays = {.join = false};
    struct haste haste;
    struct err err = {0};
    if (!space->agent || (space_is_lifted(space) && !space_is_paused(space)))
        return 0;
    seizing_find_strays(t, space, &strays);
    haste_begin(&haste);
    uint64_t begin = timing_now().ns;
    const struct task *caller = stand(t, space, &strays, &err);
    if (caller) {
        settle_ways(t, space);
        if (space_lift_for_good(space, caller->tid, &err) == 0)
            settle_space_out(t, space);
        resume_space(t, space);
    }
    uint64_t stood = timing_now().ns - begin;
    haste_end(&haste);
    sharing_done(&strays.sharing);
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
    if (task && change(t, task, NULL, &err) < 0 && err.code != EBUSY)
        tracer_warn(t, tid, &err);
}

int tracer_pause(struct tracer *t, uint64_t *ret_ns, struct err *err) {
    *ret_ns = 0;
    context_of(t)->paused = true;
    return live_follow(t, ret_ns, err);
}

int tracer_go_on(struct tracer *t, uint64_t *ret_ns, struct err *err) {
    *ret_ns = 0;
    context_of(t)->paused = false;
    return live_follow(t, ret_ns, err);
}

bool tracer_paused(const struct tracer *t) { return t->options.context.paused; }

static void each_space(struct tracer *t, void (*visit)(struct tracer *, struct space *)) {
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k)) {
        bool first = k->space && k->space->agent && k->ready;
        for (struct task *b = tasks_next(&t->tasks, NULL); first && b != k;
             b = tasks_next(&t->tasks, b))
            first = b->space != k->space || !b->ready;
        if (first)
            visit(t, k->space);
    }
}

static void tell_prepared(struct tracer *t, struct space *space) {
    space_tell_prepared(context_of(t), space);
}

static void forget_prepared(struct tracer *t, struct space *space) {
    (void)t;
    space_forget_prepared(space);
}

static int check_choice(const struct tracer *t, struct err *err) {
    const struct catalog *catalog = t->options.context.catalog;
    int rc = catalog_check_matches(catalog, err);
    if (rc == 0 && !catalog_selected(catalog))
        return err_set(err, ENOENT, "no-match", "no function of what is loaded is chosen");
    return rc;
}

/* What FILTER chooses is prepared, unless that must wait for the end of a pause. On error nothing
 * has changed. */
static int try_choice(struct tracer *t, const struct filter *filter, struct err *err) {
    const struct space_context *ctx = context_of(t);
    catalog_choose(ctx->catalog, filter);
    each_space(t, prepare_anew);
    int rc = check_choice(t, err);
    if (rc < 0 || ctx->paused)
        each_space(t, forget_prepared);
    if (rc < 0)
        catalog_undo_choice(ctx->catalog);
    return rc;
}

/* While a process executes another program nothing is mapped in it: what matches nothing is tried
 * once more, and as long as that may take. */
int tracer_choose(struct tracer *t, const struct filter *filter, uint64_t *ret_ns,
                  struct err *err) {
    struct space_context *ctx = context_of(t);
    *ret_ns = 0;
    if (options_of(t)->libcalls)
        return err_set(err, ENOTSUP, "libcalls",
                       "with --libcalls the filter cannot be changed: record again");
    int rc = try_choice(t, filter, err);
    uint64_t begin = timing_now().ns;
    for (int i = 0; rc < 0 && (i == 0 || timing_now().ns - begin < EXEC_NS); i++) {
        nap();
        tracer_handle_reports(t);
        rc = try_choice(t, filter, err);
    }
    if (rc < 0)
        return rc;
    size_t added, removed;
    catalog_keep_choice(ctx->catalog, &added, &removed);
    tell_choice(t, filter, added, removed);
    ctx->filter++;
    each_space(t, tell_prepared);
    return live_follow(t, ret_ns, err);
}

size_t tracer_process_count(const struct tracer *t) {
    size_t count = 0;
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        count += k->tid == k->pid && k->space;
    return count;
}
