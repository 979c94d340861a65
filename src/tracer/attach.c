/*
 * Attaches to a running process: seizes it thread by thread, stops all of it, and maps what a
 * launched program gets before its first instruction. The process runs on while the areas are
 * filled. From then on it is like a paused process: it stops again to be patched (repatch.h). Each
 * of the two stops is about half as long as one for both would be.
 */
#include "patch/install.h"
#include "patch/modules.h"
#include "patch/space_lifecycle.h"
#include "patch/thread_positions.h"
#include "target/timing.h"
#include "tracer/detach.h"
#include "tracer/goroutines.h"
#include "tracer/gs_conflict.h"
#include "tracer/lifecycle.h"
#include "tracer/repatch.h"
#include "tracer/rt_priority.h"
#include "tracer/seizing.h"
#include "tracer/stopping.h"
#include "tracer/syscall_watch.h"
#include "tracer/task_lane.h"
#include "tracer/tracer.h"

static void prepare_task(const struct tracer *t, struct task *task, const struct task *first) {
    thread_watch_exit(task->tid, task->tid == task->pid);
    if (task == first)
        syscall_watch_decide(cache_of(t), task);
    task->watched = first->watched;
}

/* A map with a goroutine's stack is no thread's own stack. */
static void remove_goroutine_stacks(struct maps *maps, const struct thread_positions *positions) {
    for (size_t i = 0; i < positions->stacks.count; i++) {
        const struct map *m = maps_at(maps, positions->stacks.at[i].start);
        if (m)
            maps_remove(maps, m->start, m->end);
    }
}

static void give_lanes(const struct seizing *s, pid_t caller,
                       const struct thread_positions *positions) {
    struct tracer *t = s->tracer;
    struct task *first = NULL;
    struct maps maps = {0};
    maps_read(caller, &maps, NULL);
    remove_goroutine_stacks(&maps, positions);
    for (struct task *k = NULL; (k = tasks_next_in(&t->tasks, k, s->space));)
        if (k->state == TASK_STOPPED)
            lane_lookup_expect(s->space, k->tid);
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k)) {
        if (task_is_at_exec(k))
            continue;
        if (k->space != s->space || k->state != TASK_STOPPED) {
            if (k->space == s->space && task_is_ready(k) && k->state != TASK_EXITING)
                task_set_stage(k, TASK_LATE);
            continue;
        }
        if (!task_is_ready(
                k)) { /* answered later; the sink is for the case that spoor is killed before */
            lane_lookup_give_new(s->space, k->tid, space_sink(s->space), k->creator);
            continue;
        }
        first = first ? first : k;
        prepare_task(t, k, first);
        task_lane_join(t, k, &maps);
    }
    maps_done(&maps);
}

/* All threads are stopped: installs the agent, and gives them lanes. */
static int install(const struct seizing *s, struct err *err) {
    struct tracer *t = s->tracer;
    const struct task *caller = stop_space_with_caller(t, s->space);
    if (!caller)
        return seizing_busy(s, err);
    pid_t tid = caller->tid;
    int rc = space_install(&t->options.context, s->space, tid, err);
    if (rc < 0)
        return rc;
    struct thread_positions positions = {.pcs = {0}};
    goroutines_find(s->space, &positions);
    give_lanes(s, tid, &positions);
    thread_positions_done(&positions);
    space_map_prepared(s->space, tid);
    return 0;
}

int tracer_prepare(const struct tracer *t, pid_t pid, struct space **ret, struct err *err) {
    int rc = space_new_prepared(&t->options.context, pid, ret, err);
    return rc < 0 ? rc : gs_conflict_check_code(*ret, err);
}

/* Fails if a thread uses the register that holds its lane. */
static int check_lanes(const struct seizing *s, struct err *err) {
    const struct tasks *tasks = &s->tracer->tasks;
    int rc = 0;
    for (struct task *k = tasks_next(tasks, NULL); k && rc == 0; k = tasks_next(tasks, k))
        if (k->space == s->space)
            rc = gs_conflict_check_thread(k->tid, err);
    return rc;
}

/* Seizes and stops the process, and installs the agent. On error all of its threads are
 * detached. */
static int seize_and_install(struct seizing *s, struct err *err) {
    int rc = seizing_all(s, err);
    if (rc == 0)
        rc = check_lanes(s, err);
    if (rc == 0)
        rc = install(s, err);
    if (rc < 0)
        detach_stopped(s->tracer, s->space, NULL);
    else
        resume_changed_space(s->tracer, s->space, PAUSE_START);
    return rc;
}

/* The agent is installed. A process that cannot be stopped again now is patched later. */
static int patch(const struct seizing *s, uint64_t *ret_ns, struct err *err) {
    struct tracer *t = s->tracer;
    struct err later = {0};
    space_fill_areas(s->space);
    if (repatch_all(t, ret_ns, &later) < 0)
        tracer_warn(t, s->sharing.pid, &later);
    int rc = gs_conflict_check_code(s->space, err);
    if (rc < 0) {
        leave_space(t, s->space); /* other processes stay traced */
        await_detachments(t);
    }
    return rc;
}

int tracer_attach(struct tracer *t, struct space *space, pid_t pid, struct err *err) {
    struct seizing s = {.tracer = t, .space = space, .sharing.pid = pid};
    struct rt_priority priority;
    uint64_t patched_ns = 0;
    if (!t->adopted)
        t->adopted = pid;
    lifecycle_write_process(t, pid);
    syscall_watch_traces_others(pid); /* this and the next: looked up early, so that the answers are
                                         known when all threads are stopped */
    gs_conflict_is_possible(cache_of(t), pid);
    sharing_update(&s.sharing);
    rt_priority_raise(&priority);
    int rc = seize_and_install(&s, err);
    uint64_t stopped_ns = s.begun ? timing_now().ns - s.begun : 0;
    if (stopped_ns > t->pauses.attach_ns)
        t->pauses.attach_ns = stopped_ns;
    rt_priority_restore(&priority);
    if (rc == 0)
        rc = patch(&s, &patched_ns, err);
    if (patched_ns > t->pauses.attach_ns)
        t->pauses.attach_ns = patched_ns;
    sharing_done(&s.sharing);
    return rc;
}
