/* See pass_regular.h. Digests are made in threads; one thread takes them. */
#include "summary/pass_regular.h"

struct reading;

struct stream_reading { /* of one stream */
    struct reading *reading;
    struct walk *walk; /* NULL: not begun, or over */
    struct visitor visitor;
    uint32_t stream, open; /* calls */
    bool begun;
};

struct reading {
    struct pass *pass;
    struct names *names;
    const struct source *source;
    struct stream_reading *streams;
    struct digests *digests;
    uint64_t *totals; /* of the present leaf, by function */
    size_t leaf;
    size_t block; /* the digest that is taken */
    bool locked;
    struct digest_stats *sums; /* of the present leaf */
};

/* Queries may run while the next digest is waited for. */
static void lock(struct reading *r) {
    if (!r->locked)
        pthread_rwlock_wrlock(&r->pass->lock);
    r->locked = true;
}

static void unlock(struct reading *r) {
    if (r->locked)
        pthread_rwlock_unlock(&r->pass->lock);
    r->locked = false;
}

/* ---- calls ---- */

static void add_slow(struct pass *p, const struct summary_call *call) {
    p->limits.slow_ns[call->function] = slow_add(&p->slow, call);
}

static void add_box(struct pass *p, uint32_t stream, const struct draw_box *box) {
    p->store->share = p->all_items ? (double)p->items / (double)p->all_items : 1;
    store_add(p->store, stream, box);
    p->limits.threshold_ns = p->store->threshold_ns;
}

void pass_take_call(struct pass *p, const struct walk_call *c) {
    marks_close(&p->marks, c);
    if (c->brief)
        return;
    uint64_t length = c->end_ns - c->start_ns;
    add_box(p, c->stream,
            &(struct draw_box){c->start_ns, c->end_ns, length + 1, c->function, 1, c->depth,
                               draw_flags(c->how, c->before, c->inferred)});
    if (c->before || c->how == CALL_CUT || c->duration_ns < p->limits.slow_ns[c->function])
        return;
    const struct summary_call call = summary_call_of(c, p->names);
    add_slow(p, &call);
}

static uint32_t on_open(void *ctx, const struct walk_call *call) {
    struct stream_reading *t = ctx;
    lock(t->reading);
    return listed_open(&t->reading->pass->listed[t->stream], call);
}

static void on_close(void *ctx, const struct walk_call *call) {
    struct stream_reading *t = ctx;
    lock(t->reading);
    listed_close(&t->reading->pass->listed[t->stream], call);
    pass_take_call(t->reading->pass, call);
}

static void on_lost(void *ctx, uint32_t stream, uint64_t ns, uint64_t count) {
    struct reading *r = ((struct stream_reading *)ctx)->reading;
    lock(r);
    marks_lost(&r->pass->marks, stream, ns, count);
}

static void on_torn(void *ctx, uint32_t stream) {
    struct pass *p = ((struct stream_reading *)ctx)->reading->pass;
    p->torn[stream] = 1;
    p->must_plan = p->any_torn = true;
}

static void on_pause(void *ctx, const struct walk_pause *pause) {
    struct reading *r = ((struct stream_reading *)ctx)->reading;
    lock(r);
    marks_pause(&r->pass->marks, pause);
}

/* One that is a step, or outside of digests. */
static void on_mark(void *ctx, const struct walk_mark *mark) {
    struct reading *r = ((struct stream_reading *)ctx)->reading;
    lock(r);
    marks_probe(&r->pass->marks, mark->stream, mark->ns, mark->function);
}

/* ---- digests ---- */

static void on_digest(void *ctx, const struct digest *d, size_t block) {
    struct stream_reading *t = ctx;
    lock(t->reading);
    t->reading->block = block;
    for (size_t i = 0; i < d->marks.count; i++)
        marks_probe(&t->reading->pass->marks, t->stream, d->marks.at[i].ns,
                    d->marks.at[i].function);
}

/* Whether FUNCTION is open in the call AROUND or its callers. */
static bool is_open(const struct listed_stream *s, uint32_t around, uint32_t function) {
    for (; around != LISTED_NONE; around = s->calls.at[around].parent)
        if (s->calls.at[around].function == function)
            return true;
    return false;
}

static void on_ended(void *ctx, const struct digest_sum *sums, size_t count, uint32_t caller) {
    struct stream_reading *t = ctx;
    const struct listed_stream *s = &t->reading->pass->listed[t->stream];
    lock(t->reading);
    for (size_t i = 0; i < count; i++)
        if (!is_open(s, caller == WALK_NONE ? LISTED_NONE : caller, sums[i].function))
            t->reading->totals[sums[i].function] += sums[i].total_ns;
}

static void take_single(struct stream_reading *t, const struct digest_call *c, uint32_t depth,
                        uint32_t around) {
    struct pass *p = t->reading->pass;
    bool inferred = c->how == CALL_UNWOUND && !names_exact(t->reading->names, c->function);
    struct summary_call call = {.start_ns = c->start_ns,
                                .end_ns = c->end_ns,
                                .duration_ns = c->end_ns - c->start_ns,
                                .self_ns = c->self_ns,
                                .clipped_self_ns = c->clipped_self_ns,
                                .function = c->function,
                                .stream = t->stream,
                                .end_stream = t->stream,
                                .depth = depth + c->depth,
                                .caller = c->caller != UINT32_MAX ? c->caller : around,
                                .how = c->how,
                                .inferred = inferred};
    if (c->why & SINGLE_LONG)
        add_box(p, t->stream,
                &(struct draw_box){c->start_ns, c->end_ns, call.duration_ns + 1, c->function, 1,
                                   call.depth, c->how == CALL_UNWOUND ? SUMMARY_UNWOUND : 0});
    if (call.duration_ns >= p->limits.slow_ns[c->function])
        add_slow(p, &call);
}

static void add_around(struct around_list *l, uint32_t around) {
    if (l->count == l->room) {
        l->room = l->room ? l->room * 2 : 8;
        l->at = mem_resize(l->at, l->room, sizeof *l->at);
    }
    l->at[l->count++] = around;
}

static void on_step(void *ctx, const struct digest *d, const struct digest_step *step,
                    uint32_t caller) {
    struct stream_reading *t = ctx;
    struct pass *p = t->reading->pass;
    const struct listed *around =
        caller == WALK_NONE ? NULL : &p->listed[t->stream].calls.at[caller];
    uint32_t depth = around ? around->depth + 1 : 0;
    uint32_t function = around ? around->function : WALK_NONE;
    add_around(&p->arounds[t->reading->block], around ? caller : LISTED_NONE);
    for (uint32_t i = step->first_call; i < step->end_call; i++)
        take_single(t, &d->calls.at[i], depth, function);
    for (uint32_t i = step->first_level; i < step->end_level; i++) {
        const struct digest_level *l = &d->levels.at[i];
        add_box(p, t->stream,
                &(struct draw_box){l->start_ns, l->end_ns, l->weight, l->function, l->calls,
                                   depth + l->depth, SUMMARY_DENSE});
    }
}

static void *new_part(void *ctx) {
    struct reading *r = ctx;
    return block_sums_new(r->pass->functions, &r->pass->limits);
}

/* A thread has ended its work for the present leaf. */
static void merge_part(void *ctx, void *part) {
    struct reading *r = ctx;
    struct block_sums *from = part;
    digest_stats_join(r->sums, from->stats);
    digest_stats_clear(from->stats);
}

/* ---- the order ---- */

/* False: what was read is of no use. */
static bool goes_on(const struct pass *p) { return !p->stop && !p->must_plan; }

static void begin_stream(struct reading *r, uint32_t stream) {
    struct stream_reading *t = &r->streams[stream];
    t->reading = r;
    t->stream = stream;
    t->begun = true;
    t->visitor = (struct visitor){.ctx = t,
                                  .wants_clipped = true,
                                  .open = on_open,
                                  .close = on_close,
                                  .lost = on_lost,
                                  .pause = on_pause,
                                  .mark = on_mark,
                                  .torn = on_torn,
                                  .ended = on_ended,
                                  .digest = on_digest,
                                  .step = on_step,
                                  .digests = r->digests};
    t->walk = walk_new(r->source, (struct stream_group){&t->stream, 1}, &t->visitor);
}

/* Reads on until BLOCK was read; at the last block, to the end. */
static void read_block(struct reading *r, uint32_t stream, size_t block) {
    struct stream_reading *t = &r->streams[stream];
    bool last = block + 1 == trace_reader_end_block(r->source->reader, stream), more = true;
    if (!t->begun)
        begin_stream(r, stream);
    while (t->walk && more) {
        more = walk_step(t->walk);
        unlock(r);
        size_t next = walk_next_block(t->walk);
        if (more && !last && next != NO_BLOCK && next > block)
            return;
    }
    walk_free(t->walk);
    t->walk = NULL;
}

static void end_leaf(struct reading *r) {
    digests_end_group(r->digests);
    struct node node = node_make(r->sums, r->totals);
    digest_stats_clear(r->sums);
    memset(r->totals, 0, r->pass->functions * sizeof *r->totals);
    lock(r);
    r->pass->levels[0].at[r->leaf] = node;
    unlock(r);
    mem_give_back(); /* of calls that are not kept any more */
}

static struct digests *new_digests(struct reading *r) {
    static const struct digest_ops ops = {new_part, block_sums_free, block_sums_read, merge_part};
    digest_job_list jobs = plan_jobs(&r->pass->plan);
    if (!jobs.count)
        return NULL;
    return digests_new(&(struct digest_work){.reader = r->source->reader,
                                             .names = r->source->names,
                                             .workers = r->source->workers,
                                             .ahead = 4,
                                             .jobs = jobs.at,
                                             .job_count = jobs.count,
                                             .ops = &ops,
                                             .ctx = r});
}

/* A regular stream without blocks may have calls: those with which it begins. */
static void read_rest(struct reading *r) {
    for (uint32_t i = 0; i < r->pass->store->stream_count && goes_on(r->pass); i++) {
        struct stream_reading *t = &r->streams[i];
        if (!r->pass->plan.regular[i] || t->begun)
            continue;
        begin_stream(r, i);
        while (walk_step(t->walk))
            unlock(r);
        unlock(r);
        walk_free(t->walk);
        t->walk = NULL;
    }
}

void pass_read_regular(struct pass *p, const struct source *source) {
    const struct plan *plan = &p->plan;
    struct reading r = {.pass = p, .source = source, .names = source->names};
    r.streams = mem_alloc(p->store->stream_count * sizeof *r.streams + 1);
    r.totals = mem_alloc(p->functions * sizeof *r.totals);
    r.sums = digest_stats_new(p->functions, true);
    r.digests = new_digests(&r);
    for (size_t leaf = 0; leaf < plan->leaves.count && goes_on(p); leaf++) {
        r.leaf = leaf;
        for (size_t i = plan->leaves.at[leaf].first; i < plan->leaves.at[leaf].end && goes_on(p);
             i++)
            read_block(&r, plan->blocks.at[i].stream, plan->blocks.at[i].block);
        if (goes_on(p))
            end_leaf(&r);
    }
    read_rest(&r);
    for (size_t i = 0; i < p->store->stream_count; i++)
        walk_free(r.streams[i].walk);
    digests_free(r.digests);
    free(r.streams);
    free(r.totals);
    digest_stats_free(r.sums);
}
