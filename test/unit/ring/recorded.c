/* Reads the items of one stream of a finished trace. */
#include "recorded.h"

void recorded_thread(struct trace_writer *w, uint32_t stream) {
    struct trace_thread thread = {.stream = stream, .pid = 1, .tid = 1 + stream, .name = "thread"};
    trace_writer_thread(w, &thread);
}

void recorded_read(struct trace_writer *w, const char *path, uint32_t stream,
                   struct recorded *ret) {
    struct err err = {0};
    struct trace_cursor *c = NULL;
    struct trace_item item;
    must_finish(w);
    struct trace_reader *r = must_open_reader(path);
    if (trace_cursor_open(r, stream, &c, &err) < 0)
        fail_msg("%s", err.text);
    *ret = (struct recorded){0};
    while (trace_cursor_next(c, &item, &err) > 0) {
        if (item.kind == TRACE_EVENT && is_pause_event(item.id))
            ARRAY_PUSH(&ret->pauses,
                       ((struct recorded_pause){ret->items.count, item.ticks - item.sp, item.ticks,
                                                item.id}));
        else if (item.kind == TRACE_EVENT)
            ARRAY_PUSH(&ret->items, item);
        if (item.kind == TRACE_LOST)
            ARRAY_PUSH(&ret->gaps,
                       ((struct recorded_gap){ret->items.count, item.ticks, item.lost}));
        ret->lost += item.kind == TRACE_LOST ? item.lost : 0;
        ret->ended |= item.kind == TRACE_THREAD_END;
    }
    trace_cursor_free(c);
    trace_reader_free(r);
}

void recorded_done(struct recorded *r) {
    ARRAY_FREE(&r->items);
    ARRAY_FREE(&r->gaps);
    ARRAY_FREE(&r->pauses);
}
