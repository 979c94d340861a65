/*
 * The flight recorder: with --overflow=overwrite, rings hold the newest events of each thread, and
 * a snapshot writes those to a trace of its own, OUTPUT.1 and so on, while the program goes on.
 *
 *   anybody          drainer                      the recorder's own thread
 *   flight_snapshot  triggers (watch.h)
 *        └── wanted ──┴─▶ copies all rings ──────▶ writes them ─▶ wanted once more
 *
 * Copies are made by the drainer, to whom rings belong, without stopping any thread. Threads that
 * have ended since the last snapshot are in the next one, within limits (flight.c).
 */
#pragma once

#include "ring/lanes.h"
#include "select/triggers.h"

struct flight;

struct flight_options {
    const struct record_options *session;
    struct trace_writer *writer; /* of the session, before it is told of any process */
    int wake;                    /* eventfd of the session's loop */
};

/* Also where nothing is overwritten: then requests are answered with a message. Errors:
 * "no-snapshots" (there are triggers, but the output is not a file), "thread". */
int flight_new(const struct flight_options *options, struct flight **ret, struct err *err);
/* NULL: there are none. */
struct triggers *flight_triggers(const struct flight *f);

/* ---- the session's loop ---- */

/* Asks for a snapshot, for REASON, which stays. It is made soon; of requests that come meanwhile
 * one is kept. */
void flight_snapshot(struct flight *f, const char *reason);
/* 0, or why there cannot be any snapshot: "no-snapshots". */
int flight_check(const struct flight *f, struct err *err);
/* Tells the user what has been made, or has failed, since. */
void flight_tell(struct flight *f);
/* All lanes are closed and the drainer has ended: makes what is still wanted, and tells. Returns
 * how many snapshots there are. */
uint32_t flight_finish(struct flight *f);
void flight_free(struct flight *f);

/* ---- the drainer ---- */

/* Whether triggers are to be looked for, so that the drainer must not sleep for long. */
bool flight_watches(const struct flight *f);
/* Looks at the lanes for triggers; if one fires, takes a snapshot at once. Returns how full the
 * ring was that has filled most since the last time, in percent. */
unsigned flight_look(struct flight *f, struct lane_handle *const *active, size_t count);
/* HANDLE's thread has ended, and its ring is about to be given back. */
void flight_retire(struct flight *f, struct lane_handle *handle);
/* After lanes were retired: takes the snapshot that was wanted before, or that their last events
 * have triggered. */
void flight_settle(struct flight *f, struct lane_handle *const *active, size_t count);
