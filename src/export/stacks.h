/* Numbers the stacks of a trace that are no thread's own (coroutines', signal stacks), for formats
 * in which each is a track. Such a stack may continue in another thread. */
#pragma once

#include "analyze/stream_groups.h"
#include "base/mem.h"

typedef ARRAY(uint64_t) export_stack_list;

struct export_stacks {
    const struct stream_groups *groups;
    uint32_t *group_of;      /* by stream */
    export_stack_list *list; /* by stream group: by stack */
};

void export_stacks_init(struct export_stacks *s, const struct trace_reader *r,
                        const struct stream_groups *groups);
void export_stacks_done(struct export_stacks *s);
/* The caller's number of STACK, which a call on STREAM has; 0 at first. Valid until the next call.
 */
uint64_t *export_stack(struct export_stacks *s, uint32_t stream, uint32_t stack);
