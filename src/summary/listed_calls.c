/* See listed_calls.h. */
#include "summary/listed_calls.h"

/* A search from the caller outwards: functions that recur are found soon. */
static bool is_outermost(const struct listed_stream *s, uint32_t parent, uint32_t function) {
    for (; parent != LISTED_NONE; parent = s->calls.at[parent].parent)
        if (s->calls.at[parent].function == function)
            return false;
    return true;
}

uint32_t listed_open(struct listed_stream *s, const struct walk_call *call) {
    uint32_t parent = call->caller_value == WALK_NONE ? LISTED_NONE : call->caller_value;
    uint8_t flags = (uint8_t)((is_outermost(s, parent, call->function) ? LISTED_OUTERMOST : 0) |
                              (call->before ? LISTED_BEFORE : 0));
    ARRAY_PUSH(&s->calls, ((struct listed){.start_ns = call->start_ns,
                                           .end_ns = UINT64_MAX,
                                           .function = call->function,
                                           .parent = parent,
                                           .depth = call->depth,
                                           .flags = flags}));
    return (uint32_t)s->calls.count - 1;
}

void listed_close(struct listed_stream *s, const struct walk_call *call) {
    struct listed *l = &s->calls.at[call->value];
    l->end_ns = call->end_ns;
    l->duration_ns = call->duration_ns;
    l->self_ns = call->self_ns;
    l->clipped_self_ns = call->clipped_self_ns;
    l->how = (uint8_t)call->how;
    l->flags |= (uint8_t)(LISTED_ENDED | (call->inferred ? LISTED_INFERRED : 0));
}

void listed_end(struct listed_stream *s) {
    for (size_t i = 0; i < s->calls.count; i++) {
        if (i % LISTED_CHUNK == 0)
            ARRAY_PUSH(&s->most_ends, 0);
        uint64_t *most = &s->most_ends.at[i / LISTED_CHUNK];
        *most = s->calls.at[i].end_ns > *most ? s->calls.at[i].end_ns : *most;
    }
}

void listed_done(struct listed_stream *s) {
    if (s->calls.room)
        ARRAY_FREE(&s->calls);
    if (s->most_ends.room)
        ARRAY_FREE(&s->most_ends);
}
