/*
 * Writes a trace file. Functions for metadata and events may run in different threads; others run
 * in one thread at a time.
 *
 * The file is FILE.part until trace_writer_finish() renames it. Threads of the writer compress and
 * write. So the drainer waits only for a slow disk, or when the memory for blocks is full.
 */
#pragma once

#include "trace/format.h"

struct trace_writer;

/* Creates PATH.part, or writes to PATH directly if that is a pipe or a character device. Follows a
 * symbolic link. Errors: "open", "not-a-file". */
int trace_writer_open(const char *path, const struct trace_session *session,
                      struct trace_writer **ret, struct err *err);

/* The memory in which blocks wait for a processor or the disk (sink.h), of W and of its later
 * branches. Default: TRACE_MEMORY_BYTES. */
void trace_writer_limit(struct trace_writer *w, uint64_t bytes);

/* Cuts the trace, just opened and before trace_writer_limit(), into parts: files that take
 * MOST_BYTES together (parts.h). Each is a trace of its own. Errors: "no-parts" (the output is not
 * a file). */
int trace_writer_cut(struct trace_writer *w, uint64_t most_bytes, struct err *err);
/* Begins a new part, if the present one is large enough. CLOCK: events before it were all given to
 * the writer, unless their threads stood between two steps. */
void trace_writer_turn(struct trace_writer *w, const struct trace_clock *clock);

/* From now on keeps copies of processes, modules, maps and changes for trace_writer_branch(). */
void trace_writer_keep(struct trace_writer *w);
/* Opens another trace at PATH that begins with the session, the first clock and the kept records of
 * W. Its threads and streams are its own. Errors: those of trace_writer_open(). */
int trace_writer_branch(struct trace_writer *w, const char *path, struct trace_writer **ret,
                        struct err *err);

/* Metadata. The caller adds each record before the events that refer to it. These functions and
 * trace_writer_events() may be called from different threads; the writer locks. */
void trace_writer_clock(struct trace_writer *w, const struct trace_clock *clock);
void trace_writer_process(struct trace_writer *w, const struct trace_process *process);
void trace_writer_thread(struct trace_writer *w, const struct trace_thread *thread);
void trace_writer_module(struct trace_writer *w, const struct trace_module *module);
void trace_writer_map(struct trace_writer *w, const struct trace_map *map);
/* The open calls of a stream at one time. May come after events of later times. Keeps the innermost
 * 65 536 frames. */
void trace_writer_frames(struct trace_writer *w, const struct trace_frames *frames);
/* Chains of callers, before events refer to them. All smaller numbers were written before. */
void trace_writer_chains(struct trace_writer *w, const struct trace_chains *chains);
/* A change of what is recorded. */
void trace_writer_change(struct trace_writer *w, const struct trace_change *change);
void trace_writer_death(struct trace_writer *w, const struct trace_death *death);

/* Appends COUNT events of one stream, in ring order. Clocks that step back are made monotone. A
 * stream may be fed by one thread at a time. */
void trace_writer_events(struct trace_writer *w, uint32_t stream, const struct trace_event *events,
                         size_t count);
/* The same for events in a ring that were written until *LATEST (ticks). Stops where encoder_ring()
 * stops, and returns how many it has taken. Sets *LATEST to the ticks of the last one. */
size_t trace_writer_ring(struct trace_writer *w, uint32_t stream, const struct event *at,
                         size_t count, uint64_t *latest);
/* The values of events of STREAM that come later. They are dropped if an event does not come before
 * events of later times. */
struct value_batch;
void trace_writer_values(struct trace_writer *w, uint32_t stream, const struct value_batch *b);
/* COUNT events were lost in STREAM at this point. */
void trace_writer_lost(struct trace_writer *w, uint32_t stream, uint64_t ticks, uint64_t count);
/* The stream ends: its thread exited at TICKS. */
void trace_writer_thread_end(struct trace_writer *w, uint32_t stream, uint64_t ticks);
/* Queues all events so far, so that a concurrent reader sees them soon. Every stream with new
 * events gets a block, which costs 72 bytes and compression: call it once a second or less. */
void trace_writer_flush(struct trace_writer *w);
/* Waits until all queued blocks (full, metadata, flushed) are written. */
void trace_writer_sync(struct trace_writer *w);

/* The first write error (disk full, …) as −errno, or 0. After it all events are discarded and
 * counted as lost. */
int trace_writer_error(struct trace_writer *w, struct err *err);

struct trace_totals trace_writer_totals(struct trace_writer *w);
/* Writes index and end, renames PATH.part to PATH, frees W. On error ("write",
 * "rename") the .part stays. */
int trace_writer_finish(struct trace_writer *w, const struct trace_end *end,
                        struct trace_totals *ret_totals, struct err *err);
/* Removes the .part and frees W. */
void trace_writer_remove(struct trace_writer *w);
/* Frees W and leaves the .part, as after a crash. */
void trace_writer_abandon(struct trace_writer *w);
