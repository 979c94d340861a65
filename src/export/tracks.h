/*
 * Calls as beginnings and ends, one stack after the other: for formats that want those of a thread
 * together, and nested. A *track* is a thread's own stack, or that of a coroutine.
 *
 * Times are nanoseconds of the trace without the pauses of the thread before: so the calls of a
 * track are as long as their durations. They never step back within a track.
 */
#pragma once

#include "export/export.h"

enum { TRACK_END = UINT32_MAX }; /* in place of a frame: the innermost call ends */

struct track {
    uint32_t stream; /* of the thread in which its first call began */
    uint32_t stack;  /* 0: the thread's own; else a number within the stream's group */
    uint64_t first_ns, last_ns;
    struct tracks *tracks; /* private */
    uint32_t index;
};

/* Calls ON with CTX and each track of the shown calls that has any. OUT is where ON writes: an
 * error there ends it, and one of temporary files becomes one there. */
void tracks_read(const struct view *view, struct out *out,
                 void (*on)(void *ctx, const struct track *track), void *ctx);

/* Calls ON with all beginnings and ends of TRACK, which ON of tracks_read() has got; again and
 * again with the same. A beginning has a frame: a number below track_frames(), for the calls of a
 * function during which no events were lost, or for the others: their ends are not known. */
void track_each(const struct track *track, void (*on)(void *ctx, uint64_t ns, uint32_t frame),
                void *ctx);
uint32_t track_frames(const struct view *view);
uint32_t track_frame(uint32_t function); /* of its calls that are not cut */
/* The function of FRAME; UINT32_MAX: it stands for all those of --hide. */
uint32_t track_function(const struct view *view, uint32_t frame);
/* "work", "work [cut]" or "[hidden]"; to be freed. */
char *track_frame_name(const struct view *view, uint32_t frame);

/* ", stack 3" to put behind the name of a thread; "" for its own stack. To be freed. */
char *track_stack(const struct track *track);
