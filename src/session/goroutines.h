/*
 * Go's scheduler preempts by a signal whose handler makes the goroutine call runtime.asyncPreempt:
 * any pc may then lie on a goroutine's stack as a return address, for as long as it does not run.
 * Unlike frames of handlers these are on no thread's stack.
 */
#ifndef SPOOR_SESSION_GOROUTINES_H
#define SPOOR_SESSION_GOROUTINES_H

#include "session/space.h"

/* Takes back the windows of SPACE, all of whose threads stand still, that goroutines may come back
 * into the middle of. Too many are possible: words that stacks of running goroutines once held. */
void goroutines_spare(struct space *space);

#endif
