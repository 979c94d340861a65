/*
 * Threads that run at the same time with one thread pointer (a raw clone without CLONE_SETTLS): in
 * place of a pair that is one thread's they have ranges of addresses where their stacks are
 * (wire/lane_lookup.h, stack_ranges.h). For lane_lookup_table.c only.
 *
 * One that comes to a stub with its stack where nobody's was seen waits there, and asks; the tool
 * stops all of the space then, looks where each stands, and writes the table anew. While threads
 * run, ranges are only taken away. So they are whenever another thread comes to share the
 * pointer, whose stack may lie where one of these has grown.
 */
#ifndef SPOOR_PATCH_LANE_LOOKUP_SHARED_H
#define SPOOR_PATCH_LANE_LOOKUP_SHARED_H

#include "patch/lane_lookup.h"
#include "ring/stack_ranges.h"

struct sharer {
    pid_t tid;
    bool waits; /* for its child of vfork, which has its stack */
    uint64_t pointer, top;
    taddr_t lane;
};

struct sharing {
    ARRAY(struct sharer) threads;
    struct stack_ranges ranges;
};

struct sharer *shared_find(const struct lane_lookup *lookup, pid_t tid);
/* Whether another thread than TID is there that shares POINTER. */
bool shared_has(const struct lane_lookup *lookup, uint64_t pointer, pid_t tid);
/* THREAD shares its pointer from now on, or in another way than before. */
void shared_add(struct space *space, const struct sharer *thread);
void shared_remove(struct space *space, pid_t tid);
/* All threads of SPACE stand still: it is seen where. False: there is no room for all. */
bool shared_look(struct space *space);
/* If TID looks for its lane just now, it has read some of what is written anew: it begins again. */
void shared_seek_again(const struct space *space, pid_t tid);
/* SPACE's new area at AREA. */
int shared_install(const struct space *space, taddr_t area, struct err *err);
/* SPACE is a copy of one whose threads shared pointers: its areas still say so. */
void shared_clear(struct space *space);
void shared_done(struct lane_lookup *lookup);

#endif
