/*
 * Seizing the tasks of a process that runs.
 *
 * Seizing stops no task: all threads that /proc lists are seized first, and stop together. A
 * stopped thread makes no more threads; those that it has made since it was seized are seized by
 * the kernel. So a look at a stopped process that finds no new thread is complete.
 */
#pragma once

#include "target/candidate.h"
#include "tracer/core.h"

struct seizing {
    struct tracer *tracer;
    struct space *space;
    struct sharing sharing; /* its pid is the process's */
    size_t added;           /* tasks, by the last look */
    bool late;              /* they get their lanes when they have stopped */
    bool sharers;           /* some tasks of other processes were added */
    uint64_t begun;         /* when the first were told to stop; 0: not yet */
};
/* Seizes and stops all tasks of the process and of those that share its memory. Errors: "seize",
 * "threads", "busy"; what is seized then stays so. */
int seizing_all(struct seizing *s, struct err *err);
/* Sets "busy": why the space cannot be stopped. */
int seizing_busy(const struct seizing *s, struct err *err);

/* Seizes tasks that share SPACE's memory and are not traced: the kernel keeps tasks from their
 * parents' tracers where a program asks for that (CLONE_UNTRACED). Returns whether there were any.
 * To look at all processes takes long: so the first look is for a time when SPACE runs. */
struct untraced {
    bool join; /* they are traced from now on, as all others */
    struct sharing sharing;
};
bool seizing_find_untraced(struct tracer *t, struct space *space, struct untraced *untraced);
