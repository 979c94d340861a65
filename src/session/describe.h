/* Puts what a catalog entry is into the trace, so that views need no other file. */
#ifndef SPOOR_SESSION_DESCRIBE_H
#define SPOOR_SESSION_DESCRIBE_H

#include "session/catalog.h"

/* Adds what CODE, where ENTRY is loaded now, serves to ENTRY's outcome. Returns whether that is
 * news. */
bool describe_load(struct entry *entry, const struct plan_code *code);
/* After that. Returns how many functions have had no patch so far. */
size_t describe_module(struct trace_writer *writer, const struct entry *entry);

#endif
