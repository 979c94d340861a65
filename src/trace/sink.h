/*
 * Takes blocks, has them packed (compressed) and writes them to the file, in the order in which
 * they were pushed.
 *
 *     sink_push()  ─▶  waiting  ─▶  packed  ─▶  written      a thread that writes, and some that
 *                         └──── unpacked ─────────▲          pack (packers.h)
 *
 * Packing has the lowest priority. While the program and the drainer take all processors, blocks
 * wait in memory. If they would take more than the limit, the oldest are written: every other one
 * is packed by the writing thread, the rest stay unpacked. After sink_close(), all processors pack
 * for 1.5 s at most; what then waits is written unpacked, too.
 *
 * sink_push() of an event block waits for memory, or for a disk that is more than 16 MiB behind;
 * this slows the traced program down. Metadata never waits. After the first write error all blocks
 * are discarded and their events counted as lost. So no thread waits for a broken disk.
 */
#pragma once

#include "base/err.h"
#include "trace/block.h"
#include "trace/format.h"

struct sink;

/* Errors: those of trace_writer_open(). IS_PRIVATE: only the owner may read the file. */
int sink_open(const char *path, bool is_private, struct sink **ret, struct err *err);
/* The memory in which blocks may wait. A block may be larger, and each thread that packs may hold
 * another one. Default: TRACE_MEMORY_BYTES. */
void sink_limit(struct sink *s, uint64_t bytes);
/* Lets all processors pack at normal priority. sink_push() and sink_close() wait until all blocks
 * are packed, however long that takes. */
void sink_be_patient(struct sink *s);
/* The file's name once it is complete. NULL: it is not a regular file. */
const char *sink_name(const struct sink *s);
/* What has the name of the trace is kept as NAME.old now. */
void sink_keep_old_now(struct sink *s);
/* A file that has the name of the trace is kept as NAME.old when the trace is complete. */
void sink_keep_old(struct sink *s);
/* Takes BLOCK. Any thread. */
void sink_push(struct sink *s, struct block *block);
/* About how many bytes the file would have, were it closed now. Any thread. */
uint64_t sink_size(struct sink *s);
/* BEFORE is called, in the writing thread, before BYTES more are written. To be set before the
 * first block is pushed. */
void sink_announce(struct sink *s, void (*before)(void *ctx, uint64_t bytes), void *ctx);
/* NEW is written under the name of OLD from now on, and OLD under that of NEW. Errors: "rename". */
int sink_exchange_names(struct sink *old, struct sink *new, struct err *err);
/* All later blocks are discarded, as if ERROR had happened while writing. */
void sink_fail(struct sink *s, const struct err *error);
/* Waits until every block pushed before is written or discarded. */
void sink_sync(struct sink *s);
/* 0 or the first write error. Any thread. */
int sink_error(struct sink *s, struct err *err);
bool sink_failed(const struct sink *s);
/* Adds to the totals (modulo 2^64). Any thread. */
void sink_count(struct sink *s, uint64_t entries, uint64_t exits, uint64_t lost);
struct trace_totals sink_totals(const struct sink *s);
/* sink_close() packs for NS at most. */
void sink_close_within(struct sink *s, uint64_t ns);
/* Writes the waiting blocks. If COMPLETE, also writes index and trailer, and renames the file.
 * Returns 0 or the first error. S must still be freed. */
int sink_close(struct sink *s, bool complete, struct err *err);
void sink_remove(const struct sink *s); /* its .part; before sink_free() */
void sink_free(struct sink *s);         /* after sink_close() */
