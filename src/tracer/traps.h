/*
 * Traps: spoor's breakpoints (plan/window/traps.c says where). A thread that hits one raises
 * SIGTRAP. The tracer takes that signal for itself and sends the thread on to the trampoline, where
 * the stub writes the event as usual. The breakpoint stays, so that no other thread passes it
 * unseen.
 *
 *     thread        … int3 ─▶ stopped                     stub, instruction, back …
 *     tracer                  pc := trampoline, go on ─┘
 *
 * The loop calls these for tasks whose space holds traps, or held some.
 */
#pragma once

#include "tracer/tracer_state.h"

/* TASK has stopped in a space that has or had traps. If it has hit one, sends it on, and its stop
 * has nothing to deliver any more. False: it runs on, as it is about to report a trap. */
bool traps_on_stop(struct task *task);
/* Counts the trap that TASK has hit, and removes a trap that is hit too often. TASK may be gone
 * afterwards. */
void traps_count(struct tracer *t, struct task *task);
/* Whether SIG, sent to TASK, is ignored, though the kernel may have reset that. */
bool traps_is_ignored(const struct task *task, int sig);
/* SPACE may hold its first traps now: reads the action at SIGTRAP. CALLER is one of its tasks. */
void traps_read_action(struct tracer *t, struct space *space, pid_t caller);
