/*
 * For how long a task stands still because spoor works (doc/trace-format.md, "Pauses"). Stops that
 * spoor does not prolong are none.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/ring.h"

struct task;
struct tracer;
struct space;

struct task_pause {
    uint64_t
        since;    /* ticks when its last stop was reported, or when it began to wait in the hook */
    bool in_call; /* that stop has interrupted a system call in which it waited */
    bool noted;   /* spoor works meanwhile, for this: */
    enum pause_cause cause;
};

/* TASK has just stopped. */
void task_pause_begin(struct task *task);
/* CAUSE: why TASK stands still. The first one counts. */
void task_pause_note(struct task *task, enum pause_cause cause);
/* The same for all stopped tasks of SPACE. */
void task_pause_note_all(const struct tracer *t, const struct space *space, enum pause_cause cause);
/* TASK, stopped where it waits in the agent (lane.hook), may go on: it has stood still since it
 * came there. */
void task_pause_release(struct task *task);
/* TASK is about to be resumed: if spoor has worked meanwhile, its stream gets the pause. */
void task_pause_end(struct task *task);
