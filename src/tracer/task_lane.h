/*
 * The lane of a task: given when it begins to be traced, closed when it writes no more events. A
 * task has one as long as task->lane is set.
 */
#pragma once

#include "target/maps.h"
#include "tracer/core.h"

/* TASK stands before its first instruction: gets a lane, if it has a space. */
void task_lane_give(struct tracer *t, struct task *task);
/* TASK stands anywhere in a program that runs: gets a lane. MAPS are its process's. */
void task_lane_join(struct tracer *t, struct task *task, const struct maps *maps);
/* TASK, of stage TASK_LATE, stands: gets a lane if it has none, and its open calls are written to
 * the trace. */
void task_lane_join_late(struct tracer *t, struct task *task);
/* TASK, which has not run yet, will write to LANE. */
void task_lane_set(const struct tracer *t, const struct task *task, taddr_t lane);
void task_lane_close(struct tracer *t, struct task *task);
