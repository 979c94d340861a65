/* Boxes to draw (summary.h): from the store, or of calls that are read. */
#include <errno.h>

#include "summary/state.h"
#include "summary/walks.h"

static struct summary_range clamp(const struct summary *s, const struct summary_range *range) {
    struct summary_range r = *range;
    r.until_ns = r.until_ns < s->duration_ns ? r.until_ns : s->duration_ns;
    r.since_ns = r.since_ns < r.until_ns ? r.since_ns : r.until_ns;
    return r;
}

static void draw_store(struct summary *s, const struct summary_range *range, unsigned columns,
                       summary_span_list *ret) {
    struct draw d;
    draw_begin(&d, range, columns, ret);
    pthread_rwlock_rdlock(&s->pass.lock);
    for (uint32_t i = 0; i < s->pass.store->stream_count; i++) {
        if (!summary_asks_for(range, i))
            continue;
        draw_stream(&d, i);
        store_draw(s->pass.store, i, &d);
        draw_end_stream(&d);
    }
    pthread_rwlock_unlock(&s->pass.lock);
    draw_done(&d);
}

/* Draws calls as they are read, in any order of streams. */
struct reading {
    struct draw *draws; /* by stream */
    summary_span_list *lists;
    size_t count;
    uint32_t function; /* WALK_NONE: all; else all have depth 0 */
};

static void on_call(void *ctx, const struct walk_call *call) {
    struct reading *r = ctx;
    if (call->brief || (r->function != WALK_NONE && call->function != r->function))
        return;
    uint64_t length = call->end_ns - call->start_ns;
    draw_add(&r->draws[call->stream],
             &(struct draw_box){call->start_ns, call->end_ns, length, call->function, 1,
                                r->function == WALK_NONE ? call->depth : 0, draw_flags(call)});
}

static void begin_reading(struct reading *r, size_t count, const struct summary_range *range,
                          unsigned columns) {
    r->count = count;
    r->draws = mem_alloc((count + 1) * sizeof *r->draws);
    r->lists = mem_alloc((count + 1) * sizeof *r->lists);
    for (uint32_t i = 0; i < count; i++) {
        draw_begin(&r->draws[i], range, columns, &r->lists[i]);
        draw_stream(&r->draws[i], i);
    }
}

static void end_reading(struct reading *r, summary_span_list *ret) {
    for (size_t i = 0; i < r->count; i++) {
        draw_end_stream(&r->draws[i]);
        draw_done(&r->draws[i]);
        ARRAY_MOVE(ret, &r->lists[i]);
    }
    free(r->draws);
    free(r->lists);
}

static int draw_calls(struct summary *s, const struct summary_range *range, unsigned columns,
                      uint32_t function, summary_span_list *ret) {
    struct reading reading = {.function = function};
    begin_reading(&reading, trace_reader_stream_count(s->reader), range, columns);
    struct session *session = session_take(s->sessions, range);
    int rc = walks_calls(session, on_call, &reading);
    session_give(s->sessions, session);
    end_reading(&reading, ret);
    if (rc)
        ARRAY_FREE(ret);
    return rc;
}

static bool is_exact(struct summary *s) {
    struct summary_state state = summary_state(s);
    return state.complete && !state.threshold_ns;
}

int summary_spans(struct summary *s, const struct summary_range *range, unsigned columns,
                  bool exact, summary_span_list *ret) {
    struct summary_range r = clamp(s, range);
    *ret = (summary_span_list){0};
    if (exact && !is_exact(s))
        return draw_calls(s, &r, columns, WALK_NONE, ret);
    draw_store(s, &r, columns, ret);
    return 0;
}

int summary_frames(struct summary *s, const struct summary_range *range, unsigned columns,
                   uint32_t function, summary_span_list *ret) {
    struct summary_range r = clamp(s, range);
    *ret = (summary_span_list){0};
    return draw_calls(s, &r, columns, function, ret);
}
