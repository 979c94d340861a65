/*
 * The markers of a Firefox profile: marks of `record --usdt`, lost events, pauses, and with values
 * calls of which some were recorded. They are read in a walk of their own, put by (spool.h), and
 * written thread by thread. Times are those of tracks.h: without the pauses of the thread before.
 */
#pragma once

#include "export/export.h"

struct markers;
/* Reads them. An error of temporary files becomes one of OUT. */
struct markers *markers_read(const struct view *view, struct out *out);
void markers_free(struct markers *m);

uint64_t markers_count(const struct markers *m, uint32_t stream);

/* What a marker's name is, in place of a function's number. */
enum { MARKER_LOST = UINT32_MAX, MARKER_PAUSE = UINT32_MAX - 1 };
/* "events lost", or the function's name. */
const char *marker_name(const struct markers *m, uint32_t name);
/* Writes "markers":{…} of STREAM. NUMBER: of a name in the thread's table of strings. */
void markers_write(struct markers *m, uint32_t stream, size_t (*number)(void *ctx, uint32_t name),
                   void *ctx);

/* The member "markerSchema" of a profile. */
extern const char markers_schema[];
