/*
 * The tool's side of struct kept_calls (wire/ring.h), of one lane. Of its words, the tool writes
 * `from` only, and the others while the thread is stopped.
 */
#pragma once

#include "ring/lanes.h"

/* HANDLE's lane is new: nothing is kept. */
void kept_calls_begin(struct lane_handle *handle);
/* HANDLE's thread is stopped, and may have open calls whose entries were recorded though nothing
 * judged them: all of its calls are recorded. */
void kept_calls_all(struct lane_handle *handle);
/* The lowest stack pointer of these calls is LOWEST, or there are none (UINT64_MAX): calls below
 * are judged. */
void kept_calls_from(struct lane_handle *handle, taddr_t lowest);
/* HANDLE's thread is stopped at the exit of a call with stack pointer SP: whether it is
 * recorded. */
bool kept_calls_has(const struct lane_handle *handle, taddr_t sp);
/* The same at its entry, which is recorded by the tool: as a stub that keeps the call
 * (arch/judge.h). */
void kept_calls_add(struct lane_handle *handle, taddr_t sp);
