/*
 * What the threads of a running process have open when it is attached to. While they stand, their
 * stacks are copied, which takes microseconds; when they run again, the copies are unwound, and
 * what is found is told before the threads' first events.
 *
 * - frames_new: the process runs; its files are opened as long as its code is theirs
 * - frames_copy, for each thread: all stand, as they were found
 * - frames_stand, then frames_name for each: they are about to run again, and have lanes
 * - frames_tell: they run
 */
#ifndef SPOOR_TRACER_FRAMES_H
#define SPOOR_TRACER_FRAMES_H

#include "patch/space.h"
#include "ring/drain.h"

struct frames;

/* SPACE is borrowed. */
struct frames *frames_new(const struct space *space);
void frames_free(struct frames *f);

/* TID, one of its threads, is where it was found: nothing of it has been moved. */
void frames_copy(struct frames *f, pid_t tid);
/* What was mapped when the first was copied. */
const struct maps *frames_maps(const struct frames *f);
/* The time of what was copied: no later than any event of these threads. */
void frames_stand(struct frames *f);
/* TID's events will be those of STREAM, and stand in SLOT. */
void frames_name(struct frames *f, pid_t tid, uint32_t stream, struct slot *slot);
/* Unwinds the stacks of all threads that were named, and hands over to DRAIN what calls of traced
 * functions they hold. */
void frames_tell(struct frames *f, struct drain *drain);

#endif
