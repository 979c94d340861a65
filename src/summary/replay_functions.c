/* See replay.h: statistics of functions. */
#include "summary/replayer.h"

static inline uint32_t on_open(void *ctx, uint32_t function, const struct digest_frame *caller) {
    (void)caller;
    digest_stats_open(((struct replayer *)ctx)->sums, function);
    return 0;
}

static inline void on_close(void *ctx, uint32_t function, const struct digest_frame *f,
                            uint64_t duration) {
    struct replayer *r = ctx;
    r->holds = f->start_ns <= r->until_ns && f->start_ns + duration >= r->since_ns;
    if (!r->holds) {
        r->sums->open[function]--;
        return;
    }
    digest_stats_add(r->sums, function, f, duration);
    r->sums->functions[function].self_ns +=
        replayer_self(r, f, duration) - (duration - f->callees_ns);
    r->sums->rare[function].clipped += replayer_clips(r, f->start_ns, f->start_ns + duration);
}

static inline void on_unwind(void *ctx, uint32_t function, const struct digest_frame *f) {
    struct replayer *r = ctx;
    (void)f;
    r->sums->rare[function].unwound += r->holds;
}

static inline void on_leave(void *ctx, uint32_t function, const struct digest_frame *f) {
    (void)f;
    ((struct replayer *)ctx)->sums->open[function]--;
}

/* A total time counts if the function is not open around the step. */
static void sum_up(void *ctx, struct digest *to) {
    struct replayer *r = ctx;
    replayer_move(r);
    r->step++;
    (void)to;
    for (size_t i = 0; i < r->sums->ended.count; i++) {
        uint32_t function = r->sums->ended.at[i];
        r->totals[function] += r->outer[function] ? 0 : r->sums->totals[function];
        r->sums->totals[function] = 0;
    }
    r->sums->ended.count = 0;
}

static void read_block(struct replayer *r) {
    static const struct digest_hooks hooks = {NULL,     on_open, on_close, on_unwind,
                                              on_leave, sum_up,  true,     false};
    digest_read(&r->reader, &hooks, r, &r->digest);
    digest_stats_settle(r->sums);
}

static void enter(struct replayer *r, const struct listed *l) { r->outer[l->function]++; }
static void leave(struct replayer *r, const struct listed *l) { r->outer[l->function]--; }

struct job {
    const struct summary_range *range;
    const replay_blocks *blocks;
    struct stats *stats;
    uint32_t functions;
};

static void init(struct replayer *r, void *ctx) {
    const struct job *job = ctx;
    r->sums = digest_stats_new(job->functions, true);
    r->totals = mem_alloc(job->functions * sizeof *r->totals);
    r->outer = mem_alloc(job->functions * sizeof *r->outer);
    r->enter = enter;
    r->leave = leave;
}

static void body(struct replayer *r, void *ctx, size_t index) {
    const struct job *job = ctx;
    const struct plan_block *b = &job->blocks->at[index];
    replayer_read(r, b, read_block);
    if (job->range->on_progress)
        job->range->on_progress(job->range->ctx,
                                trace_reader_block(r->summary->reader, b->block).items);
}

static void done(struct replayer *r, void *ctx) {
    const struct job *job = ctx;
    for (size_t i = 0; i < r->sums->called.count; i++) {
        uint32_t f = r->sums->called.at[i];
        stats_add_digest(job->stats, f, &r->sums->functions[f], &r->sums->rare[f]);
        stats_add_total(job->stats, f, r->totals[f]);
    }
    digest_stats_free(r->sums);
    free(r->totals);
    r->leave = NULL;
    free(r->outer);
}

int replay_functions(struct summary *s, const struct summary_range *range,
                     const replay_blocks *blocks, struct stats *stats) {
    struct job job = {range, blocks, stats, s->pass.functions};
    return replay_run(
        &(struct replay_work){
            .summary = s, .range = range, .ctx = &job, .init = init, .body = body, .done = done},
        blocks->count);
}
