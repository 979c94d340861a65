/*
 * Writes a trace file. One writer, one thread at a time per call except where said.
 *
 * The file is FILE.part until trace_writer_finish() renames it. Compression and disk writes happen
 * in a thread of the writer's own, so that draining rings never waits for the disk longer than the
 * queue is deep.
 */
#pragma once

#include "trace/format.h"

struct trace_writer;

/* Errors: "open", "not-a-file". Creates PATH.part; if PATH is a pipe or a character device, it is
 * written to directly. A symbolic link is followed. */
int trace_writer_open(const char *path, const struct trace_session *session,
                      struct trace_writer **ret, struct err *err);

/* What W is told from now on of processes, modules, maps and changes is kept, for
 * trace_writer_branch(). */
void trace_writer_keep(struct trace_writer *w);
/* A further trace, at PATH, that begins with what W has kept, and with the same session and first
 * clock; threads and their streams are its own. Errors: those of trace_writer_open(). */
int trace_writer_branch(struct trace_writer *w, const char *path, struct trace_writer **ret,
                        struct err *err);

/* Metadata. Each is on disk (or queued) before any event that needs it may be added. These, and
 * trace_writer_events(), may be called from different threads; the writer locks. */
void trace_writer_clock(struct trace_writer *w, const struct trace_clock *clock);
void trace_writer_process(struct trace_writer *w, const struct trace_process *process);
void trace_writer_thread(struct trace_writer *w, const struct trace_thread *thread);
void trace_writer_module(struct trace_writer *w, const struct trace_module *module);
void trace_writer_map(struct trace_writer *w, const struct trace_map *map);
/* What was open in a stream at a time. May come after events of later times. Of very many frames
 * (65 536) the innermost are kept. */
void trace_writer_frames(struct trace_writer *w, const struct trace_frames *frames);
/* Chains of callers, before any event tells of them. All numbers below are known. */
void trace_writer_chains(struct trace_writer *w, const struct trace_chains *chains);
/* What is recorded from now on. */
void trace_writer_change(struct trace_writer *w, const struct trace_change *change);

/* Appends COUNT events of one stream, in ring order; clocks may step back slightly and are made
 * monotone. A slot whose kind is none of enum event_kind becomes the loss of one event. Each stream
 * must be fed by one thread at a time. */
void trace_writer_events(struct trace_writer *w, uint32_t stream, const struct trace_event *events,
                         size_t count);
/* COUNT events were lost in STREAM at this point. */
void trace_writer_lost(struct trace_writer *w, uint32_t stream, uint64_t ticks, uint64_t count);
/* The stream has ended (its thread exited at TICKS). */
void trace_writer_thread_end(struct trace_writer *w, uint32_t stream, uint64_t ticks);
/* Makes what was added so far readable by a concurrent reader, without waiting for the disk. Every
 * stream with new events gets a block of its own, 72 bytes and less well compressed: at most a few
 * times a second, better once. */
void trace_writer_flush(struct trace_writer *w);
/* Waits until everything that was sent off (full blocks, metadata, what was flushed) is written. */
void trace_writer_sync(struct trace_writer *w);

/* After a write error (disk full, …) everything further is discarded and counted as lost; the first
 * error is kept here: 0 or −errno. */
int trace_writer_error(struct trace_writer *w, struct err *err);

struct trace_totals {
    uint64_t entries, exits, lost, bytes;
};
struct trace_totals trace_writer_totals(struct trace_writer *w);

/* Writes index and end, renames PATH.part to PATH, frees W. On error ("write",
 * "rename") the .part stays. */
int trace_writer_finish(struct trace_writer *w, const struct trace_end *end,
                        struct trace_totals *ret_totals, struct err *err);
/* Frees W, leaving the .part as a crash would. */
void trace_writer_abandon(struct trace_writer *w);
