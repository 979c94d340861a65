/*
 * Threads that run at the same time with one thread pointer (a raw clone without CLONE_SETTLS). No
 * key can serve them: the table holds the address ranges of their stacks instead
 * (wire/lane_lookup.h, ring/stack_ranges.h). Only lane_lookup_table.c includes this.
 *
 * A thread whose stack pointer is in no range waits in the agent and asks. Spoor then stops the
 * space, reads the stack pointer of each thread, and writes the table anew. While threads run,
 * ranges are only removed. When one more thread shares a pointer, all ranges of that pointer are
 * removed: the new stack may lie in one of them.
 */
#pragma once

#include "patch/lane_lookup.h"
#include "ring/stack_ranges.h"

struct sharer {
    pid_t tid;
    bool waits; /* in vfork(): its child uses its stack */
    uint64_t pointer, top;
    taddr_t lane;
};

struct sharing {
    ARRAY(struct sharer) threads;
    struct stack_ranges ranges;
};

struct sharer *shared_find(const struct lane_lookup *lookup, pid_t tid);
/* Whether a thread other than TID shares POINTER. */
bool shared_has(const struct lane_lookup *lookup, uint64_t pointer, pid_t tid);
/* THREAD shares its pointer from now on, or its record has changed. */
void shared_add(struct space *space, const struct sharer *thread);
void shared_remove(struct space *space, pid_t tid);
/* All threads of SPACE are stopped: finds their stacks. False: the table has no room for all
 * ranges. */
bool shared_look(struct space *space);
/* If TID is looking for its lane, it starts again, since the tables have changed. */
void shared_seek_again(const struct space *space, pid_t tid);
/* Writes the ranges into SPACE's new area at AREA. */
int shared_install(const struct space *space, taddr_t area, struct err *err);
/* SPACE is a copy of a space whose threads shared pointers: removes the ranges from its areas. */
void shared_clear(struct space *space);
void shared_done(struct lane_lookup *lookup);
