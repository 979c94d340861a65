/*
 * What a spoor that was killed has left in a process (wire/undo.h): a space that can be undone like
 * any other (space_undo()), by the tool that has stopped all threads of the process.
 */
#pragma once

#include "patch/parked_sigframes.h"
#include "patch/space.h"

/* Whether there seems to be anything; changes nothing. Errors: "read-maps", "memory". */
int leftovers_exist(pid_t tid, bool *ret, struct err *err);

/*
 * The rest is called with all threads of TID's memory stopped, in this order.
 *
 * Lets TID end the remote call that it was in when spoor was killed: its registers and signal mask
 * become its own again. −ESRCH: it has died.
 */
int leftovers_end_call(pid_t tid);
/* *ret: NULL when there is nothing. The lanes of its threads are not known. Remains of a first or
 * last remote call are removed at once. Errors: "foreign-version", "read-maps", "memory". */
int leftovers_find(pid_t tid, struct space **ret, struct err *err);
/* Before text is restored: marks as kept the modules into whose trampolines TID will return from a
 * signal handler. */
void leftovers_keep_returns(struct space *space, pid_t tid);
/* The same for the handlers in PARKED; TIDS: all threads. */
void leftovers_keep_parked(struct space *space, const struct parked_sigframes *parked,
                           const pid_t *tids, size_t count);
/* TID has been settled (settle.h): if it is INSIDE a trampoline still, that stays mapped. So does
 * the agent's page, if TID is there. */
void leftovers_keep_place(struct space *space, pid_t tid, bool inside);
/* Whether one of the lanes of SPACE is at ADDR. */
bool leftovers_is_lane(const struct space *space, taddr_t addr);
