/*
 * Finds where goroutines resume. Go's scheduler preempts by a signal whose handler makes the
 * goroutine call runtime.asyncPreempt: then any pc may be on the goroutine's stack as a return
 * address, as long as it does not run. Unlike signal frames, these are on no thread's stack.
 */
#pragma once

#include "patch/space.h"
#include "patch/thread_positions.h"

/* Adds to RET where goroutines may resume in the middle of windows that are prepared for SPACE; all
 * threads are stopped. It may find too many: words that stacks of running goroutines once held. */
void goroutines_find(const struct space *space, struct thread_positions *ret);
/* SPACE is patched now: writes into HANDLE, as events of the program, the goroutines' stacks in
 * POSITIONS. Writes nothing if the program will not report what becomes of them. */
void goroutines_write(const struct space *space, const struct thread_positions *positions,
                      struct lane_handle *handle, enum overflow overflow);
