/*
 * How stubs find the lane of the thread that runs them. Each ISA has its own file:
 * lane_lookup_register.c where a register that programs leave alone holds the lane's address, and
 * lane_lookup_table.c where a thread pointer identifies a thread and each trampoline area begins
 * with a table (wire/lane_lookup.h).
 *
 * All threads that are named in a call stand still.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/types.h"

struct space;

struct lane_lookup {
    struct owned_key *table; /* as it stands in the target; NULL: no key yet */
    struct sharing
        *sharing;        /* threads that cannot have keys (lane_lookup_shared.h); NULL: none yet */
    bool *kept_pointers; /* of the pointers to assign: threads may have had them before attach */
    bool copied;         /* its tables still hold the stack ranges of the original's threads */
    bool full;           /* there is no room for some threads */
    bool ambiguous;      /* two threads may have one assigned pointer: each asks for its own */
    bool loses_events;   /* some threads write to the sink: no room, or they are not told apart */
};

/* TID, a thread of SPACE, writes to LANE from now on; 0: to none. SPACE may be NULL if it is not
 * known. */
void lane_lookup_give(struct space *space, pid_t tid, taddr_t lane);
/* The same for a new thread that MAKER has created and that runs beside it. MAKER is 0 for a
 * thread that ran before spoor attached. */
void lane_lookup_give_new(struct space *space, pid_t tid, taddr_t lane, pid_t maker);
/* The same for TID while it borrows the memory of MAKER, its parent suspended in vfork(); MAKER is
 * 0 when that is over. */
void lane_lookup_pass(struct space *space, pid_t tid, taddr_t lane, pid_t maker);
/* TID is about to be detached and does not run before: removes what spoor gave it besides a lane,
 * where the thread must make system calls for that. */
void lane_lookup_take_back(struct space *space, pid_t tid);
/* After that: if TID still reaches a stub, it writes to LANE. LANE 0: spoor has nothing in the
 * thread any more. SPACE may be NULL. */
void lane_lookup_leave(struct space *space, pid_t tid, taddr_t lane);
/* TID ran before spoor attached and will get a lane. Called for all such threads before the first
 * gets one. */
void lane_lookup_expect(struct space *space, pid_t tid);
/* All threads of SPACE stand still and have their lanes: threads that share a thread pointer are
 * told apart by their stacks from now on. */
void lane_lookup_tell_apart(struct space *space);
/* The lane that TID writes to; 0: none, or it is not known. */
taddr_t lane_lookup_lane(const struct space *space, pid_t tid);
/* TID has ended, or leaves SPACE, which may be NULL. */
void lane_lookup_forget(struct space *space, pid_t tid);
/* A number that a copy of the process of TID has in common with it as long as the copy has not
 * run. */
uint64_t lane_lookup_mark(pid_t tid);
/* Whether COPY, which has such a number in common with a task of SPACE that writes to LANE, may be
 * a copy of that task's process: its memory does not say otherwise. NULL and 0: not known. */
bool lane_lookup_may_belong(const struct space *space, taddr_t lane, pid_t copy);
/* Writes the tables for all threads of SPACE into its new area at AREA. */
int lane_lookup_install(const struct space *space, taddr_t area, struct err *err);
/* For the copy that a fork makes; and for a space that ends. */
void lane_lookup_copy(struct lane_lookup *to, const struct lane_lookup *from);
void lane_lookup_done(struct lane_lookup *lookup);
/* Whether a thread of SPACE waits because its stub finds no lane: its thread pointer has changed.
 * Clears the request; lane_lookup_give() serves it. */
bool lane_lookup_is_requested(const struct space *space);
