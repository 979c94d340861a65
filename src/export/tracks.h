/*
 * Calls as beginnings and ends, one stack after the other: for formats that want those of a thread
 * together, and nested. A *track* is a thread's own stack, or that of a coroutine.
 *
 * Times are nanoseconds of the trace without the pauses of the thread before: so the calls of a
 * track are as long as their durations. They never step back within a track.
 */
#pragma once

#include "export/export.h"

enum { TRACK_END = UINT32_MAX }; /* in place of a function: the innermost call ends */

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
 * again with the same. tracks_hidden() stands for functions of --hide. */
void track_each(const struct track *track, void (*on)(void *ctx, uint64_t ns, uint32_t function),
                void *ctx);
/* A number above those of all functions. */
uint32_t tracks_hidden(const struct view *view);
#define TRACKS_HIDDEN "[hidden]"

/* ", stack 3" to put behind the name of a thread; "" for its own stack. To be freed. */
char *track_stack(const struct track *track);
