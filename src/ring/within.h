/*
 * Leaves out a thread's events while no call of certain functions (--while) is open on it. What is
 * left are these calls and all below them, balanced. Stacks other than the thread's own (signal
 * stacks, coroutines) belong to the call that is open. Drainer only.
 */
#pragma once

#include "select/triggers.h"
#include "trace/format.h"

struct within;

/* The functions are those of TRIGGERS' newest table; TRIGGERS must outlive the result. */
struct within *within_new(const struct triggers *triggers, const struct trace_thread *thread);
void within_free(struct within *w);
/* Copies those of COUNT events that are to be written to OUT, which has room for 2 × COUNT + 1.
 * Returns how many they are. */
size_t within_pass(struct within *w, const struct trace_event *events, size_t count,
                   struct trace_event *out);
/* FRAMES are open: cuts the list to those from the outermost call of such a function on. */
void within_frames(struct within *w, struct trace_frames *frames);
