/* See pass.h: begins and ends, and the stream groups that are not regular. */
#include "summary/pass.h"

#include <string.h>

#include "base/workers.h"
#include "summary/pass_regular.h"

static uint64_t count_items(const struct trace_reader *r) {
    uint64_t sum = 0;
    size_t streams = trace_reader_stream_count(r);
    size_t end = streams ? trace_reader_end_block(r, streams - 1) : 0;
    for (size_t i = 0; i < end; i++)
        sum += trace_reader_block(r, i).items;
    return sum;
}

static void init_limits(struct pass *p) {
    p->limits.slow_ns = mem_alloc(p->functions * sizeof *p->limits.slow_ns);
}

static void init_levels(struct pass *p) {
    size_t count = p->plan.leaves.count;
    for (int i = 0; i < PASS_LEVELS; i++) {
        p->levels[i].count = count;
        p->levels[i].at = mem_alloc(count * sizeof *p->levels[i].at + 1);
        count /= PASS_FANOUT; /* nodes above are whole */
    }
}

/* All that reading fills, empty. */
static void init_results(struct pass *p) {
    size_t streams = trace_reader_stream_count(p->reader);
    p->store = store_new(p->reader, p->most_spans);
    p->limits.threshold_ns = p->store->threshold_ns;
    memset(p->limits.slow_ns, 0, p->functions * sizeof *p->limits.slow_ns);
    slow_init(&p->slow, p->functions);
    p->listed = mem_alloc(streams * sizeof *p->listed + 1);
    p->arounds = mem_alloc(p->store->block_count * sizeof *p->arounds + 1);
    init_levels(p);
}

void pass_init(struct pass *p, struct trace_reader *reader, struct session_pool *sessions,
               const struct summary_options *options) {
    *p = (struct pass){.reader = reader, .sessions = sessions};
    pthread_rwlock_init(&p->lock, NULL);
    struct session *s = session_take(sessions, NULL);
    p->functions = names_count(s->source.names);
    p->leaf_blocks = options->leaf_blocks;
    p->torn = mem_alloc(trace_reader_stream_count(reader) + 1);
    plan_make(&p->plan, &s->source, p->torn, p->leaf_blocks);
    session_give(sessions, s);
    p->most_spans = options->most_spans ? options->most_spans : STORE_SPANS;
    p->all_items = count_items(reader);
    init_limits(p);
    init_results(p);
}

static void done_results(struct pass *p) {
    for (int i = 0; i < PASS_LEVELS; i++) {
        for (size_t k = 0; k < p->levels[i].count && !p->has_mapped_nodes; k++)
            node_free(&p->levels[i].at[k]);
        free(p->levels[i].at);
    }
    for (size_t i = 0; i < p->store->stream_count; i++)
        listed_done(&p->listed[i]);
    for (size_t i = 0; i < p->store->block_count; i++)
        if (p->arounds[i].room)
            free(p->arounds[i].at);
    free(p->listed);
    free(p->arounds);
    slow_done(&p->slow);
    store_free(p->store);
    ARRAY_FREE(&p->marks.list);
    p->marks = (struct marks){0};
    p->has_mapped_nodes = false;
}

void pass_reset(struct pass *p) {
    done_results(p);
    p->items = 0;
    init_results(p);
}

void pass_done(struct pass *p) {
    done_results(p);
    free(p->limits.slow_ns);
    free(p->torn);
    plan_done(&p->plan);
    pthread_rwlock_destroy(&p->lock);
}

/* ---- groups that are not regular ---- */

static void on_close(void *ctx, const struct walk_call *call) { pass_take_call(ctx, call); }

static void on_lost(void *ctx, uint32_t stream, uint64_t ns, uint64_t count) {
    marks_lost(&((struct pass *)ctx)->marks, stream, ns, count);
}

static void on_pause(void *ctx, const struct walk_pause *pause) {
    marks_pause(&((struct pass *)ctx)->marks, pause);
}

static void on_mark(void *ctx, const struct walk_mark *mark) {
    marks_probe(&((struct pass *)ctx)->marks, mark->stream, mark->ns, mark->function);
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

static void read_groups(struct pass *p, struct source *source) {
    struct visitor visitor = {
        .ctx = p, .close = on_close, .lost = on_lost, .pause = on_pause, .mark = on_mark};
    for (size_t i = 0; i < p->plan.groups.count && !p->stop; i++) {
        struct stream_group group = stream_groups_at(source->stream_groups, p->plan.groups.at[i]);
        struct walk *w = walk_new(source, group, &visitor);
        while (step(p, w))
            continue;
        walk_free(w);
    }
}

/* ---- nodes above leaves ---- */

struct summing {
    struct pass *pass;
    int level;
};

static void sum_node(void *ctx, size_t index) {
    const struct summing *summing = ctx;
    struct pass *p = summing->pass;
    int level = summing->level;
    if (p->stop)
        return;
    struct node_adder a = {.count = p->functions,
                           .sums = digest_stats_new(p->functions, true),
                           .totals = mem_alloc(p->functions * sizeof(uint64_t))};
    for (size_t i = index * PASS_FANOUT; i < (index + 1) * PASS_FANOUT; i++)
        node_add(&a, &p->levels[level - 1].at[i]);
    p->levels[level].at[index] = node_make(a.sums, a.totals);
    digest_stats_free(a.sums);
    free(a.totals);
    node_adder_done(&a);
}

static void sum_nodes(struct pass *p) {
    for (int i = 1; i < PASS_LEVELS; i++)
        workers_run(p->levels[i].count, sum_node, &(struct summing){p, i});
}

/* Streams of which it is not known where a block is torn are read once more, as groups. That is as
 * slow as views are, for traces that are damaged. */
static void plan_again(struct pass *p, const struct source *source) {
    pthread_rwlock_wrlock(&p->lock);
    done_results(p);
    plan_done(&p->plan);
    plan_make(&p->plan, source, p->torn, p->leaf_blocks);
    p->items = 0;
    p->must_plan = false;
    init_results(p);
    pthread_rwlock_unlock(&p->lock);
}

void pass_run(struct pass *p) {
    struct summary_range all = {.until_ns = UINT64_MAX, .cancel = &p->stop};
    struct session *session = session_take(p->sessions, &all);
    session->source.ctx = p;
    p->names = session->source.names;
    session->source.on_progress = on_progress;
    pass_read_regular(p, &session->source);
    while (p->must_plan && !p->stop) {
        plan_again(p, &session->source);
        pass_read_regular(p, &session->source);
    }
    read_groups(p, &session->source);
    sum_nodes(p);
    for (size_t i = 0; i < p->store->stream_count && !p->stop; i++)
        listed_end(&p->listed[i]);
    session_give(p->sessions, session);
}
