/*
 * The files of a recording that is cut into parts (--max-size). The newest one is NAME.part, later
 * NAME. Earlier ones are NAME.1, NAME.2 and so on; the oldest are removed, so that all together
 * take no more than the limit. A thread completes parts while the next one is written.
 *
 * Functions may be called from any thread.
 */
#pragma once

#include "trace/sink.h"

struct parts;

enum {
    PARTS_SHARE = 8,  /* a part takes at most this share of the limit, if it can */
    PARTS_CLOSING = 2 /* parts that are completed at a time */
};

/* FIRST, which is just open, is part 1 of the trace NAME. MOST_BYTES: of all parts together. */
struct parts *parts_new(struct sink *first, const char *name, uint64_t most_bytes);
/* Waits until all parts are complete. */
void parts_free(struct parts *p);

/* The number of the newest part. */
uint32_t parts_number(const struct parts *p);
/* Whether the newest part, of SIZE bytes, is full. While others are not complete it may become
 * larger; waits for these only if it has become much larger. */
bool parts_is_full(struct parts *p, uint64_t size);
/* The memory in which blocks of one part may wait, if there is ALL: what waits may have to be
 * written unpacked, within the limit of the files. */
uint64_t parts_memory(const struct parts *p, uint64_t all);
/* The newest part begins with BYTES that repeat earlier ones: it may take twice as many. */
void parts_set_repeated(struct parts *p, uint64_t bytes);
/* Opens a file for the next part, under the name that the newest one is to have. Errors: those of
 * sink_open(). */
int parts_open_next(struct parts *p, struct sink **ret, struct err *err);
/* SINK was the newest part, and all of it is pushed. */
void parts_close(struct parts *p, struct sink *sink);
/* NEWEST, with what all other parts have; `bytes` only of those that are still there. */
struct trace_totals parts_add_totals(struct parts *p, struct trace_totals newest);
/* Waits until all parts but the newest, which is complete, are complete. 0, or the first error. */
int parts_finish(struct parts *p, struct trace_parts *ret, struct err *err);
