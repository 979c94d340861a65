/*
 * Detaching tasks, alone or with all of their space, while the recording goes on or as it ends.
 * Patches are taken away where spoor is the only one that knows of them; where memory stays
 * patched, threads write into a sink that is never read.
 */
#pragma once

#include "tracer/core.h"

/* Detaches TASK, which is stopped, with the signal that it was stopped for. LANE: where it writes
 * events that are never read; 0: it comes to no patch. */
void detach_task(struct tracer *t, struct task *task, taddr_t lane);
/* SPACE is stopped: restores it, and detaches its tasks. Where that fails, threads write into the
 * sink. Returns what space_undo() does; the error is printed, unless RET takes it. */
int detach_stopped(struct tracer *t, struct space *space, struct err *ret);
/* SPACE is stopped: moves its threads out of trampolines. RESTORED: the text is the program's own
 * again. */
void detach_settle_all(const struct tracer *t, struct space *space, bool restored);

/* Detaches TASK, at its entry to a system call or at a fault of its own, as if it had never been
 * traced; its memory is restored, if it has it alone. */
void leave_task(struct tracer *t, struct task *task);
/* TASK leaves, and has stopped. */
void leave_stopped_task(struct tracer *t, struct task *task);
/* Detaches all of process PID, which runs; its memory stays as it is. */
void leave_process(struct tracer *t, pid_t pid);
/* Detaches SPACE and all processes that have it; none of their tasks is held. */
void leave_space(struct tracer *t, struct space *space);
/* Waits for tasks that leave as they come from a child of vfork. Not for ever, and not when the
 * user asks spoor once more to end. */
void await_leavers(struct tracer *t);
