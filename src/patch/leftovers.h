/*
 * What a killed spoor has left in a process (wire/undo.h), as a space that space_undo() can undo.
 * The tool that takes over has stopped all threads of the process.
 */
#pragma once

#include "patch/parked_sigframes.h"
#include "patch/space.h"

/* Whether the process seems to hold leftovers. Changes nothing. Errors: "read-maps", "memory". */
int leftovers_exist(pid_t tid, bool *ret, struct err *err);

/*
 * The following functions are called with all threads of TID's memory stopped, in this order.
 *
 * Lets TID end the remote call that it made when spoor was killed, and get its registers and signal
 * mask back. −ESRCH: the thread has died.
 */
int leftovers_end_call(pid_t tid);
/* *ret: NULL if there are no leftovers. The lanes of its threads are not known. Removes remains of
 * a first or last remote call at once. Errors: "foreign-version", "read-maps", "memory". */
int leftovers_find(pid_t tid, struct space **ret, struct err *err);
/* Before text is restored: marks as `kept` the modules into whose trampolines TID will return from
 * a signal handler. */
void leftovers_keep_returns(struct space *space, pid_t tid);
/* The same for the handlers in PARKED; TIDS: all threads. */
void leftovers_keep_parked(struct space *space, const struct parked_sigframes *parked,
                           const pid_t *tids, size_t count);
/* TID has been settled (settle.h). If it is still INSIDE a trampoline, that stays mapped; if it is
 * in the agent's page, that stays mapped. */
void leftovers_keep_place(struct space *space, pid_t tid, bool inside);
/* Whether one of the lanes of SPACE is at ADDR. */
bool leftovers_is_lane(const struct space *space, taddr_t addr);
