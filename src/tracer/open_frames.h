/*
 * Finds the open calls of threads when a running process is attached to. While the threads are
 * stopped, their stacks are copied, which takes microseconds. When they run again, the copies are
 * unwound, and the open calls are written before the threads' first events.
 *
 * - open_frames_new: the process runs; opens its files while its code is not patched
 * - open_frames_copy, for each thread: all are stopped, where they were found
 * - open_frames_set_time, then open_frames_set_stream for each: they have lanes, and are about to
 * run
 * - open_frames_write: they run
 */
#pragma once

#include "patch/space.h"
#include "ring/drain.h"
#include "unwind/unwind.h"

struct open_frames;

/* SPACE must outlive the result. */
struct open_frames *open_frames_new(const struct space *space);
void open_frames_free(struct open_frames *f);

/* Copies the stacks of TID, a thread that is still where it was found. */
void open_frames_copy(struct open_frames *f, pid_t tid);
/* Adds the calls on the stack of TID, which was copied and whose code is the program's own. A pc
 * outside all code is that of a call to nowhere: its frame is the first, its caller the next. */
void open_frames_walk(struct open_frames *f, pid_t tid, unwind_frames *ret);
/* The maps before the first copy, by the names that files had before they were removed. */
const struct maps *open_frames_code(const struct open_frames *f);
/* The maps at the time of the first copy. */
const struct maps *open_frames_maps(const struct open_frames *f);
/* Sets the time of the copies: no later than any event of these threads. */
void open_frames_set_time(struct open_frames *f);
/* TID's events will be in STREAM, through HANDLE. */
void open_frames_set_stream(struct open_frames *f, pid_t tid, uint32_t stream,
                            struct lane_handle *handle);
/* Unwinds the stacks of all threads that have a stream, and passes their open calls of traced
 * functions to DRAIN. */
void open_frames_write(struct open_frames *f, struct drain *drain);
