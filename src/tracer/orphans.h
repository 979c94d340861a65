/*
 * Identifies children whose parent was killed before it could report them.
 *
 * The kernel lets a forked child run (its first stop is reported) before the parent comes to its
 * fork event. A parent that is killed in between never reports it. Then nothing says whose child it
 * is: its parent is now the process that adopts orphans. But its registers are a copy, and one of
 * them is what its parent's lane was found by (lane_lookup.h). Its memory is a copy, too, if lanes
 * are found in memory. So the marks and spaces of killed tasks are kept for a while.
 */
#pragma once

#include "tracer/tracer_state.h"

/* May be called more than once for KILLED, before its lane is closed. */
void orphans_note_killed(struct tracer *t, struct task *killed);
/* Identifies newborns whose parents are gone: sets their pid. They are not answered yet. */
void orphans_identify(struct tracer *t);
void orphans_done(struct tracer *t);
