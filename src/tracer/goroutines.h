/*
 * Go's scheduler preempts by a signal whose handler makes the goroutine call runtime.asyncPreempt:
 * any pc may then lie on a goroutine's stack as a return address, for as long as it does not run.
 * Unlike frames of handlers these are on no thread's stack.
 */
#pragma once

#include "patch/space.h"
#include "patch/thread_positions.h"

/* Adds to RET where goroutines may come back into the middle of windows that are prepared for
 * SPACE, all of whose threads stand still. Too many are possible: words that stacks of running
 * goroutines once held. */
void goroutines_find(const struct space *space, struct thread_positions *ret);
/* SPACE is patched now: writes into HANDLE, as the program's own events would say it, where the
 * stacks are that ARRIVAL has found; nothing, if the program will not say what becomes of them. */
void goroutines_tell(const struct space *space, const struct thread_positions *positions,
                     struct lane_handle *handle, enum overflow overflow);
