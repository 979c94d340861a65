/*
 * Reads the parts of a recording (parts.h) as one trace. Private to src/trace.
 *
 * Blocks say in which file they are: bits 48 and up of their offset are the file's number in the
 * set. Streams are numbered anew, over all files. What a part repeats is left out: its processes,
 * modules, threads and open calls are known from the parts before.
 */
#pragma once

#include "trace/file.h"

enum { SET_OFFSET_BITS = 48, SET_FILES_MAX = 1 << 15 };

struct part_set;

/* The file of R, whose blocks were found, is the newest part of a recording if it is named like
 * one: adds the parts before it that are there. Sets r->part. */
void part_set_join(struct trace_reader *r);
void part_set_free(struct part_set *s);

/* Where to read the block at OFFSET. */
struct part_set_place {
    int fd;
    uint64_t offset;
};
struct part_set_place part_set_place(const struct trace_reader *r, uint64_t offset);
/* The stream of ENTRY, a block with events, as its file says. */
uint32_t part_set_stream_in_file(const struct trace_reader *r,
                                 const struct disk_index_entry *entry);

/* ENTRY's record is about to be loaded, in the order of the files. */
void part_set_load(struct trace_reader *r, const struct disk_index_entry *entry);
/* The number that a stream of the file being loaded has in R. */
uint32_t part_set_stream(struct trace_reader *r, uint32_t stream);
/* Whether a record of frames repeats what the next part says: what is open at a part's end. */
bool part_set_repeats_frames(const struct trace_reader *r);
/* The record that ends what the file repeats. */
void part_set_continue(struct trace_reader *r, const struct trace_part *part);
/* All records are loaded: gives event blocks the numbers of their streams. */
void part_set_number_blocks(struct trace_reader *r);
/* Adds to r->end what the ends of earlier parts have said. */
void part_set_add_end(struct trace_reader *r, const struct trace_end *end);
/* Adds to a stream's extent what earlier parts have said. */
void part_set_add_extent(struct trace_reader *r, struct trace_extent *extent);
