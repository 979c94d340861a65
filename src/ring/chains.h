/*
 * Numbers the chains of callers of one trace (trace/format.h) in the order in which they are met,
 * equal ones once. One thread at a time.
 */
#pragma once

#include "trace/writer.h"

struct chains;
/* WRITER outlives them. */
struct chains *chains_new(struct trace_writer *writer);
void chains_free(struct chains *c);
/* A number that no other struct chains has. */
uint64_t chains_serial(const struct chains *c);

/* The number of PLACE. Copies its texts if it is new. */
uint32_t chains_place(struct chains *c, const struct trace_place *place);
/* The number of the chain that begins with PLACE and goes on with CALLERS, a chain or an end. */
uint32_t chains_add(struct chains *c, uint32_t callers, uint32_t place);
/* Writes new places and chains to the trace; called before events with their numbers. */
void chains_write_new(struct chains *c);
