/*
 * Seizes the tasks of a running process.
 *
 * PTRACE_SEIZE stops no task: all threads that /proc lists are seized first, and stop together. A
 * stopped thread creates no threads; the kernel seizes those that it has created since it was
 * seized. So a look at a stopped process that finds no new thread is complete.
 */
#pragma once

#include "target/candidate.h"
#include "tracer/tracer_state.h"

struct seizing {
    struct tracer *tracer;
    struct space *space;
    struct sharing sharing; /* processes with the same memory; its pid is the process's */
    size_t added;           /* tasks added by the last look */
    bool late;              /* tasks get their lanes when they have stopped */
    bool sharers;           /* some tasks of other processes were added */
    uint64_t begun;         /* when the first tasks were told to stop; 0: not yet */
};
/* Seizes and stops all tasks of the process and of those that share its memory. Errors: "seize",
 * "threads", "busy"; tasks seized by then stay seized. */
int seizing_all(struct seizing *s, struct err *err);
/* Sets "busy", with the reason why the space cannot be stopped. */
int seizing_busy(const struct seizing *s, struct err *err);
/* REASON (errno): says that PROCESS's threads cannot be listed. */
int seizing_unlisted(pid_t process, int reason, struct err *err);

/* Seizes untraced tasks that share SPACE's memory: a program may hide tasks from its tracer
 * (CLONE_UNTRACED). Returns whether there were any, or may be more (SPACE->unlisted). A look at all
 * processes takes long, so the first look is made while SPACE runs. */
struct untraced {
    bool join; /* they are traced from now on */
    struct sharing sharing;
};
bool seizing_find_untraced(struct tracer *t, struct space *space, struct untraced *untraced);
