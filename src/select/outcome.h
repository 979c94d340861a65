/* Writes a module to the trace: its functions, and which of them are patched. */
#pragma once

#include "select/traced_module.h"
#include "trace/writer.h"

/* Adds the patches of CODE to the module's outcome. CODE was made for the place where the module is
 * loaded now, and for its present selection. Returns true if the outcome has changed. */
bool outcome_add_load(struct traced_module *m, const struct plan_code *code);
/* The next calls of outcome_add_load() will be for another selection. */
void outcome_new_selection(struct traced_module *m);
/* After outcome_add_load(). Also sets instrumented_count and missed_count. */
void outcome_write(struct trace_writer *writer, struct traced_module *m);
