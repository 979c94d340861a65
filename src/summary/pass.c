/* See pass.h. */
#include "summary/pass.h"

void pass_init(struct pass *p, struct trace_reader *reader, struct session_pool *sessions,
               uint64_t most_spans) {
    *p = (struct pass){.reader = reader, .sessions = sessions};
    pthread_rwlock_init(&p->lock, NULL);
    p->store = store_new(reader, most_spans ? most_spans : STORE_SPANS);
}

void pass_done(struct pass *p) {
    store_free(p->store);
    ARRAY_FREE(&p->marks.list);
    pthread_rwlock_destroy(&p->lock);
}

static void on_close(void *ctx, const struct walk_call *call) {
    struct pass *p = ctx;
    marks_close(&p->marks, call);
    if (call->brief)
        return;
    uint64_t length = call->end_ns - call->start_ns;
    store_add(p->store, call->stream,
              &(struct draw_box){call->start_ns, call->end_ns, length + 1, call->function, 1,
                                 call->depth, draw_flags(call)});
}

static void on_lost(void *ctx, uint32_t stream, uint64_t ns, uint64_t count) {
    marks_lost(&((struct pass *)ctx)->marks, stream, ns, count);
}

static void on_pause(void *ctx, const struct walk_pause *pause) {
    marks_pause(&((struct pass *)ctx)->marks, pause);
}

static void on_progress(void *ctx, size_t items) { ((struct pass *)ctx)->items += items; }

static bool step(struct pass *p, struct walk *w) {
    bool more = true;
    pthread_rwlock_wrlock(&p->lock);
    for (int i = 0; i < 16 && more; i++)
        more = walk_step(w);
    pthread_rwlock_unlock(&p->lock);
    return more;
}

void pass_run(struct pass *p) {
    struct summary_range all = {.until_ns = UINT64_MAX, .cancel = &p->stop};
    struct session *session = session_take(p->sessions, &all);
    struct visitor visitor = {.ctx = p, .close = on_close, .lost = on_lost, .pause = on_pause};
    session->source.ctx = p;
    session->source.on_progress = on_progress;
    for (size_t i = 0; i < stream_groups_count(session->source.stream_groups) && !p->stop; i++) {
        struct walk *w = walk_new(&session->source,
                                  stream_groups_at(session->source.stream_groups, i), &visitor);
        while (step(p, w))
            continue;
        walk_free(w);
    }
    pthread_rwlock_wrlock(&p->lock);
    p->complete = !p->stop;
    pthread_rwlock_unlock(&p->lock);
    session_give(p->sessions, session);
}
