/* Which streams are read together. A thread that keeps to its own stack is a group by itself.
 * Threads of one program that also run on other stacks (coroutines, goroutines, signal stacks) are
 * one group: such a stack may continue in another of them. */
#pragma once

#include "trace/reader.h"

struct stream_group {
    const uint32_t *streams; /* ascending */
    uint32_t count;          /* 1 or more */
};

struct stream_groups;
struct stream_groups *stream_groups_new(const struct trace_reader *r);
void stream_groups_free(struct stream_groups *s);
size_t stream_groups_count(const struct stream_groups *s);
/* Groups are in order of their first streams. */
struct stream_group stream_groups_at(const struct stream_groups *s, size_t i);
