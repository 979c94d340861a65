/*
 * By what stubs find a thread's lane. Each ISA has a file of its own: keys_register.c where a
 * register that programs leave alone holds the lane's address; keys_table.c where threads are known
 * by their thread pointers, and each trampoline area begins with a table (wire/keys.h).
 *
 * All threads concerned stand still.
 */
#ifndef SPOOR_PATCH_KEYS_H
#define SPOOR_PATCH_KEYS_H

#include <sys/types.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/types.h"

struct space;

struct keys {
    struct owned_pair *table; /* as it stands in the target; NULL: no pair yet */
    struct sharing *sharing;  /* threads that cannot have pairs (keys_shared.h); NULL: none yet */
    bool *kept_pointers;      /* of the pointers to lend: threads may have had them before attach */
    bool copied;              /* its tables still hold the stack ranges of the original's threads */
    bool full;                /* there is no room for some threads */
    bool ambiguous;           /* two threads may have one lent pointer: each asks for its own */
    bool loses_events; /* some threads write to the sink: no room, or they are not told apart */
};

/* TID, of SPACE, writes to LANE from now on; 0: it has nothing of ours any more. SPACE may be NULL:
 * then that is all that can be said. */
void keys_give(struct space *space, pid_t tid, taddr_t lane);
/* The same for one that has just been made by MAKER, and runs beside it; or that has run before we
 * came, MAKER being 0. */
void keys_give_newborn(struct space *space, pid_t tid, taddr_t lane, pid_t maker);
/* The same for the one that runs of two threads of which the other waits (vfork): MAKER, or 0 when
 * that is over. */
void keys_pass(struct space *space, pid_t tid, taddr_t lane, pid_t maker);
/* TID is about to be left, and does not run before: what it has of ours besides a lane is taken
 * from it, if it has to make calls for that. */
void keys_take_back(struct space *space, pid_t tid);
/* And, behind that: should it come to our code yet, it writes to LANE, or (0) it has nothing of
 * ours any more. SPACE may be NULL. */
void keys_leave(struct space *space, pid_t tid, taddr_t lane);
/* TID has run before we came, and is to get a lane: before any such thread does. */
void keys_expect(struct space *space, pid_t tid);
/* All threads of SPACE stand still, and all that have come to be its threads have their lanes:
 * those that nothing but their stacks tells apart are found by these. */
void keys_tell_apart(struct space *space);
/* Where TID writes to; 0: nowhere, or that is not known. */
taddr_t keys_lane(const struct space *space, pid_t tid);
/* TID has ended, or leaves SPACE, which may be NULL. */
void keys_forget(struct space *space, pid_t tid);
/* What a copy of TID's process, which has not run yet, has in common with it: the same number. */
uint64_t keys_mark(pid_t tid);
/* Whether COPY, which has that in common with a task of SPACE that writes to LANE, may be of its
 * process, for all that COPY's memory tells. SPACE and LANE may be NULL and 0: not known. */
bool keys_may_be_of(const struct space *space, taddr_t lane, pid_t copy);
/* SPACE's new area at AREA, which is filled else: for all its threads. */
int keys_install(const struct space *space, taddr_t area, struct err *err);
/* Of a copy that a fork makes; and of a space that ends. */
void keys_copy(struct keys *to, const struct keys *from);
void keys_done(struct keys *keys);
/* Whether a thread of SPACE waits because its lane is not to be found: it has another thread
 * pointer than it was given its lane for. If so, that is forgotten, and keys_give() helps. */
bool keys_are_asked_for(const struct space *space);

#endif
