/*
 * Children whose parent was killed before it could report them.
 *
 * The kernel lets a fork's child run (its first stop is reported) before the parent comes to its
 * fork event. A parent that is killed in between never reports it. Nothing says then whose child
 * it is: its parent by now is the process that takes in orphans. But its registers are a copy, and
 * one of them is what its parent's lane was found by (lane_lookup.h); so is its memory, where that
 * leads to the lane. So these and the spaces of killed tasks are kept for a while.
 */
#pragma once

#include "tracer/core.h"

/* Called once or more before the lane of KILLED is closed. */
void orphans_note_killed(struct tracer *t, struct task *killed);
/* Finds out about newborns whose parents are gone. Their pid is known then; they are not answered
 * yet. */
void orphans_identify(struct tracer *t);
void orphans_done(struct tracer *t);
