/* Describes a module in the trace: its functions, and which of them are patched. The outcome of a
 * module sums up all places where it is loaded. */
#pragma once

#include "select/traced_module.h"
#include "trace/writer.h"

/* Adds the patches of CODE to the outcome of M. CODE was made for one place where M is loaded, and
 * for its present selection. LEFT_OUT may be NULL. Returns true if the outcome has changed. */
bool outcome_add_load(struct traced_module *m, const struct plan_code *code,
                      const struct left_out *left_out);
/* To be called when the selection of M changes, before outcome_add_load(). */
void outcome_new_selection(struct traced_module *m);
/* No place has the patches of M that were added: no event can come from it. */
void outcome_forget_patches(struct traced_module *m);
/* Writes M to the trace, and sets its instrumented_count and missed_count. outcome_add_load() must
 * have been called. */
void outcome_write(struct trace_writer *writer, struct traced_module *m);
