/* Pauses, losses, calls that were cut, and probes, as the pass finds them; at most MARKS_ROOM of
 * each kind. Others come from the trace's records. */
#pragma once

#include "summary/summary.h"

enum { MARKS_ROOM = 100000 };

struct marks {
    summary_mark_list list; /* in no order */
    uint64_t counts[MARK_DEATH + 1];
};

/* CALL was cut: it counts for the loss in its stream at that time, which has a mark. */
void marks_pause(struct marks *m, const struct walk_pause *pause);
void marks_lost(struct marks *m, uint32_t stream, uint64_t ns, uint64_t count);
void marks_close(struct marks *m, const struct walk_call *call);
void marks_probe(struct marks *m, uint32_t stream, uint64_t ns, uint32_t function);
/* As of summary_marks(), R's records included. */
size_t marks_find(const struct marks *m, const struct trace_reader *r,
                  const struct summary_range *range, const struct summary_marks_query *query,
                  summary_mark_list *ret);
