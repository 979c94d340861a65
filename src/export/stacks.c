/* See export_stacks.h. */
#include "export/stacks.h"

void export_stacks_init(struct export_stacks *s, const struct trace_reader *r,
                        const struct stream_groups *groups) {
    size_t count = stream_groups_count(groups);
    s->groups = groups;
    s->group_of = mem_alloc((trace_reader_stream_count(r) + 1) * sizeof *s->group_of);
    s->list = mem_alloc((count + 1) * sizeof *s->list);
    for (size_t i = 0; i < count; i++) {
        struct stream_group group = stream_groups_at(groups, i);
        for (uint32_t k = 0; k < group.count; k++)
            s->group_of[group.streams[k]] = (uint32_t)i;
    }
}

void export_stacks_done(struct export_stacks *s) {
    for (size_t i = 0; i < stream_groups_count(s->groups); i++)
        ARRAY_FREE(&s->list[i]);
    free(s->list);
    free(s->group_of);
}

uint64_t *export_stack(struct export_stacks *s, uint32_t stream, uint32_t stack) {
    export_stack_list *list = &s->list[s->group_of[stream]];
    while (list->count <= stack)
        ARRAY_PUSH(list, 0);
    return &list->at[stack];
}
