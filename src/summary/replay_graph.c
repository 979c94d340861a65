/* See replay.h: the call graph. Each thread has a tree; they are joined at the end. */
#include "summary/replayer.h"

static inline uint32_t on_open(void *ctx, uint32_t function, const struct digest_frame *caller) {
    struct replayer *r = ctx;
    uint32_t parent = caller == r->reader.frames ? r->base : caller->value;
    return tree_child(&r->tree, parent, function);
}

/* The node of F's caller. */
static inline uint32_t caller_of(const struct replayer *r, const struct digest_frame *f) {
    return f - 1 == r->reader.frames ? r->base : f[-1].value;
}

static inline void on_close(void *ctx, uint32_t function, const struct digest_frame *f,
                            uint64_t duration) {
    struct replayer *r = ctx;
    struct tree_node *n = &r->tree.nodes[f->value];
    (void)function;
    r->holds = f->start_ns <= r->until_ns && f->start_ns + duration >= r->since_ns;
    if (!r->holds)
        return;
    n->calls++;
    if (n->function != TREE_REST || f->value != caller_of(r, f))
        n->total_ns += duration;
    n->self_ns += replayer_self(r, f, duration);
    if (replayer_clips(r, f->start_ns, f->start_ns + duration))
        n->clipped++; /* in another line of the cache */
}

static inline void on_unwind(void *ctx, uint32_t function, const struct digest_frame *f) {
    struct replayer *r = ctx;
    r->tree.nodes[f->value].inferred += r->holds && !names_exact(r->reader.names, function);
}

static inline void on_leave(void *ctx, uint32_t function, const struct digest_frame *f) {
    (void)ctx;
    (void)function;
    (void)f;
}

static void enter(struct replayer *r, const struct listed *l) {
    uint32_t parent = r->nodes.count ? r->nodes.at[r->nodes.count - 1] : r->root;
    ARRAY_PUSH(&r->nodes, tree_child(&r->tree, parent, l->function));
}

static void leave(struct replayer *r, const struct listed *l) {
    (void)l;
    r->nodes.count--;
}

/* Moves to the present step. */
static void begin_step(struct replayer *r) {
    replayer_move(r);
    r->base = r->nodes.count ? r->nodes.at[r->nodes.count - 1] : r->root;
}

static void sum_up(void *ctx, struct digest *to) {
    struct replayer *r = ctx;
    (void)to;
    r->step++;
    begin_step(r);
}

static void read_block(struct replayer *r) {
    static const struct digest_hooks hooks = {NULL,     on_open, on_close, on_unwind,
                                              on_leave, sum_up,  true,     false};
    if (!r->chain.count)
        r->root = tree_root(&r->tree, &r->session->source, r->several, r->stream);
    begin_step(r);
    digest_read(&r->reader, &hooks, r, &r->digest);
}

struct job {
    const struct summary_range *range;
    const replay_blocks *blocks;
    const struct session *session;
    struct tree *tree;
    bool several;
};

static void init(struct replayer *r, void *ctx) {
    const struct job *job = ctx;
    tree_init(&r->tree);
    r->tree.most = job->tree->most / 2;
    r->session = job->session;
    r->several = job->several;
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

/* What was read of some blocks stands for all. */
static uint64_t scaled(uint64_t number, double share) {
    return share > 0 ? (uint64_t)((double)number / share + 0.5) : number;
}

static void done(struct replayer *r, void *ctx) {
    const struct job *job = ctx;
    const double share = job->blocks->share;
    struct tree *t = job->tree;
    AUTO_FREE uint32_t *to = mem_alloc(r->tree.count * sizeof *to);
    for (uint32_t i = 1; i < r->tree.count; i++) {
        const struct tree_node *from = &r->tree.nodes[i];
        to[i] = tree_child(t, to[from->parent], from->function);
        struct tree_node *n = &t->nodes[to[i]];
        n->calls += scaled(from->calls, share);
        n->total_ns += to[i] == to[from->parent] ? 0 : scaled(from->total_ns, share);
        n->self_ns += scaled(from->self_ns, share);
        n->inferred += scaled(from->inferred, share);
        n->clipped += scaled(from->clipped, share);
    }
    tree_done(&r->tree);
    r->leave = NULL;
}

int replay_graph(struct summary *s, const struct summary_range *range, const replay_blocks *blocks,
                 const struct session *session, struct tree *tree) {
    struct job job = {range, blocks, session, tree, tree_has_processes(&session->source)};
    return replay_run(
        &(struct replay_work){
            .summary = s, .range = range, .ctx = &job, .init = init, .body = body, .done = done},
        blocks->count);
}
