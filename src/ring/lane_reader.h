/*
 * Reads rings into the trace, one lane after the other. Lanes with callers of one process need the
 * same reader.
 */
#pragma once

#include "ring/lanes.h"
#include "trace/writer.h"

struct lane_reader;

struct pace;

/* WRITER and PACE, which is told of each piece that is read, outlive the reader. OVERFLOW: what
 * threads do when their rings are full. */
struct lane_reader *lane_reader_new(struct trace_writer *writer, enum overflow overflow,
                                    struct pace *pace);
void lane_reader_free(struct lane_reader *r);

/* Reads all events that HANDLE's ring has now. Returns in percent how full it was; 0: there were
 * none. */
unsigned lane_reader_read(struct lane_reader *r, struct lane_handle *handle);
/* All events are read, and HANDLE's thread writes no more: writes what is left besides. */
void lane_reader_end(struct lane_reader *r, struct lane_handle *handle);
