/*
 * By what stubs find a thread's lane. Each ISA has a file of its own: lane_lookup_register.c where
 * a register that programs leave alone holds the lane's address; lane_lookup_table.c where threads
 * are known by their thread pointers, and each trampoline area begins with a table
 * (wire/lane_lookup.h).
 *
 * All threads concerned stand still.
 */
#ifndef SPOOR_PATCH_LANE_LOOKUP_H
#define SPOOR_PATCH_LANE_LOOKUP_H

#include <sys/types.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/types.h"

struct space;

struct lane_lookup {
    struct owned_pair *table; /* as it stands in the target; NULL: no pair yet */
    struct sharing
        *sharing;        /* threads that cannot have pairs (lane_lookup_shared.h); NULL: none yet */
    bool *kept_pointers; /* of the pointers to lend: threads may have had them before attach */
    bool copied;         /* its tables still hold the stack ranges of the original's threads */
    bool full;           /* there is no room for some threads */
    bool ambiguous;      /* two threads may have one lent pointer: each asks for its own */
    bool loses_events;   /* some threads write to the sink: no room, or they are not told apart */
};

/* TID, of SPACE, writes to LANE from now on; 0: it has nothing of ours any more. SPACE may be NULL:
 * then that is all that can be said. */
void lane_lookup_give(struct space *space, pid_t tid, taddr_t lane);
/* The same for one that has just been made by MAKER, and runs beside it; or that has run before we
 * came, MAKER being 0. */
void lane_lookup_give_new(struct space *space, pid_t tid, taddr_t lane, pid_t maker);
/* The same for the one that runs of two threads of which the other waits (vfork): MAKER, or 0 when
 * that is over. */
void lane_lookup_pass(struct space *space, pid_t tid, taddr_t lane, pid_t maker);
/* TID is about to be left, and does not run before: what it has of ours besides a lane is taken
 * from it, if it has to make calls for that. */
void lane_lookup_take_back(struct space *space, pid_t tid);
/* And, behind that: should it come to our code yet, it writes to LANE, or (0) it has nothing of
 * ours any more. SPACE may be NULL. */
void lane_lookup_leave(struct space *space, pid_t tid, taddr_t lane);
/* TID has run before we came, and is to get a lane: before any such thread does. */
void lane_lookup_expect(struct space *space, pid_t tid);
/* All threads of SPACE stand still, and all that have come to be its threads have their lanes:
 * those that nothing but their stacks tells apart are found by these. */
void lane_lookup_tell_apart(struct space *space);
/* Where TID writes to; 0: nowhere, or that is not known. */
taddr_t lane_lookup_lane(const struct space *space, pid_t tid);
/* TID has ended, or leaves SPACE, which may be NULL. */
void lane_lookup_forget(struct space *space, pid_t tid);
/* What a copy of TID's process, which has not run yet, has in common with it: the same number. */
uint64_t lane_lookup_mark(pid_t tid);
/* Whether COPY, which has that in common with a task of SPACE that writes to LANE, may be of its
 * process, for all that COPY's memory tells. SPACE and LANE may be NULL and 0: not known. */
bool lane_lookup_may_belong(const struct space *space, taddr_t lane, pid_t copy);
/* SPACE's new area at AREA, which is filled else: for all its threads. */
int lane_lookup_install(const struct space *space, taddr_t area, struct err *err);
/* Of a copy that a fork makes; and of a space that ends. */
void lane_lookup_copy(struct lane_lookup *to, const struct lane_lookup *from);
void lane_lookup_done(struct lane_lookup *lookup);
/* Whether a thread of SPACE waits because its lane is not to be found: it has another thread
 * pointer than it was given its lane for. If so, that is forgotten, and lane_lookup_give() helps.
 */
bool lane_lookup_is_requested(const struct space *space);

#endif
