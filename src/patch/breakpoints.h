/* Which breakpoints stand in a space, how often they are met, and their withdrawal. What becomes of
 * the threads that come to them is traps.c's. */
#ifndef SPOOR_PATCH_BREAKPOINTS_H
#define SPOOR_PATCH_BREAKPOINTS_H

#include "patch/space.h"

/* The trap at ADDR, whether it still stands or not, and its module; NULL if there has been none. */
const struct trap *breakpoints_at(const struct space *space, taddr_t addr, struct patched **ret);
/* Counts anew how many stand in SPACE. */
void breakpoints_count(struct space *space);
/* Withdraws the one at ADDR, or all of its function. All threads are stopped. */
void breakpoints_withdraw(struct space *space, taddr_t addr, bool all);
/* What was withdrawn from any process for being met too often is withdrawn from SPACE. */
void breakpoints_withdraw_again(struct space *space);
/* Withdraws all: something that has SPACE's memory, or may get it, will not be traced. */
void breakpoints_remove(struct space *space);

/* Tells the user, once for each file, that P has breakpoints. */
void breakpoints_warn(const struct record_options *options, const struct patched *p);

#endif
