/*
 * Resource limits of the target. RLIMIT_AS (ulimit -v) counts spoor's mappings, too. Spoor raises
 * the limit by their size and lowers it when they are gone, so that the program has as much memory
 * as without spoor. RLIMIT_NOFILE may leave no room for the file that shares the lanes; spoor
 * raises it by one until that file is closed.
 */
#pragma once

#include <sys/resource.h>

#include "patch/space.h"

/* BYTES are about to be mapped into SPACE; TID is one of its tasks. Errors: "memory-limit" (spoor
 * may not raise the limit). */
int limits_raise(struct space *space, pid_t tid, size_t bytes, struct err *err);
/* All that spoor has mapped is gone, or TID has begun another program. */
void limits_lower(struct space *space, pid_t tid);

/* Lets TID open one more file until limits_take_back_file(). False: spoor may not raise the
 * limit. */
bool limits_allow_file(pid_t tid, struct rlimit *ret_before);
void limits_take_back_file(pid_t tid, const struct rlimit *before);
