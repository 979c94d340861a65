/*
 * Finds the callers of calls in one process: slices of its stacks (slices.h) become chains of
 * callers (chains.h) by the call-frame information of its mapped files. Symbols name the functions,
 * traced or not. The tracer reads the process's maps while it is stopped; the drainer asks later.
 * Files stay open as long as the process may map them.
 */
#pragma once

#include "ring/chains.h"
#include "ring/slices.h"
#include "select/stack_functions.h"
#include "target/maps.h"
#include "trace/format.h"

struct callers;
/* For the process of TID, as it is mapped now. Finds up to MOST callers of each call of a function
 * in ASKED, which must outlive the result. */
struct callers *callers_new(pid_t tid, uint32_t most, const struct stack_functions *asked);
/* The process may have mapped or unmapped files. */
void callers_look(struct callers *c, pid_t tid);
struct callers *callers_ref(struct callers *c);
void callers_unref(struct callers *c); /* may be NULL */

/* The chain of the call whose entry E follows slice S in the ring. */
uint32_t callers_find(struct callers *c, struct stack_slice *s, const struct trace_event *e,
                      struct chains *chains);

/* E is the next event of a lane with slice S. Writes up to two events to RET: nothing if E is a
 * part of a slice; the number of a chain before the entry of a function in ASKED. A slice may be
 * missing: the ring had no room for it, it was overwritten, or the thread was moved out of a window
 * before it could write it. */
enum { CALLERS_EVENTS = 2 };
size_t callers_pass(struct callers *c, struct stack_slice *s, struct chains *chains,
                    const struct trace_event *e, struct trace_event ret[CALLERS_EVENTS]);
