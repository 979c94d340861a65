/*
 * Detaches tasks, alone or with all of their space, while the recording goes on or as it ends.
 * Patches are taken away if no untraced task runs them. Where memory stays patched, threads write
 * into a sink that nobody reads.
 */
#pragma once

#include "tracer/tracer_state.h"

/* Detaches TASK, which is stopped, and delivers the signal of its stop. LANE: where it writes
 * events that nobody reads; 0: it runs no patched code. */
void detach_task(struct tracer *t, struct task *task, taddr_t lane);
/* SPACE is stopped: restores it, and detaches its tasks. On error threads write into the sink.
 * Returns the result of space_undo(). The error is printed, unless RET takes it. */
int detach_stopped(struct tracer *t, struct space *space, struct err *ret);
/* SPACE is stopped: moves its threads out of trampolines. RESTORED: the text is restored. */
void detach_settle_all(const struct tracer *t, struct space *space, bool restored);

/* Detaches TASK, at its syscall-entry-stop or at a fault of its own, as if it had never been
 * traced. Restores its memory if no other task has it. */
void leave_task(struct tracer *t, struct task *task);
/* TASK has stopped and is to be detached (task->leaving). */
void leave_stopped_task(struct tracer *t, struct task *task);
/* Detaches all tasks of process PID, which runs; its memory stays as it is. */
void leave_process(struct tracer *t, pid_t pid);
/* Detaches all processes that have SPACE; none of their tasks is held. */
void leave_space(struct tracer *t, struct space *space);
/* Waits for tasks that are detached when their vfork child ends. Not for ever, and not when the
 * user asks spoor once more to end. */
void await_detachments(struct tracer *t);
