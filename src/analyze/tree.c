/* Builds and sorts the call graph; finds callees and callers of chosen functions in it. */
#include "analyze/tree.h"

#include <string.h>

#include "analyze/digest_plan.h"
#include "analyze/digest_tree.h"
#include "analyze/processes.h"
#include "base/mem.h"

enum { FIRST_NODES = 1024 };

static void add_root(struct tree *t) {
    t->count = 1;
    t->nodes[0] = (struct tree_node){.function = WALK_NONE,
                                     .parent = TREE_NONE,
                                     .first_child = TREE_NONE,
                                     .next_sibling = TREE_NONE};
}

void tree_init(struct tree *t) {
    *t = (struct tree){.room = FIRST_NODES, .table_size = 2 * FIRST_NODES};
    t->nodes = mem_resize(NULL, t->room, sizeof *t->nodes);
    t->table = mem_alloc(t->table_size * sizeof *t->table);
    add_root(t);
}

void tree_done(struct tree *t) {
    free(t->nodes);
    free(t->table);
    *t = (struct tree){0};
}

void tree_clear(struct tree *t) {
    enum { SPARSE = 16 };
    if (t->table_size > 2 * FIRST_NODES && t->table_size / SPARSE > t->count) {
        tree_done(t);
        tree_init(t);
        return;
    }
    memset(t->table, 0, t->table_size * sizeof *t->table);
    add_root(t);
}

static uint32_t hash(const struct tree *t, uint32_t parent, uint32_t function) {
    uint64_t key = ((uint64_t)parent << 32 | function) * 0x9e3779b97f4a7c15;
    return (uint32_t)(key >> 32) & (t->table_size - 1);
}

/* The table entry that holds the node, or the free one where it belongs. */
static uint32_t *entry_of(struct tree *t, uint32_t parent, uint32_t function) {
    uint32_t i = hash(t, parent, function);
    for (; t->table[i]; i = (i + 1) & (t->table_size - 1)) {
        const struct tree_node *n = &t->nodes[t->table[i]];
        if (n->parent == parent && n->function == function)
            break;
    }
    return &t->table[i];
}

/* The table stays at most half full. */
static void grow(struct tree *t) {
    t->room *= 2;
    t->table_size *= 2;
    t->nodes = mem_resize(t->nodes, t->room, sizeof *t->nodes);
    free(t->table);
    t->table = mem_alloc(t->table_size * sizeof *t->table);
    for (uint32_t i = 1; i < t->count; i++)
        *entry_of(t, t->nodes[i].parent, t->nodes[i].function) = i;
}

static uint32_t add(struct tree *t, uint32_t parent, uint32_t function) {
    if (t->count == t->room)
        grow(t);
    uint32_t node = t->count++;
    struct tree_node *p = &t->nodes[parent];
    t->nodes[node] = (struct tree_node){.function = function,
                                        .parent = parent,
                                        .first_child = TREE_NONE,
                                        .next_sibling = p->first_child};
    p->first_child = node;
    *entry_of(t, parent, function) = node;
    return node;
}

uint32_t tree_child_by_table(struct tree *t, uint32_t parent, uint32_t function) {
    if (t->nodes[parent].function == TREE_REST)
        return parent;
    uint32_t node = *entry_of(t, parent, function);
    bool is_path = function != TREE_REST && !tree_is_process(function);
    if (!node && is_path && t->most && t->count >= t->most)
        return tree_child(t, parent, TREE_REST);
    if (!node)
        node = add(t, parent, function);
    t->nodes[parent].recent_child_is_of = function;
    return t->nodes[parent].recent_child = node;
}

/* ---- reading ---- */

struct reading {
    struct tree *tree;
    struct names *names;
    uint32_t root;         /* of the process that is read */
    ARRAY(uint32_t) nodes; /* of a digest's sums */
};

static uint32_t on_open(void *ctx, const struct walk_call *call) {
    struct reading *r = ctx;
    return tree_child(r->tree, call->caller_value == WALK_NONE ? r->root : call->caller_value,
                      call->function);
}

static void on_close(void *ctx, const struct walk_call *call) {
    struct reading *r = ctx;
    struct tree_node *node = &r->tree->nodes[call->value];
    if (call->brief)
        return;
    node->before += call->before;
    node->calls += !call->before;
    node->inferred += call->inferred && !call->before;
    node->cut += call->how == CALL_CUT && !call->before;
    node->clipped += call->clipped;
    node->paused_ns += call->paused_ns;
    node->total_ns += call->value == call->caller_value ? 0 : call->duration_ns;
    node->self_ns += call->self_ns;
}

static void on_ended(void *ctx, const struct digest_sum *sums, size_t count, uint32_t caller) {
    struct reading *r = ctx;
    r->nodes.count = 0;
    ARRAY_PUSH(&r->nodes, caller == WALK_NONE ? r->root : caller);
    for (size_t i = 0; i < count; i++) {
        uint32_t at = tree_child(r->tree, r->nodes.at[sums[i].parent], sums[i].function);
        struct tree_node *node = &r->tree->nodes[at];
        node->calls += sums[i].calls;
        node->total_ns += at == r->nodes.at[sums[i].parent] ? 0 : sums[i].total_ns;
        node->self_ns += sums[i].self_ns;
        node->inferred += names_exact(r->names, sums[i].function) ? 0 : sums[i].unwound;
        ARRAY_PUSH(&r->nodes, at);
    }
}

/* True if several processes are shown. */
bool tree_has_processes(const struct source *source) {
    uint32_t first = PROCESS_NONE;
    for (size_t i = 0; i < stream_groups_count(source->stream_groups); i++) {
        struct stream_group group = stream_groups_at(source->stream_groups, i);
        uint32_t process = process_of(source->reader, group.streams[0]);
        if (!walk_shows(source, group) || process == PROCESS_NONE)
            continue;
        if (first != PROCESS_NONE && process != first)
            return true;
        first = process;
    }
    return false;
}

uint32_t tree_root(struct tree *t, const struct source *source, bool several, uint32_t stream) {
    uint32_t process = several ? process_of(source->reader, stream) : PROCESS_NONE;
    return process == PROCESS_NONE ? 0 : tree_child(t, 0, TREE_PROCESS | process);
}

static void read_groups(struct reading *r, const struct source *source,
                        const struct visitor *visitor) {
    bool several = tree_has_processes(source);
    for (size_t i = 0; i < stream_groups_count(source->stream_groups); i++) {
        struct stream_group group = stream_groups_at(source->stream_groups, i);
        r->root = tree_root(r->tree, source, several, group.streams[0]);
        walk_stream_group(source, group, visitor);
    }
}

static void sum_children(struct tree *t, uint32_t node) {
    struct tree_node *root = &t->nodes[node];
    root->total_ns = root->paused_ns = 0;
    for (uint32_t i = root->first_child; i != TREE_NONE; i = t->nodes[i].next_sibling) {
        if (tree_is_process(t->nodes[i].function))
            sum_children(t, i);
        root->total_ns += t->nodes[i].total_ns;
        root->paused_ns += t->nodes[i].paused_ns;
    }
}

void tree_read(struct tree *t, const struct source *source) {
    struct reading r = {.tree = t, .names = source->names};
    struct visitor visitor = {.ctx = &r, .open = on_open, .close = on_close, .ended = on_ended};
    visitor.digests =
        digest_plan(source, 0, stream_groups_count(source->stream_groups), &digest_tree_ops, NULL);
    read_groups(&r, source, &visitor);
    digests_free(visitor.digests);
    ARRAY_FREE(&r.nodes);
    sum_children(t, 0);
}

void tree_add_group(struct tree *t, const struct source *source, size_t index) {
    struct stream_group group = stream_groups_at(source->stream_groups, index);
    struct reading r = {.tree = t, .names = source->names};
    struct visitor visitor = {.ctx = &r, .open = on_open, .close = on_close, .ended = on_ended};
    if (!walk_shows(source, group))
        return;
    r.root = tree_root(t, source, tree_has_processes(source), group.streams[0]);
    visitor.digests = digest_plan(source, index, index + 1, &digest_tree_ops, NULL);
    walk_stream_group(source, group, &visitor);
    digests_free(visitor.digests);
    ARRAY_FREE(&r.nodes);
}

void tree_sum_roots(struct tree *t) { sum_children(t, 0); }

/* ---- order ---- */

struct ordering {
    const struct tree *tree;
    struct names *names;
};

static int compare(const void *a, const void *b, void *ctx) {
    const struct ordering *o = ctx;
    const struct tree_node *x = &o->tree->nodes[*(const uint32_t *)a];
    const struct tree_node *y = &o->tree->nodes[*(const uint32_t *)b];
    if (x->function == TREE_REST || y->function == TREE_REST)
        return x->function == TREE_REST ? 1 : -1; /* one of them */
    if (x->total_ns != y->total_ns)
        return x->total_ns > y->total_ns ? -1 : 1;
    bool named = !tree_is_process(x->function) && !tree_is_process(y->function);
    int rc =
        named ? strcmp(names_function(o->names, x->function), names_function(o->names, y->function))
              : 0;
    return rc ? rc : (x->function > y->function) - (x->function < y->function);
}

/* Whether NODE has calls, or a process calls. */
static bool is_called(const struct tree *t, uint32_t node) {
    const struct tree_node *n = &t->nodes[node];
    bool found = n->calls || n->before;
    if (tree_is_process(n->function))
        for (uint32_t i = n->first_child; i != TREE_NONE && !found; i = t->nodes[i].next_sibling)
            found = is_called(t, i);
    return found;
}

void tree_sort(struct tree *t, struct names *names) {
    struct ordering ordering = {t, names};
    ARRAY(uint32_t) children = {0};
    for (uint32_t node = 0; node < t->count; node++) {
        children.count = 0;
        for (uint32_t i = t->nodes[node].first_child; i != TREE_NONE; i = t->nodes[i].next_sibling)
            if (is_called(t, i))
                ARRAY_PUSH(&children, i);
        if (children.count > 1)
            qsort_r(children.at, children.count, sizeof *children.at, compare, &ordering);
        uint32_t next = TREE_NONE;
        for (size_t i = children.count; i-- > 0;) {
            t->nodes[children.at[i]].next_sibling = next;
            next = children.at[i];
        }
        t->nodes[node].first_child = next;
    }
    ARRAY_FREE(&children);
}

uint32_t tree_next(const struct tree *t, uint32_t node, uint32_t *depth) {
    const struct tree_node *n = &t->nodes[node];
    if (n->first_child != TREE_NONE) {
        ++*depth;
        return n->first_child;
    }
    while (n->next_sibling == TREE_NONE && n->parent != TREE_NONE) {
        n = &t->nodes[n->parent];
        --*depth;
    }
    return n->next_sibling;
}

/* ---- focus ---- */

static void sum(struct tree *t, uint32_t node, const struct tree_node *from, bool outermost) {
    t->nodes[node].calls += from->calls;
    t->nodes[node].inferred += from->inferred;
    t->nodes[node].cut += from->cut;
    t->nodes[node].clipped += from->clipped;
    t->nodes[node].paused_ns += outermost ? from->paused_ns : 0;
    t->nodes[node].before += from->before;
    t->nodes[node].self_ns += from->self_ns;
    t->nodes[node].total_ns += outermost ? from->total_ns : 0;
}

static void add_callers(struct tree *callers, const struct tree *tree, uint32_t node,
                        const uint8_t *chosen, bool outermost) {
    const struct tree_node *from = &tree->nodes[node];
    uint32_t to = 0;
    sum(callers, 0, from, outermost);
    for (uint32_t p = from->parent; p && !tree_is_process(tree->nodes[p].function);
         p = tree->nodes[p].parent) {
        to = tree_child(callers, to, tree->nodes[p].function);
        sum(callers, to, from, outermost);
        if (chosen[tree->nodes[p].function])
            break;
    }
}

void tree_focus(const struct tree *tree, const uint8_t *chosen, struct tree *callees,
                struct tree *callers) {
    tree_init(callees);
    tree_init(callers);
    uint32_t *to = mem_resize(NULL, tree->count, sizeof *to); /* nodes in CALLEES by TREE's */
    to[0] = TREE_NONE;
    for (uint32_t i = 1; i < tree->count; i++) {
        const struct tree_node *n = &tree->nodes[i];
        bool outermost = to[n->parent] == TREE_NONE;
        to[i] = TREE_NONE;
        if (!n->calls && !n->before)
            continue;
        if (tree_is_process(n->function))
            continue;
        if (chosen[n->function])
            add_callers(callers, tree, i, chosen, outermost);
        if (!outermost)
            to[i] = tree_child(callees, to[n->parent], n->function);
        else if (chosen[n->function])
            to[i] = 0;
        if (to[i] != TREE_NONE)
            sum(callees, to[i], n, true);
    }
    free(to);
}
