/*
 * The file being written, and the thread that compresses blocks and writes them.
 *
 * Blocks come in through a queue. Blocks of events wait while it holds more than a few MiB, which
 * is the back pressure the program under trace feels; metadata never waits. After the first write
 * error everything is taken and thrown away, its events counted as lost, so that nobody ever waits
 * for a disk that does not come back.
 */
#pragma once

#include "base/err.h"
#include "trace/block.h"
#include "trace/writer.h"

struct sink;

/* As trace_writer_open(). */
int sink_open(const char *path, struct sink **ret, struct err *err);
/* Takes BLOCK. Any thread. */
void sink_push(struct sink *s, struct block *block);
/* Waits until everything pushed before has been written or thrown away. */
void sink_sync(struct sink *s);
/* 0 or the first write error. Any thread. */
int sink_error(struct sink *s, struct err *err);
bool sink_failed(const struct sink *s);
/* Changes the totals by these (modulo 2^64). Any thread. */
void sink_count(struct sink *s, uint64_t entries, uint64_t exits, uint64_t lost);
struct trace_totals sink_totals(const struct sink *s);
/* Writes what is queued. If COMPLETE, also the index and the trailer, and gives the file its name.
 * Returns 0 or the first error; S must still be freed. */
int sink_close(struct sink *s, bool complete, struct err *err);
void sink_free(struct sink *s); /* after sink_close() */
