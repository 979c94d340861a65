/*
 * The guards of functions that write the register by which stubs find lanes (x86-64: the gs base).
 * A thread at such a function's entry waits for the tool, as in the dynamic linker's hook. The
 * program is then released, before the register is written.
 */
#pragma once

#include "patch/space.h"

/* P's plan is made: whether a guard can precede all writes of the register there. */
bool lane_guard_is_possible(const struct patched *p);
/* P has code: whether all of its guards are patched, or will be. */
bool lane_guard_is_set(const struct patched *p);
/* Whether the guards of all modules of SPACE are set. */
bool lane_guards_are_set(const struct space *space);
/* Whether TID waits at a guard. */
bool lane_guard_waits(const struct space *space, pid_t tid);
/* Whether SPACE has, or will have, guards. */
bool lane_guards_exist(const struct space *space);
/* Whether a thread that runs, or returns to, run-time address ADDR has passed the place of a
 * guard. */
bool lane_guard_is_passed(const struct space *space, taddr_t addr);
