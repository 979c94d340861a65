/* Removing what a spoor that was killed has left in a process (leftovers.h). */
#ifndef SPOOR_RECORD_DETACH_H
#define SPOOR_RECORD_DETACH_H

#include <sys/types.h>

#include "base/err.h"
#include "record/session.h"

/*
 * Stops PID, restores its text, unmaps what is not its own, lets it run on. *RET_FOUND: there was
 * something. OPTIONS: only warn and ctx are used. Errors: those of candidate_check(), "busy",
 * "foreign-version", "returns-later" and "text-changed" (all text that can be is restored, but not
 * all memory given back), "sandboxed", "memory", "remote-call", "read-maps".
 */
int session_detach(const struct session_options *options, pid_t pid, bool *ret_found,
                   struct err *err);

#endif
