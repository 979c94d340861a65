/*
 * A limit of a process's address space (RLIMIT_AS, ulimit -v) counts what tracing maps, too. So
 * that nothing is left for the program that it would have without us, the limit is raised by that,
 * and lowered again when it is gone.
 * A limit of its open files (RLIMIT_NOFILE) must not keep a file from us that is closed at once:
 * one more is lent for that.
 */
#ifndef SPOOR_PATCH_LIMITS_H
#define SPOOR_PATCH_LIMITS_H

#include <sys/resource.h>

#include "patch/space.h"

/* BYTES are about to be mapped into SPACE, of which TID is a task. Errors: "memory-limit" (we may
 * not raise it). */
int limits_raise(struct space *space, pid_t tid, size_t bytes, struct err *err);
/* All that was mapped is gone, or TID has begun another program. */
void limits_lower(struct space *space, pid_t tid);

/* TID may open one file more than it could, until that is taken back. False: we may not allow it.
 */
bool limits_allow_file(pid_t tid, struct rlimit *ret_before);
void limits_take_back_file(pid_t tid, const struct rlimit *before);

#endif
