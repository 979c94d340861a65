/*
 * Writes records about changes while programs run: pauses, other functions, processes that are
 * detached while the recording goes on. Any file of the room may call it.
 */
#pragma once

#include "tracer/tracer_state.h"

/* For process PID, from now on. */
void trace_changes_process(const struct tracer *t, pid_t pid, enum trace_change_kind kind);
/* For each process that has SPACE, at TICKS. */
void trace_changes_space(const struct tracer *t, const struct space *space,
                         enum trace_change_kind kind, uint64_t ticks);
/* TASK has begun a program, or its life: writes whether it is paused. WAS_PAUSED: the program
 * before was. */
void trace_changes_program(const struct tracer *t, const struct task *task, bool was_paused);
/* FILTER is in force. ADDED and REMOVED: how many functions, compared with the filter before. */
void trace_changes_filter(const struct tracer *t, const struct filter *filter, size_t added,
                          size_t removed);
