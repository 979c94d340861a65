/*
 * Gives a task its lane when tracing begins, and closes the lane when the task writes no more
 * events. A task has a lane as long as task->lane is set.
 */
#pragma once

#include "target/maps.h"
#include "tracer/tracer_state.h"

/* TASK is before its first instruction: gives it a lane, if it has a space. */
void task_lane_give(struct tracer *t, struct task *task);
/* TASK is anywhere in a running program: gives it a lane. MAPS are its process's. */
void task_lane_join(struct tracer *t, struct task *task, const struct maps *maps);
/* TASK, of stage TASK_LATE, is stopped: gives it a lane if it has none, and writes its open calls
 * to the trace. */
void task_lane_join_late(struct tracer *t, struct task *task);
/* TASK, which has not run yet, will write to LANE. */
void task_lane_set(const struct tracer *t, const struct task *task, taddr_t lane);
void task_lane_close(struct tracer *t, struct task *task);
