/*
 * Who called, in one process: slices of its stacks (slices.h) become chains of callers (chains.h),
 * by the call-frame information of the files that it has mapped. Functions are named by their
 * files' symbols, whether they are traced or not.
 *
 * The tracer looks at the process while it stands; the drainer, which is later, asks. Files are
 * opened as long as they are the process's.
 */
#ifndef SPOOR_RING_CALLERS_H
#define SPOOR_RING_CALLERS_H

#include "ring/chains.h"
#include "ring/slices.h"
#include "select/stack_functions.h"
#include "target/maps.h"
#include "trace/format.h"

struct callers;
/* Of the process of TID, as it is mapped now. Of each call MOST callers are looked for, of
 * functions in ASKED, which outlives it. */
struct callers *callers_new(pid_t tid, uint32_t most, const struct stack_functions *asked);
/* The same process has mapped other files, or no longer those. */
void callers_look(struct callers *c, pid_t tid);
struct callers *callers_ref(struct callers *c);
void callers_unref(struct callers *c); /* may be NULL */

/* The chain of a call whose entry, E, left slice S. */
uint32_t callers_find(struct callers *c, struct stack_slice *s, const struct trace_event *e,
                      struct chains *chains);

/* E, the next event of a lane whose slice is S, becomes up to two in RET: none, if it is a part of
 * a slice; before the entry of a function whose callers are asked for, the number of its chain.
 * That the slice is missing has several causes: there was no room for as much as its beginning, and
 * then the reader made some before the entry was written; it has been overwritten; or a thread that
 * was brought out of a window could not write it. */
enum { CALLERS_EVENTS = 2 };
size_t callers_pass(struct callers *c, struct stack_slice *s, struct chains *chains,
                    const struct trace_event *e, struct trace_event ret[CALLERS_EVENTS]);

#endif
