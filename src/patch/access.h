/*
 * Processes that are not dumpable (prctl PR_SET_DUMPABLE): the kernel hides their /proc files from
 * everybody but root, even from their tracer. Remote calls make such a process dumpable for a
 * moment, and spoor reads what it needs then.
 */
#pragma once

#include "patch/space.h"

/* CALLER is a task of SPACE that may make remote calls. True: access_give_back() must follow.
 * False: spoor has access already, or cannot get it. */
bool access_gain(const struct space *space, pid_t caller);
void access_give_back(const struct space *space, pid_t caller);

/* Opens the memory of SPACE, which could not be opened when SPACE was made. TID is one of its
 * tasks. */
int access_open_memory(struct space *space, pid_t tid, struct err *err);
