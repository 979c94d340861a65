/*
 * A limit of a process's address space (RLIMIT_AS, ulimit -v) counts what tracing maps, too. So
 * that nothing is left for the program that it would have without us, the limit is raised by that,
 * and lowered again when it is gone.
 */
#ifndef SPOOR_SESSION_LIMITS_H
#define SPOOR_SESSION_LIMITS_H

#include "session/space.h"

/* BYTES are about to be mapped into SPACE, of which TID is a task. Errors: "memory-limit" (we may
 * not raise it). */
int limits_raise(struct space *space, pid_t tid, size_t bytes, struct err *err);
/* All that was mapped is gone, or TID has begun another program. */
void limits_lower(struct space *space, pid_t tid);

#endif
