/* Tasks: the table of states, and a hash table by thread id. */
#include "tracer/task.h"

#include "patch/space_lifecycle.h"

#include <assert.h>

enum { BUCKETS = sizeof(((struct tasks *)0)->buckets) / sizeof(struct task *) };

/* ---- states ---- */

#define TO(state) (1u << TASK_##state)

/* The tables of task.h: by the state before, the set of states after. */
static const unsigned transitions[TASK_STATES] = {
    [TASK_RUNNING] = TO(STOPPED) | TO(EXITING) | TO(IN_VFORK) | TO(IN_UNINTERRUPTIBLE_WAIT),
    [TASK_IN_GROUP_STOP] = TO(STOPPED) | TO(EXITING) | TO(IN_UNINTERRUPTIBLE_WAIT),
    [TASK_IN_VFORK] = TO(STOPPED) | TO(EXITING) | TO(RUNNING),
    [TASK_IN_UNINTERRUPTIBLE_WAIT] = TO(STOPPED) | TO(EXITING),
    [TASK_STOPPED] = TO(STOPPED) | TO(EXITING) | TO(HELD) | TO(RUNNING) | TO(IN_VFORK),
    [TASK_HELD] = TO(STOPPED) | TO(EXITING) | TO(RUNNING) | TO(IN_VFORK) | TO(IN_GROUP_STOP),
    [TASK_EXITING] = TO(STOPPED) | TO(EXITING),
};

void task_set_state(struct task *task, enum task_state state) {
    assert(transitions[task->state] & 1u << state);
    task->state = state;
}

static const unsigned stage_transitions[TASK_STAGES] = {
    [TASK_UNKNOWN] = TO(NEWBORN) | TO(FORKED) | TO(READY) | TO(LATE),
    [TASK_NEWBORN] = TO(FORKED) | TO(READY),
    [TASK_FORKED] = TO(FORKED) | TO(READY),
    [TASK_READY] = TO(READY) | TO(LATE),
    [TASK_LATE] = TO(READY) | TO(LATE),
};

void task_set_stage(struct task *task, enum task_stage stage) {
    assert(stage_transitions[task->stage] & 1u << stage);
    task->stage = stage;
}

void task_set_running(struct task *task) {
    task_set_state(task, task->vfork_child ? TASK_IN_VFORK : TASK_RUNNING);
}

void task_set_vfork_child(struct task *task, pid_t child) {
    task->vfork_child = child;
    if (task->state == (child ? TASK_RUNNING : TASK_IN_VFORK))
        task_set_running(task);
}

void task_interrupt(struct task *task) {
    thread_note_wait(task->tid, &task->past);
    thread_interrupt(task->tid);
}

void task_inherit_space(struct task *child, struct space *space, bool shared) {
    if (shared) {
        child->space = space_ref(space);
        return;
    }
    if (!task_is_ready(child))
        task_set_stage(child, TASK_FORKED);
    if (!space->agent)
        return; /* its memory holds nothing of spoor */
    child->space = space_fork(space, child->tid, NULL);
    if (!child->space)
        child->sink = space_sink(space);
}

/* ---- the table ---- */

static size_t bucket_of(pid_t tid) { return (size_t)tid % BUCKETS; }

struct task *tasks_find(const struct tasks *tasks, pid_t tid) {
    struct task *t = tasks->buckets[bucket_of(tid)];
    while (t && t->tid != tid)
        t = t->next;
    return t;
}

struct task *tasks_add(struct tasks *tasks, pid_t tid) {
    struct task *t = mem_alloc(sizeof *t);
    struct task **head = &tasks->buckets[bucket_of(tid)];
    t->tid = tid;
    t->next = *head;
    *head = t;
    tasks->count++;
    return t;
}

void tasks_remove(struct tasks *tasks, struct task *task) {
    struct task **at = &tasks->buckets[bucket_of(task->tid)];
    while (*at != task)
        at = &(*at)->next;
    *at = task->next;
    tasks->count--;
    free(task->program);
    free(task);
}

struct task *tasks_next(const struct tasks *tasks, const struct task *after) {
    if (after && after->next)
        return after->next;
    for (size_t i = after ? bucket_of(after->tid) + 1 : 0; i < BUCKETS; i++)
        if (tasks->buckets[i])
            return tasks->buckets[i];
    return NULL;
}

struct task *tasks_next_in(const struct tasks *tasks, const struct task *after,
                           const struct space *space) {
    struct task *k = tasks_next(tasks, after);
    while (k && k->space != space)
        k = tasks_next(tasks, k);
    return k;
}

struct task *tasks_next_stopped(const struct tasks *tasks, const struct task *after,
                                const struct space *space) {
    struct task *k = tasks_next_in(tasks, after, space);
    while (k && (k->state != TASK_STOPPED || task_is_at_exec(k)))
        k = tasks_next_in(tasks, k, space);
    return k;
}
