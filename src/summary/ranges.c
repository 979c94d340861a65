/* Statistics of a range (summary.h): nodes and listed calls, blocks that the range cuts, and walks
 * where nothing else is known. */
#include <errno.h>

#include "summary/replay.h"
#include "summary/walks.h"

/* ---- nodes ---- */

struct choice {
    const struct summary *summary;
    const struct summary_range *range;
    struct node_adder adder;
    replay_blocks blocks; /* to be read */
};

static bool is_inside(const struct choice *c, size_t first, size_t end) {
    const struct plan *plan = &c->summary->pass.plan;
    if (end > plan->leaves.count)
        return false;
    for (size_t i = first; i < end; i++)
        if (plan->leaves.at[i].first_ns < c->range->since_ns ||
            plan->leaves.at[i].last_ns > c->range->until_ns)
            return false;
    return true;
}

static void add_blocks(struct choice *c, size_t leaf) {
    const struct plan *plan = &c->summary->pass.plan;
    for (size_t i = plan->leaves.at[leaf].first; i < plan->leaves.at[leaf].end; i++) {
        const struct plan_block *b = &plan->blocks.at[i];
        struct trace_block_facts facts = trace_reader_block(c->summary->reader, b->block);
        if (c->summary->pass.arounds[b->block].count &&
            trace_reader_ns(c->summary->reader, facts.first) <= c->range->until_ns &&
            trace_reader_ns(c->summary->reader, facts.last) >= c->range->since_ns)
            ARRAY_PUSH(&c->blocks, *b);
    }
}

/* Adds the largest nodes that the range has. */
static void add_nodes(struct choice *c) {
    const struct pass *p = &c->summary->pass;
    for (size_t i = 0, size; i < p->plan.leaves.count; i += size) {
        int level = PASS_LEVELS - 1;
        for (size = PASS_FANOUT * PASS_FANOUT; level >= 0; level--, size /= PASS_FANOUT)
            if (i % size == 0 && is_inside(c, i, i + size))
                break;
        size = size ? size : 1;
        if (level >= 0)
            node_add(&c->adder, &p->levels[level].at[i / size]);
        else
            add_blocks(c, i);
    }
}

static bool asks_for_all(const struct summary *s, const struct summary_range *range) {
    for (uint32_t i = 0; i < s->pass.store->stream_count; i++)
        if (s->pass.plan.regular[i] && !summary_asks_for(range, i))
            return false;
    return true;
}

/* ---- listed calls ---- */

static void add_listed(const struct summary *s, const struct summary_range *range,
                       struct stats *stats, uint32_t stream) {
    const struct listed_stream *list = &s->pass.listed[stream];
    size_t i = 0;
    while ((i = listed_next(list, i, range->since_ns, range->until_ns)) < list->calls.count) {
        const struct listed *l = &list->calls.at[i++];
        struct walk_call call = listed_walk_call(list, stream, l);
        call.clipped = summary_clips(range, l->start_ns, l->end_ns);
        call.self_ns = call.clipped ? l->clipped_self_ns : l->self_ns;
        stats_add_call(stats, &call, l->flags & LISTED_OUTERMOST);
    }
}

static int add_regular(struct summary *s, const struct summary_range *range, struct stats *stats) {
    struct choice c = {.summary = s, .range = range};
    c.adder = (struct node_adder){.count = s->pass.functions, .stats = stats};
    if (asks_for_all(s, range))
        add_nodes(&c);
    else
        c.blocks = replay_blocks_of(s, range);
    node_adder_done(&c.adder);
    int rc = replay_functions(s, range, &c.blocks, stats);
    ARRAY_FREE(&c.blocks);
    for (uint32_t i = 0; i < s->pass.store->stream_count && !rc; i++)
        if (s->pass.plan.regular[i] && summary_asks_for(range, i))
            add_listed(s, range, stats, i);
    return rc;
}

static int add_all(struct summary *s, const struct summary_range *range, struct session *session,
                   struct stats *stats) {
    int rc = add_regular(s, range, stats);
    for (size_t i = 0; i < s->pass.plan.groups.count && !rc; i++) {
        struct stream_group group =
            stream_groups_at(session->source.stream_groups, s->pass.plan.groups.at[i]);
        if (walk_shows(&session->source, group))
            stats_add_group(stats, s->pass.plan.groups.at[i]);
        rc = range->cancel && *range->cancel ? -ECANCELED : 0;
    }
    return rc;
}

/* Before and after a query that takes much memory. */
static void let_go(struct summary *s) {
    mem_give_back();
    if (summary_state(s).complete)
        kept_let_go(&s->file);
}

int summary_functions(struct summary *s, const struct summary_range *range, struct stats **ret) {
    struct session *session = session_take(s->sessions, range);
    int rc;
    if (!summary_state(s).complete) {
        rc = walks_functions(session, ret);
        session_give(s->sessions, session);
        return rc;
    }
    let_go(s);
    struct stats *stats = stats_new(&session->source, NULL);
    stats_want_spreads(stats);
    rc = add_all(s, range, session, stats);
    session_give(s->sessions, session);
    let_go(s);
    if (rc)
        stats_free(stats);
    else
        *ret = stats;
    return rc;
}

/* ---- the call graph ---- */

static void add_listed_call(struct tree_node *n, const struct listed *l,
                            const struct summary_range *range) {
    bool before = l->flags & LISTED_BEFORE;
    n->before += before;
    n->calls += !before;
    n->inferred += l->flags & LISTED_INFERRED && !before;
    n->cut += l->how == CALL_CUT && !before;
    n->clipped += summary_clips(range, l->start_ns, l->end_ns);
    n->paused_ns += listed_paused_ns(l);
    n->total_ns += l->duration_ns;
    n->self_ns += summary_clips(range, l->start_ns, l->end_ns) ? l->clipped_self_ns : l->self_ns;
}

/* A caller of a call that overlaps the range does so, too, and has a smaller number. */
static void add_listed_paths(const struct listed_stream *list, const struct summary_range *range,
                             struct tree *tree, uint32_t root) {
    AUTO_FREE uint32_t *nodes = mem_alloc(list->calls.count * sizeof *nodes + 1);
    size_t i = 0;
    while ((i = listed_next(list, i, range->since_ns, range->until_ns)) < list->calls.count) {
        const struct listed *l = &list->calls.at[i];
        uint32_t parent = l->parent < i ? nodes[l->parent] : root;
        nodes[i] = tree_child(tree, parent, l->function);
        add_listed_call(&tree->nodes[nodes[i]], l, range);
        if (nodes[i] == parent)
            tree->nodes[parent].total_ns -= l->duration_ns;
        i++;
    }
}

static int read_graph(struct summary *s, const struct summary_range *range,
                      const replay_blocks *blocks, struct session *session, struct tree *tree) {
    bool several = tree_has_processes(&session->source);
    for (uint32_t i = 0; i < s->pass.store->stream_count; i++)
        if (s->pass.plan.regular[i] && summary_asks_for(range, i))
            add_listed_paths(&s->pass.listed[i], range, tree,
                             tree_root(tree, &session->source, several, i));
    int rc = replay_graph(s, range, blocks, session, tree);
    for (size_t i = 0; i < s->pass.plan.groups.count && !rc; i++) {
        tree_add_group(tree, &session->source, s->pass.plan.groups.at[i]);
        rc = range->cancel && *range->cancel ? -ECANCELED : 0;
    }
    tree_sum_roots(tree);
    return rc;
}

static int find_graph(struct summary *s, const struct summary_range *range,
                      const replay_blocks *blocks, struct tree *ret) {
    struct session *session = session_take(s->sessions, range);
    struct tree tree;
    let_go(s);
    tree_init(&tree);
    tree.most = range->most_paths;
    int rc = read_graph(s, range, blocks, session, &tree);
    session_give(s->sessions, session);
    let_go(s);
    if (rc)
        tree_done(&tree);
    else
        *ret = tree;
    return rc;
}

int summary_graph(struct summary *s, const struct summary_range *range, struct tree *ret) {
    if (!summary_state(s).complete) {
        struct session *session = session_take(s->sessions, range);
        int rc = walks_graph(session, range->most_paths, ret);
        session_give(s->sessions, session);
        return rc;
    }
    replay_blocks blocks = replay_blocks_of(s, range);
    int rc = find_graph(s, range, &blocks, ret);
    ARRAY_FREE(&blocks);
    return rc;
}

/* Leaves out all but about MOST blocks, in equal distances. */
static void thin_out(replay_blocks *blocks, size_t most) {
    size_t step = (blocks->count + most - 1) / most, kept = 0;
    for (size_t i = 0; i < blocks->count; i++)
        if (i % step == step / 2)
            blocks->at[kept++] = blocks->at[i];
    blocks->share = (double)kept / (double)blocks->count;
    blocks->count = kept;
}

int summary_graph_quick(struct summary *s, const struct summary_range *range, struct tree *ret,
                        double *ret_share) {
    enum { QUICK_BLOCKS = 120 };
    *ret_share = 1;
    if (!summary_state(s).complete)
        return summary_graph(s, range, ret);
    replay_blocks blocks = replay_blocks_of(s, range);
    if (blocks.count > QUICK_BLOCKS) {
        thin_out(&blocks, QUICK_BLOCKS);
        *ret_share = blocks.share;
    }
    int rc = find_graph(s, range, &blocks, ret);
    ARRAY_FREE(&blocks);
    return rc;
}
