/* See replay.h: single calls. */
#include "summary/replayer.h"

static inline uint32_t on_open(void *ctx, uint32_t function, const struct digest_frame *caller) {
    (void)ctx;
    (void)function;
    (void)caller;
    return 0;
}

static inline void on_exit_event(void *ctx, enum event_kind kind) {
    ((struct replayer *)ctx)->exit = kind;
}

/* A call is passed on when it is known whether it was unwound. */
static void pass_held(struct replayer *r) {
    if (r->holds)
        r->each(r->ctx, &r->held);
    r->holds = false;
}

static inline void on_close(void *ctx, uint32_t function, const struct digest_frame *f,
                            uint64_t duration) {
    struct replayer *r = ctx;
    pass_held(r);
    if (f->start_ns > r->until_ns || f->start_ns + duration < r->since_ns ||
        (r->function != WALK_NONE && r->function != function))
        return;
    const struct listed *around = replayer_around(r);
    const struct digest_frame *caller = f - 1;
    uint32_t outer = around ? around->function : WALK_NONE;
    r->held = (struct replayed){
        .start_ns = f->start_ns,
        .end_ns = f->start_ns + duration,
        .duration_ns = duration,
        .self_ns = duration - f->callees_ns,
        .function = function,
        .stream = r->stream,
        .depth = (uint32_t)(caller - r->reader.frames) + (around ? around->depth + 1 : 0),
        .caller = caller == r->reader.frames ? outer : r->reader.functions.at[caller->number],
        .how = r->exit == EVENT_TAIL ? CALL_TAIL : CALL_RETURNED};
    r->holds = true;
}

static inline void on_unwind(void *ctx, uint32_t function, const struct digest_frame *f) {
    struct replayer *r = ctx;
    (void)f;
    if (!r->holds)
        return;
    r->held.how = CALL_UNWOUND;
    r->held.inferred = !names_exact(r->reader.names, function);
}

static inline void on_leave(void *ctx, uint32_t function, const struct digest_frame *f) {
    (void)ctx;
    (void)function;
    (void)f;
}

static void sum_up(void *ctx, struct digest *to) {
    struct replayer *r = ctx;
    pass_held(r);
    (void)to;
    r->step++;
}

static void read_block(struct replayer *r) {
    static const struct digest_hooks hooks = {on_exit_event, on_open, on_close, on_unwind,
                                              on_leave,      sum_up,  true,     false};
    digest_read(&r->reader, &hooks, r, &r->digest);
}

struct job {
    const struct summary_range *range;
    const struct replay_shares *shares;
};

static void init(struct replayer *r, void *ctx) {
    const struct job *job = ctx;
    r->each = job->shares->each;
    r->function = job->shares->function;
}

static void body(struct replayer *r, void *ctx, size_t index) {
    const struct job *job = ctx;
    r->ctx = job->shares->ctxs[index];
    for (size_t i = job->shares->first[index]; i < job->shares->first[index + 1]; i++) {
        const struct plan_block *b = &job->shares->blocks->at[i];
        if (job->range->cancel && *job->range->cancel)
            return;
        replayer_read(r, b, read_block);
        if (job->range->on_progress)
            job->range->on_progress(job->range->ctx,
                                    trace_reader_block(r->summary->reader, b->block).items);
    }
}

static void done(struct replayer *r, void *ctx) {
    (void)r;
    (void)ctx;
}

int replay_calls(struct summary *s, const struct summary_range *range,
                 const struct replay_shares *shares) {
    struct job job = {range, shares};
    return replay_run(
        &(struct replay_work){
            .summary = s, .range = range, .ctx = &job, .init = init, .body = body, .done = done},
        shares->count);
}

replay_blocks replay_blocks_of(const struct summary *s, const struct summary_range *range) {
    const struct plan *plan = &s->pass.plan;
    replay_blocks list = {0};
    for (size_t i = 0; i < plan->blocks.count; i++) {
        const struct plan_block *b = &plan->blocks.at[i];
        struct trace_block_facts facts = trace_reader_block(s->reader, b->block);
        if (summary_asks_for(range, b->stream) && s->pass.arounds[b->block].count &&
            trace_reader_ns(s->reader, facts.first) <= range->until_ns &&
            trace_reader_ns(s->reader, facts.last) >= range->since_ns)
            ARRAY_PUSH(&list, *b);
    }
    return list;
}

struct replayed replay_listed(const struct summary *s, uint32_t stream, uint32_t number) {
    const struct listed_stream *list = &s->pass.listed[stream];
    const struct listed *l = &list->calls.at[number];
    uint32_t caller = l->parent < number ? list->calls.at[l->parent].function : WALK_NONE;
    return (struct replayed){.start_ns = l->start_ns,
                             .end_ns = l->end_ns,
                             .duration_ns = l->duration_ns,
                             .self_ns = l->self_ns,
                             .function = l->function,
                             .stream = stream,
                             .depth = l->depth,
                             .caller = caller,
                             .how = l->how,
                             .before = l->flags & LISTED_BEFORE,
                             .inferred = l->flags & LISTED_INFERRED};
}
