/*
 * The calls that go on behind gaps (lost events). A gap ends all open calls of its thread, since
 * nobody knows which of them have returned. Later events tell that: a function that returns behind
 * the gap, and was not entered there, has been open since the gap. A call that was open before the
 * gap, and that no later event contradicts, goes on, too (main, or a server's loop at the end).
 *
 * Gaps are numbered from 1 in the order in which a group_reader meets the group's TRACE_LOST items.
 */
#pragma once

#include "analyze/group_reader.h"

struct gaps;
struct source;
/* Reads the whole group. */
struct gaps *gaps_find(const struct source *source, struct stream_group group);
void gaps_free(struct gaps *g);
/* The first gap behind gap AFTER that is THREAD's, at TICKS; walks may leave out items. */
uint32_t gaps_number(const struct gaps *g, uint32_t after, uint32_t thread, uint64_t ticks);
/* The calls that go on behind gap NUMBER of THREAD, an index in the group; the outermost first.
 * Numbers must not fall. The list is valid until the next call; `stream` and `ticks` are not set.
 */
struct trace_frames gaps_frames(struct gaps *g, uint32_t number, uint32_t thread);
