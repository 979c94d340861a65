/* Matches unreported newborns with killed tasks by lane marks and memory. */
#include "tracer/orphans.h"

#include <string.h>

#include "arch/agent.h"
#include "target/memory.h"
#include "target/status.h"

void orphans_note_killed(struct tracer *t, struct task *killed) {
    if (killed->noted_killed) /* when it was about to end */
        return;
    killed->noted_killed = true;
    struct killed_task *g = &t->killed_tasks[t->next_killed++ % KILLED_TASKS];
    space_unref(g->space);
    g->space = killed->space ? space_ref(killed->space) : NULL;
    g->mark = killed->mark;
    g->lane = killed->lane ? killed->lane->at : 0;
    g->used = true;
}

/* Whether process PID's memory has the agent at SPACE's address. */
static bool is_copy_of(const struct space *space, pid_t pid) {
    AUTO_FD int fd = -1;
    uint8_t there[64];
    return memory_open(pid, &fd, NULL) == 0 &&
           memory_read(fd, space->agent, there, sizeof there, NULL) == 0 &&
           memcmp(there, agent_code(), sizeof there) == 0;
}

/* Whether a living task with MARK is CHILD's parent, and so will report it. */
static bool is_expected(const struct tracer *t, uint64_t mark, pid_t child) {
    pid_t parent = status_parent_of(child);
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (k->pid == parent && k->mark == mark &&
            lane_lookup_may_belong(k->space, k->lane ? k->lane->at : 0, child))
            return true;
    return false;
}

static const struct killed_task *find_killed(const struct tracer *t, uint64_t mark, pid_t child) {
    for (size_t i = 0; i < KILLED_TASKS; i++) {
        const struct killed_task *g = &t->killed_tasks[i];
        if (g->used && g->mark == mark && (!g->space || is_copy_of(g->space, child)) &&
            lane_lookup_may_belong(g->space, g->lane, child))
            return g;
    }
    return NULL;
}

void orphans_identify(struct tracer *t) {
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k)) {
        if (k->stage != TASK_UNKNOWN || k->state != TASK_STOPPED ||
            status_process_of(k->tid) != k->tid)
            continue; /* a thread dies with its process */
        uint64_t mark = lane_lookup_mark(k->tid);
        if (is_expected(t, mark, k->tid))
            continue;
        const struct killed_task *g = find_killed(t, mark, k->tid);
        if (!g)
            continue;
        k->pid = k->tid;
        task_set_stage(k, TASK_NEWBORN);
        if (g->space)
            task_inherit_space(k, g->space, false);
    }
}

void orphans_done(struct tracer *t) {
    for (size_t i = 0; i < KILLED_TASKS; i++)
        space_unref(t->killed_tasks[i].space);
}
