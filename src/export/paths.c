/* See export_paths.h. */
#include "export/paths.h"

#include "analyze/digest_plan.h"
#include "analyze/digest_tree.h"

uint32_t export_unknown(const struct export_paths *p) { return places_count(p->places); }

uint32_t export_deeper(const struct export_paths *p) { return export_unknown(p) + 1; }

static void add_sums(struct tree_node *to, const struct tree_node *from) {
    to->calls += from->calls;
    to->before += from->before;
    to->self_ns += from->self_ns;
}

/* ---- reading ---- */

/* The node of the callers in CHAIN. */
static uint32_t node_of_chain(struct export_paths *p, uint32_t chain) {
    uint32_t function, node = 0;
    p->chain.count = 0;
    while (places_next(p->places, &chain, &function))
        ARRAY_PUSH(&p->chain, function);
    if (chain != CHAIN_WHOLE)
        node = tree_child(p->tree, node, export_unknown(p));
    for (size_t i = p->chain.count; i-- > 0;)
        node = tree_child(p->tree, node, p->chain.at[i]);
    return node;
}

static uint32_t on_open(void *ctx, const struct walk_call *call) {
    struct export_paths *p = ctx;
    bool known = call->chain != CHAIN_NONE && call->chain != CHAIN_MISSED;
    uint32_t caller = call->caller_value == WALK_NONE ? 0 : call->caller_value;
    if (known)
        caller = node_of_chain(p, call->chain);
    return tree_child(p->tree, caller, call->function);
}

static void on_close(void *ctx, const struct walk_call *call) {
    struct export_paths *p = ctx;
    struct tree_node *node = &p->tree->nodes[call->value];
    if (call->brief)
        return;
    node->before += call->before;
    node->calls += !call->before;
    node->self_ns += call->self_ns;
    p->cut += call->how == CALL_CUT && !call->before;
}

/* New nodes come in the order in which their first calls began, as from on_open(). */
static void on_ended(void *ctx, const struct digest_sum *sums, size_t count, uint32_t caller) {
    struct export_paths *p = ctx;
    p->nodes.count = 0;
    ARRAY_PUSH(&p->nodes, caller == WALK_NONE ? 0 : caller);
    for (size_t i = 0; i < count; i++) {
        uint32_t at = tree_child(p->tree, p->nodes.at[sums[i].parent], sums[i].function);
        p->tree->nodes[at].calls += sums[i].calls;
        p->tree->nodes[at].self_ns += sums[i].self_ns;
        ARRAY_PUSH(&p->nodes, at);
    }
}

/* With chains each call may have its own path. */
static struct digests *new_digests(const struct view *view) {
    const struct source *s = &view->source;
    bool has_chains = trace_reader_chain_count(s->reader) > CHAIN_FIRST;
    return has_chains
               ? NULL
               : digest_plan(s, 0, stream_groups_count(s->stream_groups), &digest_tree_ops, NULL);
}

static void on_stream_group(void *ctx, struct stream_group group) {
    struct export_paths *p = ctx;
    const char *command = export_command(p->view, group.streams[0]);
    for (size_t i = 0; i < p->programs.count; i++) {
        p->tree = &p->programs.at[i].tree;
        if (strcmp(p->programs.at[i].command, command) == 0)
            return;
    }
    ARRAY_PUSH(&p->programs, (struct export_program){.command = command});
    p->tree = &p->programs.at[p->programs.count - 1].tree;
    tree_init(p->tree);
}

/* Removes paths on which no call is shown: those of calls that are too brief. */
static void prune(struct tree *tree) {
    AUTO_FREE uint8_t *shown = mem_alloc(tree->count);
    AUTO_FREE uint32_t *to = mem_alloc(tree->count * sizeof *to);
    size_t count = 0;
    struct tree kept;
    for (uint32_t i = tree->count; i-- > 1;) {
        shown[i] |= tree->nodes[i].calls || tree->nodes[i].before;
        shown[tree->nodes[i].parent] |= shown[i];
        count += shown[i];
    }
    if (count == tree->count - 1)
        return;
    tree_init(&kept);
    for (uint32_t i = 1; i < tree->count; i++) {
        struct tree_node *n = &tree->nodes[i];
        if (!shown[i])
            continue;
        to[i] = tree_child(&kept, to[n->parent], n->function);
        add_sums(&kept.nodes[to[i]], n);
    }
    tree_done(tree);
    *tree = kept;
}

void export_paths_read(struct export_paths *p, const struct view *view, const struct out *out) {
    *p = (struct export_paths){.view = view};
    struct visitor visitor = {.ctx = p, .open = on_open, .close = on_close, .ended = on_ended};
    p->places = places_new(view->source.reader, view->source.names);
    visitor.digests = new_digests(view);
    export_walk(view, &visitor, on_stream_group, out);
    digests_free(visitor.digests);
    for (size_t i = 0; i < p->programs.count; i++)
        prune(&p->programs.at[i].tree);
}

void export_paths_done(struct export_paths *p) {
    for (size_t i = 0; i < p->programs.count; i++)
        tree_done(&p->programs.at[i].tree);
    ARRAY_FREE(&p->programs);
    ARRAY_FREE(&p->nodes);
    ARRAY_FREE(&p->chain);
    places_free(p->places);
}

char *export_paths_losses(const struct export_paths *p) {
    const char *losses = view_losses(p->view);
    if (!losses)
        return NULL;
    if (!p->cut)
        return mem_strdup(losses);
    return mem_printf("%s, during %ju call%s whose times count up to there", losses, p->cut,
                      p->cut == 1 ? "" : "s");
}

/* ---- cutting ---- */

void export_paths_cut(const struct export_paths *p, struct export_program *program,
                      const uint32_t *shown) {
    struct tree *tree = &program->tree, cut;
    AUTO_FREE uint32_t *to = mem_alloc(tree->count * sizeof *to);
    AUTO_FREE uint32_t *depths = mem_alloc(tree->count * sizeof *depths);
    tree_init(&cut);
    for (uint32_t node = 1; node < tree->count; node++) {
        const struct tree_node *n = &tree->nodes[node];
        uint32_t parent = to[n->parent];
        depths[node] = depths[n->parent] + 1;
        if (depths[node] == EXPORT_FRAMES + 1)
            parent = tree_child(&cut, parent, export_deeper(p));
        else if (depths[node] > EXPORT_FRAMES)
            parent = cut.nodes[parent].parent;
        to[node] = tree_child(&cut, parent, shown ? shown[n->function] : n->function);
        add_sums(&cut.nodes[to[node]], n);
    }
    tree_done(tree);
    *tree = cut;
}
