/*
 * Reads rings into the trace, one lane after the other. Lanes with callers of one process need the
 * same reader.
 */
#pragma once

#include "ring/lanes.h"
#include "trace/writer.h"

struct lane_reader;

/* WRITER outlives the reader. */
struct lane_reader *lane_reader_new(struct trace_writer *writer);
void lane_reader_free(struct lane_reader *r);

/* Reads all events that HANDLE's ring has now. Returns in percent how full it was; 0: there were
 * none. LIMITLESS: the ring is overwritten, not waited for. */
unsigned lane_reader_read(struct lane_reader *r, struct lane_handle *handle, bool limitless);
/* All events are read, and HANDLE's thread writes no more: writes what is left besides. */
void lane_reader_end(struct lane_reader *r, struct lane_handle *handle);
