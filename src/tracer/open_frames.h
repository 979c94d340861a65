/*
 * What the threads of a running process have open when it is attached to. While they stand, their
 * stacks are copied, which takes microseconds; when they run again, the copies are unwound, and
 * what is found is written before the threads' first events.
 *
 * - open_frames_new: the process runs; its files are opened while its code is not patched
 * - open_frames_copy, for each thread: all stand, as they were found
 * - open_frames_set_time, then open_frames_set_stream for each: they are about to run again, and
 * have lanes
 * - open_frames_write: they run
 */
#pragma once

#include "patch/space.h"
#include "ring/drain.h"

struct open_frames;

/* SPACE is borrowed. */
struct open_frames *open_frames_new(const struct space *space);
void open_frames_free(struct open_frames *f);

/* TID, one of its threads, is where it was found: nothing of it has been moved. */
void open_frames_copy(struct open_frames *f, pid_t tid);
/* What was mapped when the first was copied. */
const struct maps *open_frames_maps(const struct open_frames *f);
/* The time of what was copied: no later than any event of these threads. */
void open_frames_set_time(struct open_frames *f);
/* TID's events will be in STREAM, and come through HANDLE. */
void open_frames_set_stream(struct open_frames *f, pid_t tid, uint32_t stream,
                            struct lane_handle *handle);
/* Unwinds the stacks of all threads that were named, and hands over to DRAIN what calls of traced
 * functions they hold. */
void open_frames_write(struct open_frames *f, struct drain *drain);
