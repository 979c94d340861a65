/* The captures that a trace describes. Private to src/trace. */
#pragma once

#include "trace/file.h"
#include "trace/records.h"

/* Reads the record at F. False: malformed. */
bool captures_load(struct trace_reader *r, struct fields *f);
/* All are loaded: sorts them by number. */
void captures_sort(struct trace_reader *r);
/* NULL: there is none with NUMBER. */
const struct read_capture *captures_find(const struct trace_reader *r, uint32_t number);
void captures_done(struct trace_reader *r);
/* Moves blocks of values to r->value_blocks, by stream and time. */
void values_group(struct trace_reader *r);
