/*
 * Changes patches while programs run: takes them away for a pause, puts them back, or replaces them
 * for another filter.
 *
 * The context of all spaces says what is wanted, so spaces that begin from now on (exec) are right
 * from the start. The others are stale, and are changed one by one. A space that has just been
 * forked is a copy of its parent's: it is changed when its first stop has been answered. Slow work
 * (loading, planning, emitting) is done while the space runs. While it is stopped, threads are
 * moved out of trampolines, text is written, and threads are moved in.
 *
 * Between two sets of patches the ends of calls are not seen. So in the trace each thread's calls
 * end when its patches are taken away. Calls that its stack still shows when it gets new patches go
 * on (open_frames.h).
 *
 * Called from the recording's loop, never while a task is answered.
 */
#pragma once

#include "patch/thread_positions.h"
#include "tracer/open_frames.h"
#include "tracer/tracer_state.h"

/* Changes all stale spaces, and those that attach.c has just set up, until none is left. RET_NS:
 * for how long a space was stopped, at most. Errors: "busy" (the others follow later). */
int repatch_all(struct tracer *t, uint64_t *ret_ns, struct err *err);
/* SPACE is about to be detached: takes its patches away and its threads out of trampolines, if it
 * can be stopped soon. Returns for how long it was stopped, in ns. */
uint64_t repatch_undo(struct tracer *t, struct space *space);
/* For text_changes.c, and changes here. SPACE is stopped and about to be patched, its threads are
 * in the program's own code: copies their stacks to FRAMES, and adds their positions to RET. */
void repatch_look(const struct tracer *t, const struct space *space, struct open_frames *frames,
                  struct thread_positions *ret);
/* SPACE is patched and about to run; the second, when it runs: write the open calls in FRAMES to
 * the trace, each where that is early enough. */
void repatch_set_streams(const struct tracer *t, const struct space *space,
                         struct open_frames *frames);
void repatch_write_calls(const struct tracer *t, struct open_frames *frames);
/* Prepares SPACE, which runs, for the filter in force. */
void repatch_prepare(struct tracer *t, struct space *space);
