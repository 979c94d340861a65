/* The recorded values of calls: arguments, results. They are read when they are asked for. */
#pragma once

#include "analyze/names.h"
#include "trace/values.h"
#include "values/print.h"

struct call_values;
/* NULL: the trace has none. R and NAMES must outlive the result, which is for one thread. */
struct call_values *call_values_new(struct trace_reader *r, struct names *names);
void call_values_free(struct call_values *v); /* may be NULL */

/* An entry, or the return, of a call; or a mark. */
struct call_point {
    uint32_t stream, id;  /* event id of the call's function */
    enum event_kind kind; /* EVENT_CONTROL: a mark */
    uint64_t ns;          /* since the trace's start */
};
/* False: nothing was captured there. Valid until the next call. */
bool call_values_find(struct call_values *v, const struct call_point *point,
                      struct trace_occurrence *ret);
/* Occurrence I of BLOCK (trace_reader_block()), in the order of events, and its point. False: there
 * are no more. */
bool call_values_at(struct call_values *v, size_t block, size_t i, struct call_point *point,
                    struct trace_occurrence *ret);
/* Shows values of the occurrence that was found last. Its names are valid until the next one. */
const struct printer *call_values_printer(struct call_values *v);
