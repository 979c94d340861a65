/* What the tests of src/trace share: scratch files, a small trace, and calls that must succeed. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "generate.h"
#include "trace/block.h"
#include "trace/reader.h"
#include "trace/writer.h"

/* A path in a fresh directory; scratch_free() removes both. */
char *scratch_new(void);
void scratch_free(char *path);

struct trace_writer *must_open_writer(const char *path);
/* A recording with these limits. */
struct trace_writer *must_open_limited(const char *path, uint32_t depth, uint64_t threshold_ns);
void must_finish(struct trace_writer *w);
struct trace_reader *must_open_reader(const char *path);

/* must_load() and must_store(): whole files. */
uint8_t *must_load(const char *path, size_t *ret_size);
void must_store(const char *path, const void *bytes, size_t size);

/* A complete trace with two clocks, two processes, three streams, two modules and a loss. */
void write_small_trace(const char *path);

/* A block with SIZE bytes that can be packed. */
struct block *block_of(enum disk_type type, size_t size);
/* Gives COUNT events to STREAM in pieces of irregular size. */
void feed(struct trace_writer *w, uint32_t stream, const struct trace_event *events, size_t count);
/* Reads all of a trace, through cursors, merge and accessors; returns the number of items. The
 * trace may be damaged. */
size_t walk_trace(const char *path);
