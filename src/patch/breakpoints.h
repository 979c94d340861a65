/* The breakpoints in a space: which are set, and their removal. tracer/traps.c serves the threads
 * that hit them. */
#pragma once

#include "patch/space.h"

/* The trap at ADDR, set or removed, and its module; NULL if there never was one. */
const struct trap *breakpoints_at(const struct space *space, taddr_t addr, struct patched **ret);
/* Counts the breakpoints that are set in SPACE. */
void breakpoints_count(struct space *space);
/* Removes the breakpoint at ADDR, or with ALL all breakpoints of its function. All threads are
 * stopped. */
void breakpoints_withdraw(struct space *space, taddr_t addr, bool all);
/* Removes from SPACE the breakpoints that were withdrawn in any process because threads hit them
 * too often. */
void breakpoints_withdraw_again(struct space *space);
/* Removes all breakpoints: a process that has SPACE's memory, or may get it, will not be traced. */
void breakpoints_remove(struct space *space);

/* Warns the user, once for each file, that P has breakpoints. */
void breakpoints_warn(const struct record_options *options, const struct patched *p);
