/* Writes a module to the trace: its functions, and which of them are patched. */
#ifndef SPOOR_SELECT_DESCRIBE_H
#define SPOOR_SELECT_DESCRIBE_H

#include "select/traced_module.h"
#include "trace/writer.h"

/* Adds the patches of CODE to the module's outcome. CODE was made for the place where the module is
 * loaded now, and for its present selection. Returns true if the outcome has changed. */
bool describe_load(struct entry *entry, const struct plan_code *code);
/* The next calls of describe_load() will be for another selection. */
void describe_choice(struct entry *entry);
/* After describe_load(). Also sets instrumented_count and missed_count. */
void describe_module(struct trace_writer *writer, struct entry *entry);

#endif
