/*
 * Traps: breakpoints of spoor (plan/window/traps.c says where). A thread that comes to one raises
 * SIGTRAP, which the tracer takes for itself: it sends the thread on to the trampoline, where the
 * stub writes the event as everywhere. The breakpoint stays, so that no other thread passes it
 * unseen.
 *
 *     thread        … int3 ─▶ stopped                     stub, instruction, back …
 *     tracer                  pc := trampoline, go on ─┘
 *
 * The loop calls these for tasks whose space holds traps, or has held some.
 */
#pragma once

#include "tracer/core.h"

/* TASK has stopped in a space that has or had traps. If it has come to one, it is sent on, and its
 * stop becomes one with nothing to deliver. False: it runs on, as it is about to report a trap. */
bool traps_meet(struct task *task);
/* Counts the trap that TASK has met, and takes it away if it is met too often. TASK may be gone
 * afterwards. */
void traps_count(struct tracer *t, struct task *task);
/* TASK, whose space holds traps, stands at a syscall-stop. Returns whether it is still there. */
bool traps_at_syscall(struct tracer *t, struct task *task);
/* TASK's program ignores SIGTRAP, but a trap has made the kernel forget that: it does again. All
 * tasks of its space stand still. */
void traps_restore_ignore(struct task *task);
/* Whether SIG, which was sent to TASK, is ignored, though the kernel may have forgotten that. */
bool traps_is_ignored(const struct task *task, int sig);
/* Lets TASK, whose space holds traps, run on with signal SIG so that changes of its action at
 * SIGTRAP are seen. */
void traps_resume(struct tracer *t, struct task *task, int sig);
/* SPACE may hold its first traps now; CALLER is one of its tasks. */
void traps_arm(struct tracer *t, struct space *space, pid_t caller);
