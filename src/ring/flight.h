/*
 * The flight recorder: with --overflow=overwrite, rings hold the newest events of each thread. A
 * snapshot writes those to a trace of its own, OUTPUT.1 and so on, while the program goes on.
 *
 *   any thread        drainer                      the recorder's own thread
 *   flight_snapshot   triggers (trigger_watch.h)
 *        └── wanted ───┴─▶ copies all rings ──────▶ writes them ─▶ wanted again
 *
 * The drainer, which owns the rings, copies them without stopping any thread. Threads that have
 * ended since the last snapshot are in the next one, within limits (flight.c).
 */
#pragma once

#include "ring/lanes.h"
#include "select/triggers.h"

struct flight;

struct flight_options {
    const struct record_options *session;
    struct trace_writer *writer; /* the recording's, before any process is written to it */
    int wake;                    /* eventfd of the recording's loop */
};

/* Also for other --overflow modes: then requests are answered with a message. Errors:
 * "no-snapshots" (there are triggers, but the output is not a file), "thread". */
int flight_new(const struct flight_options *options, struct flight **ret, struct err *err);
/* NULL: there are no triggers. */
struct triggers *flight_triggers(const struct flight *f);

/* ---- the recording's loop ---- */

/* Asks for a snapshot for REASON, a string that outlives F. It is made soon; one of the requests
 * that come meanwhile is kept. */
void flight_snapshot(struct flight *f, const char *reason);
/* 0, or why no snapshot is possible: "no-snapshots". */
int flight_check(const struct flight *f, struct err *err);
/* Reports snapshots made, and failures, since the last call. */
void flight_report(struct flight *f);
/* All lanes are closed and the drainer has ended: makes a snapshot that is still wanted, and
 * reports. Returns the number of snapshots made. */
uint32_t flight_finish(struct flight *f);
void flight_free(struct flight *f);

/* ---- the drainer ---- */

/* Whether there are triggers: the drainer must not sleep for long. */
bool flight_watches(const struct flight *f);
/* Looks for triggers in the lanes; if one fires, takes a snapshot at once. Returns in percent how
 * much of its ring the busiest thread has filled since the last look. */
unsigned flight_look(struct flight *f, struct lane_handle *const *active, size_t count);
/* HANDLE's thread has ended, and its lane is about to be freed. */
void flight_retire(struct flight *f, struct lane_handle *handle);
/* Lanes were retired: takes the snapshot that was wanted before, or that their last events
 * triggered. */
void flight_settle(struct flight *f, struct lane_handle *const *active, size_t count);
