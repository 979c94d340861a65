/*
 * Processes that do not want to be looked at (prctl PR_SET_DUMPABLE): the kernel keeps what is in
 * /proc of them from everybody but root, their tracer included. What must be read there is read
 * while the process itself, by remote calls, has allowed it for a moment.
 */
#pragma once

#include "patch/space.h"

/* CALLER is a task of SPACE that may make remote calls. Returns whether access_give_back() must
 * follow: not when there is access already, or when none can be had. */
bool access_gain(const struct space *space, pid_t caller);
void access_give_back(const struct space *space, pid_t caller);

/* SPACE, whose memory could not be opened when it was made, belongs to TID. */
int access_open_memory(struct space *space, pid_t tid, struct err *err);
