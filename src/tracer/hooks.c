/*
 * Serves threads that wait in the agent: in the dynamic linker's hook, because modules have
 * changed; at a guard, because text is about to; or for a lane, because their thread pointer has.
 */
#include "patch/access.h"
#include "patch/itimers.h"
#include "patch/lane_guard.h"
#include "patch/loader_state.h"
#include "patch/modules.h"
#include "target/proc_memo.h"
#include "target/status.h"
#include "tracer/detach.h"
#include "tracer/gs_conflict.h"
#include "tracer/program_start.h"
#include "tracer/read_faults.h"
#include "tracer/seizing.h"
#include "tracer/stopping.h"
#include "tracer/text_changes.h"
#include "tracer/tracer.h"
#include "tracer/traps.h"

static struct task *find_hooked(const struct tracer *t) {
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (k->lane && !k->lane->unread && __atomic_load_n(&k->lane->lane->hook, __ATOMIC_ACQUIRE))
            return k;
    return NULL;
}

/* SPACE, stopped, may have loaded code that uses the lanes' register (POSSIBLE): it is watched, or
 * (*RET_LEAVE) detached at once. */
static void look_for_gs_conflict(struct tracer *t, const struct space *space, bool possible,
                                 bool *ret_leave) {
    struct err err = {0};
    *ret_leave = gs_conflict_check_code(space, &err) < 0;
    if (*ret_leave)
        tracer_warn(t, space->pid, &err);
    for (struct task *k = NULL; (k = tasks_next_in(&t->tasks, k, space));)
        k->watched |= possible;
}

/* TID, of SPACE, stopped, is about to run a function that may set the lanes' register. */
static void leave_at_lane_guard(struct tracer *t, struct space *space, pid_t tid) {
    struct err err = {0};
    gs_conflict_describe(space->pid, &err);
    tracer_warn(t, tid, &err);
    leave_space(t, space);
}

/*
 * TASK waits in the hook, and the linker has not changed its list yet: lets it go on, without a
 * stop. Returns whether it does. Waits at guards look alike, but a program's first wait is that of
 * the hook, before the linker maps the libraries (glibc). Not where timers are to be postponed.
 */
static bool release_early(struct tracer *t, const struct task *task) {
    struct space *s = task->space;
    bool first = s && s->begins;
    first ? program_start_note(t, task->pid) : program_start_end(t, task->pid);
    if (!first)
        return false;
    s->begins = false;
    if (s->itimers.stops || !loader_state_is_changing(s, task->tid))
        return false;
    lane_handle_end_wait(task->lane, PAUSE_DLOPEN);
    __atomic_store_n(&task->lane->lane->hook, 0, __ATOMIC_RELEASE);
    return true;
}

/* TASK, of SPACE, stopped, waits: serves it if that is at a guard. */
static bool serve_guards(struct tracer *t, struct space *space, struct task *task) {
    struct guard_call call;
    if (guard_waits(space, task->tid, &call)) {
        if (!text_changes_serve(t, space, task, &call))
            leave_at_lane_guard(t, space, task->tid);
        return true;
    }
    if (!lane_guard_waits(space, task->tid))
        return false;
    leave_at_lane_guard(t, space, task->tid);
    return true;
}

/* CALLER, of SPACE, stopped, may make calls: patches what is mapped now. Returns whether the space
 * must be left. */
static bool follow_modules(struct tracer *t, struct space *space, pid_t caller,
                           const struct itimers_stand *stand) {
    struct err err = {0};
    bool leave;
    proc_memo_begin(caller);
    bool gained = access_gain(space, caller);
    const bool possible = gs_conflict_is_possible(cache_of(t), space->pid);
    if (space_update(&t->options.context, space, caller, &err) < 0)
        tracer_warn(t, caller, &err);
    traps_read_action(t, space, caller);
    read_faults_note(t, space, caller);
    look_for_gs_conflict(t, space, possible, &leave);
    itimers_postpone(space, caller, stand);
    if (gained)
        access_give_back(space, caller);
    proc_memo_end();
    return leave;
}

/* TID waits in the linker's hook, or at a guard: serves it. False: it still waits, as it is at a
 * signal-delivery-stop; the signal is delivered first. */
static bool handle_hook(struct tracer *t, pid_t tid) {
    const struct task *asker = tasks_find(&t->tasks, tid);
    struct space *space = space_ref(asker->space);
    struct lane_handle *handle = asker->lane;
    const struct itimers_stand stand = itimers_stand_since_now(asker->pid);
    stop_space(t, space);
    struct task *task = tasks_find(&t->tasks, tid);
    bool still_there = task && task->lane == handle;
    if (still_there && serve_guards(t, space, task)) {
        space_unref(space);
        return true;
    }
    bool may_call = still_there && task_may_call(task);
    const bool leave = may_call && follow_modules(t, space, unsandboxed_caller(t, task), &stand);
    if (may_call)
        task_pause_release(task);
    if (leave)
        leave_space(t, space);
    else
        resume_changed_space(t, space, PAUSE_DLOPEN);
    space_unref(space);
    return may_call || !still_there;
}

/* Whether a stopped task of SPACE waits in the agent. */
static bool has_waiter(const struct tracer *t, const struct space *space) {
    struct regs regs;
    for (struct task *k = NULL; (k = tasks_next_stopped(&t->tasks, k, space));) {
        if (thread_get_regs(k->tid, &regs) < 0)
            continue;
        const struct patched *p = space_area_at(space, regs_pc(&regs));
        if (p && regs_agent_place(&regs, p->area) != AGENT_OUTSIDE)
            return true;
    }
    return false;
}

/* Stops SPACE. A vfork parent cannot be stopped before its child ends; the child may be untraced,
 * and wait for a lane itself. */
static void stop_askers(struct tracer *t, struct space *space) {
    enum { PATIENCE_MS = 20 };
    struct untraced untraced = {.join = true};
    if (!stop_space_within(t, space, PATIENCE_MS) && status_is_in_vfork(find_unstopped(t, space)))
        seizing_find_untraced(t, space, &untraced);
    sharing_done(&untraced.sharing);
    stop_space(t, space);
}

/* Threads of SPACE have changed their thread pointers, or their stacks if these tell them apart.
 * They wait, as their lanes are found by these. Returns whether a waiting thread was seen. */
static bool handle_asking(struct tracer *t, struct space *space) {
    space_ref(space);
    stop_askers(t, space);
    bool any = has_waiter(t, space);
    for (struct task *k = NULL; (k = tasks_next_stopped(&t->tasks, k, space));) {
        if (!k->lane)
            continue;
        lane_lookup_give(space, k->tid, k->lane->at);
        k->mark = lane_lookup_mark(k->tid);
    }
    lane_lookup_tell_apart(space);
    lane_lookup_is_requested(space); /* requests up to now are done */
    resume_changed_space(t, space, PAUSE_START);
    space_unref(space);
    return any;
}

/* No known task made the request: looks for untraced tasks that share this memory. */
static void look_for_asker(struct tracer *t, struct space *space) {
    struct untraced untraced = {.join = true};
    if (seizing_find_untraced(t, space, &untraced))
        handle_asking(t, space);
    sharing_done(&untraced.sharing);
}

static bool is_among(struct space *const *spaces, size_t count, const struct space *space) {
    for (size_t i = 0; i < count; i++)
        if (spaces[i] == space)
            return true;
    return false;
}

/* Forked spaces share the request flag with their parents: handles all of these. */
static void handle_askers(struct tracer *t) {
    ARRAY(struct space *) asking = {0};
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k)) {
        if (!k->space || !k->space->slabs.count || !lane_lookup_is_requested(k->space))
            continue;
        for (struct task *o = tasks_next(&t->tasks, NULL); o; o = tasks_next(&t->tasks, o))
            if (o->space && space_sink(o->space) == space_sink(k->space) &&
                !is_among(asking.at, asking.count, o->space))
                ARRAY_PUSH(&asking, space_ref(o->space));
    }
    bool any = false;
    for (size_t i = 0; i < asking.count; i++)
        any |= handle_asking(t, asking.at[i]);
    for (size_t i = 0; i < asking.count; i++) {
        if (!any)
            look_for_asker(t, asking.at[i]);
        space_unref(asking.at[i]);
    }
    ARRAY_FREE(&asking);
}

void tracer_handle_hooks(struct tracer *t) {
    handle_askers(t);
    for (const struct task *k;
         (k = find_hooked(t)) && (release_early(t, k) || handle_hook(t, k->tid));)
        ;
}
