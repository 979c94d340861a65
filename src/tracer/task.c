#include "tracer/task.h"

#include "patch/space_lifecycle.h"

enum { BUCKETS = sizeof(((struct tasks *)0)->buckets) / sizeof(struct task *) };

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

void task_inherit_space(struct task *child, struct space *space, bool shared) {
    if (shared) {
        child->space = space_ref(space);
        return;
    }
    child->forked = true;
    if (!space->agent)
        return; /* nothing of spoor is in it */
    child->space = space_fork(space, child->tid, NULL);
    if (!child->space)
        child->sink = space_sink(space);
}

void tasks_remove(struct tasks *tasks, struct task *task) {
    struct task **at = &tasks->buckets[bucket_of(task->tid)];
    while (*at != task)
        at = &(*at)->next;
    *at = task->next;
    tasks->count--;
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
