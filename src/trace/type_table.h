/*
 * The types of captures in a trace: a graph as a record and back (doc/trace-format.md, "types").
 * Numbers are those of the graph that was written; they ascend from one record to the next.
 */
#pragma once

#include "trace/block.h"
#include "trace/records.h"
#include "types/types.h"

/* Appends a record of the types FIRST … END − 1 of GRAPH. */
void type_table_put(struct bytes *ret, struct types *graph, type_id first, type_id end);
/* Adds the types of a record to GRAPH, under their numbers. Whatever the record says, types refer
 * to types of GRAPH, and pieces that are malformed are left out. False: malformed. */
bool type_table_load(struct fields *f, struct types *graph);
