/*
 * What a spoor that was killed has left in a process (wire/undo.h), as a space that can be undone
 * like any other (space_undo()), by whoever has stopped all of the process's threads.
 */
#ifndef SPOOR_PATCH_LEFTOVERS_H
#define SPOOR_PATCH_LEFTOVERS_H

#include "patch/parked_sigframes.h"
#include "patch/space.h"

/* Whether there seems to be anything; touches nothing. Errors: "read-maps", "memory". */
int leftovers_exist(pid_t tid, bool *ret, struct err *err);

/*
 * The rest is called with all threads of TID's memory stopped, in this order.
 *
 * Lets TID end the remote call that it was in when spoor was killed: its registers and signal mask
 * become its own again. −ESRCH: it has died.
 */
int leftovers_end_call(pid_t tid);
/* *ret: NULL when there is nothing; its threads' lanes are not known. What a first or last remote
 * call has left is removed at once. Errors: "foreign-version", "read-maps", "memory". */
int leftovers_find(pid_t tid, struct space **ret, struct err *err);
/* Text is about to be restored: marks those modules as kept to whose trampolines TID will come back
 * from a signal's handler. */
void leftovers_keep_returns(struct space *space, pid_t tid);
/* The same of handlers that stand parked, as ASIDE tells of them; TIDS: all threads. */
void leftovers_keep_parked(struct space *space, const struct parked_sigframes *parked,
                           const pid_t *tids, size_t count);
/* TID has been settled (settle.h); where it is INSIDE a trampoline still, that stays, too. So does
 * the agent's own page, which is nobody's trampoline, where it is there. */
void leftovers_keep_place(struct space *space, pid_t tid, bool inside);
/* Whether there is a lane of SPACE's at ADDR. */
bool leftovers_is_lane(const struct space *space, taddr_t addr);

#endif
