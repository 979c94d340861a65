/* A thread whose stub reads what a pointer leads to (values/capture.h) may fault there. */
#pragma once

#include "patch/space.h"

/* Whether a thread with REGS is where such a read may fault. */
bool value_fault_is_at(const struct space *space, const struct regs *regs);
/* The thread has stopped for a fault. If it was such a read, lets it go on behind the value, which
 * is then not recorded. Where reads fault too often (select/read_limit.h), withdraws that read.
 * False: it was not, and nothing was done. */
bool value_fault_pass(struct space *space, pid_t tid);
/* Whether reads that have faulted may fault again: they were not withdrawn. */
bool value_faults_are_left(const struct space *space);
