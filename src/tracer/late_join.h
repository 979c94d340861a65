/* Tasks that waited in the kernel when their space got patches. */
#ifndef SPOOR_TRACER_LATE_JOIN_H
#define SPOOR_TRACER_LATE_JOIN_H

#include "tracer/core.h"

/* TASK, `late`, stands: it gets its lane, and its open calls are written to the trace. */
void late_join(struct tracer *t, struct task *task);

#endif
