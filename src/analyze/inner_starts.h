/*
 * Stacks inside a thread's own stack: coroutines' that lie in the variables of a call. Their first
 * event looks like that of an exception, which leaves the calls below:
 *
 *     main ─┬───────────────┐  high          main, resume, switch are open
 *           │  char stack[] │  ◀── entry of the coroutine's function: have resume and switch ended?
 *     resume┴───────────────┘
 *     switch                   low           later `switch` returns: they have not
 *
 * Only a later event tells: a call that was taken for left returns. So streams with such returns
 * are read in advance (trace_reader_has_inner_stacks()).
 */
#pragma once

#include "trace/reader.h"

/* Returns the numbers of the events of STREAM, counted from 1, that are the first on a stack inside
 * its thread's own; ascending. *RET_COUNT may be 0; the result is freed by the caller. */
uint64_t *inner_starts_find(struct trace_reader *r, uint32_t stream, size_t *ret_count);
