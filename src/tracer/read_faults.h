/*
 * Reads of values that fault (patch/value_faults.h): nothing of the fault stays in the program. The
 * actions at SIGSEGV and SIGBUS are read when patches are written, and when /proc shows that they
 * have changed. After the first fault in a space its tasks are watched (kept_signals.h), until all
 * reads that fault are withdrawn. So masks and actions are known exactly. Programs without such
 * faults pay nothing.
 */
#pragma once

#include "tracer/tracer_state.h"

/* Patches of SPACE have been written, or SPACE is stopped for another reason: reads the actions, if
 * stubs read values. CALLER is one of its tasks. */
void read_faults_note(struct tracer *t, struct space *space, pid_t caller);
/* TASK has stopped in a space that has noted actions. If a read has faulted, sends it on, and its
 * stop has nothing to deliver any more. False: it runs on, as it is about to report such a fault.
 */
bool read_faults_on_stop(struct tracer *t, struct task *task);
/* Looks now and then for processes that have changed their actions. */
void read_faults_poll(struct tracer *t);
