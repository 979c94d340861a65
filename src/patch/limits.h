/*
 * Resource limits of the target. RLIMIT_AS (ulimit -v) counts spoor's mappings, too: the limit is
 * raised by their size, and lowered again when they are gone, so that the program has as much
 * memory as without spoor. RLIMIT_NOFILE may leave no room for the file that shares the lanes,
 * which is closed at once: it is raised by one for that.
 */
#pragma once

#include <sys/resource.h>

#include "patch/space.h"

/* BYTES are about to be mapped into SPACE, of which TID is a task. Errors: "memory-limit" (spoor
 * may not raise the limit). */
int limits_raise(struct space *space, pid_t tid, size_t bytes, struct err *err);
/* All that spoor has mapped is gone, or TID has begun another program. */
void limits_lower(struct space *space, pid_t tid);

/* Lets TID open one file more, until limits_take_back_file(). False: spoor may not raise the
 * limit. */
bool limits_allow_file(pid_t tid, struct rlimit *ret_before);
void limits_take_back_file(pid_t tid, const struct rlimit *before);
