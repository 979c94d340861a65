/*
 * Patches changed while programs run: taken away for a pause, put back, or replaced for another
 * filter.
 *
 * The context that all spaces are made by says what is wanted, so spaces that begin from now on
 * (exec) are right from the start. The others are stale, and are changed one by one. One that has
 * just been forked is a copy of its parent's at that moment: it is changed when its first stop has
 * been answered. What takes long (loading, planning, emitting) is done while the space runs; while
 * it stands, threads are moved out of trampolines, text is written, and threads are moved in.
 *
 * Between two sets of patches the ends of calls are not seen. So each thread's calls end, for the
 * trace, when its patches are taken away, but for those that its stack shows to be open when it
 * gets others (open_frames.h): these go on or have begun before.
 *
 * Called from the recording's loop, never while a task is answered.
 */
#pragma once

#include "tracer/core.h"

/* Changes all stale spaces, and those that attach.c has just entered, until none is left. RET_NS:
 * for how long a space stood, at most. Errors: "busy" (those follow when they can). */
int repatch_all(struct tracer *t, uint64_t *ret_ns, struct err *err);
/* SPACE is about to be left: takes its patches away, and its threads out of trampolines, if it can
 * be stopped soon and that can be done. Returns for how long it stood, in ns. */
uint64_t repatch_undo(struct tracer *t, struct space *space);
/* Prepares SPACE, which runs, for the filter in force. */
void repatch_prepare(struct tracer *t, struct space *space);
