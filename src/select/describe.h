/* Puts what a catalog entry is into the trace, so that views need no other file. */
#ifndef SPOOR_SELECT_DESCRIBE_H
#define SPOOR_SELECT_DESCRIBE_H

#include "select/traced_module.h"
#include "trace/writer.h"

/* Adds what CODE, made where ENTRY is loaded now for what is selected now, serves to ENTRY's
 * outcome. Returns whether that is news. */
bool describe_load(struct entry *entry, const struct plan_code *code);
/* What will be told to describe_load() from now on is of another selection. */
void describe_choice(struct entry *entry);
/* After describe_load(): sets ENTRY's instrumented_count and missed_count, too. */
void describe_module(struct trace_writer *writer, struct entry *entry);

#endif
