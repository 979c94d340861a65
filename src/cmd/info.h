/* What `spoor info` shows, summed up. Its text is in info.c, its JSON in info_json.c. */
#pragma once

#include <stdio.h>

#include "analyze/changes.h"
#include "trace/reader.h"

struct info_functions { /* of all modules */
    uint64_t seen, instrumented, exact_exit;
    uint64_t tiers[TRACE_TIERS], exit_tiers[TRACE_TIERS];
    ARRAY(struct trace_refused) refused; /* the largest count first */
};

/* The caller frees `refused`. */
struct info_functions info_functions(const struct trace_reader *r);
/* How many probes of M, a module of marks, are recorded. */
uint64_t info_probes(const struct trace_module *m);
/* The number of processes. The trace has a record of a process for each exec. */
size_t info_processes(const struct trace_reader *r);
/* The number of calls that were open when their thread was first traced; *RET_THREADS: how many
 * threads have such calls. */
uint64_t info_before(const struct trace_reader *r, size_t *ret_threads);
/* Whether it is known how many reads of values were withdrawn. */
bool info_knows_withdrawn(const struct trace_reader *r);
/* Pauses of all threads. An incomplete trace has no sums: its events are read. */
struct trace_pauses info_pauses(struct trace_reader *r);
uint64_t info_length_ns(const struct trace_reader *r, uint64_t ticks);
uint64_t info_total_ns(const struct trace_reader *r, const struct trace_pauses *p);
/* Whether name I of a thread is not among its names before. */
bool info_is_new_name(const struct trace_reader *r, size_t stream, size_t i);

/* Prints what `spoor info --json` does. */
void info_json(FILE *out, struct trace_reader *r);
