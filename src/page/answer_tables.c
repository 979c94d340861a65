/* Answers that views print as well: statistics of functions, and the call graph. */
#include <errno.h>
#include <stdlib.h>

#include "cmd/graph_json.h"
#include "cmd/report.h"
#include "page/answers.h"

int answer_functions(struct writing *w, struct err *err) {
    struct stats *stats;
    int rc = summary_functions(w->summary, &w->range, &stats);
    (void)err;
    if (rc < 0)
        return rc;
    bool numbered = w->request->parameter(w->request->ctx, "numbers") != NULL;
    report_json(w->out, &w->desk->view, stats, numbered);
    stats_free(stats);
    return 0;
}

/* ---- the call graph ---- */

struct pruned { /* a graph that is written without its smallest paths */
    struct graph_json json;
    const struct tree *tree;
    uint64_t least_ns;
};

/* Children are sorted by total time: the first one that is too small, or no path. */
static uint32_t first_small(const struct pruned *p, uint32_t child) {
    const struct tree_node *nodes = p->tree->nodes;
    while (child != TREE_NONE && nodes[child].function != TREE_REST &&
           nodes[child].total_ns >= p->least_ns)
        child = nodes[child].next_sibling;
    return child;
}

/* The children from CHILD on, as one. */
static void write_rest(const struct pruned *p, uint32_t child, bool first) {
    struct tree_node sum = {0};
    uint32_t count = 0;
    bool more = false; /* than are counted */
    for (; child != TREE_NONE; child = p->tree->nodes[child].next_sibling, count++) {
        const struct tree_node *n = &p->tree->nodes[child];
        more |= n->function == TREE_REST;
        sum.calls += n->calls;
        sum.total_ns += n->total_ns;
        sum.self_ns += n->self_ns;
        sum.inferred += n->inferred;
        sum.before += n->before;
        sum.cut += n->cut;
        sum.clipped += n->clipped;
        sum.paused_ns += n->paused_ns;
    }
    AUTO_FREE char *name = more ? mem_strdup("further paths")
                                : mem_printf("%u smaller path%s", count, count == 1 ? "" : "s");
    if (count)
        fprintf(p->json.out,
                "%s\n{\"name\": \"(%s)\", \"rest\": true, \"calls\": %ju, "
                "\"total_ns\": %ju, \"self_ns\": %ju, \"inferred\": %ju, \"before\": %ju, "
                "\"cut\": %ju, \"clipped\": %ju, \"paused_ns\": %ju, \"children\": []}",
                first ? "" : ",", name, sum.calls, sum.total_ns, sum.self_ns, sum.inferred,
                sum.before, sum.cut, sum.clipped, sum.paused_ns);
}

/* What follows NODE, whose children were written: a sibling, or the end of its caller. */
static uint32_t next_large(const struct pruned *p, uint32_t node) {
    const struct tree_node *nodes = p->tree->nodes;
    for (; node; node = nodes[node].parent) {
        fputs("]}", p->json.out);
        uint32_t next = nodes[node].next_sibling, small = first_small(p, next);
        if (next != TREE_NONE && next != small)
            return next;
        write_rest(p, small, false);
    }
    return TREE_NONE;
}

/* Writes the nodes below the root. */
static void write_nodes(const struct pruned *p) {
    const struct tree_node *nodes = p->tree->nodes;
    uint32_t node = nodes[0].first_child;
    bool first = true;
    if (node == first_small(p, node)) {
        write_rest(p, node, true);
        return;
    }
    while (node != TREE_NONE) {
        uint32_t child = nodes[node].first_child, small = first_small(p, child);
        fputs(first ? "\n" : ",\n", p->json.out);
        graph_json_head(&p->json, p->tree, node);
        if (!tree_is_process(nodes[node].function))
            fprintf(p->json.out, ", \"function\": %u", nodes[node].function);
        fputs(", \"children\": [", p->json.out);
        first = child != TREE_NONE && child != small;
        if (!first)
            write_rest(p, small, true);
        node = first ? child : next_large(p, node);
    }
}

/* SHARE: of the events that were read. */
static void write_pruned(const struct graph_json *json, const struct tree *tree, double least,
                         double share) {
    struct pruned p = {*json, tree, (uint64_t)(least * (double)tree->nodes[0].total_ns)};
    graph_json_head(json, tree, 0);
    if (share < 1)
        fprintf(json->out, ", \"share\": %.6f", share);
    fputs(",\n\"children\": [", json->out);
    write_nodes(&p);
    fputs("]", json->out);
    graph_json_end(json);
}

/* A share from 0 to 1; < 0: it is not given. */
static int read_least(const struct request *r, double *ret, struct err *err) {
    const char *value = r->parameter(r->ctx, "least");
    char *end;
    *ret = -1;
    if (!value)
        return 0;
    *ret = strtod(value, &end);
    if (*value && !*end && *ret >= 0 && *ret <= 1)
        return 0;
    return err_set(err, EINVAL, "bad-value", "least: '%.40s' is not a number from 0 to 1", value);
}

/* With `least` the number of paths is limited, and with `quick` the time. */
static int find_graph(struct writing *w, double least, struct tree *ret, double *ret_share) {
    enum { MOST_LARGE = 1 << 19, MOST = 1 << 22 };
    struct summary_range range = w->range;
    *ret_share = 1;
    if (least >= 0)
        range.most_paths = least > 0 ? MOST_LARGE : MOST;
    if (least >= 0 && w->request->parameter(w->request->ctx, "quick"))
        return summary_graph_quick(w->summary, &range, ret, ret_share);
    return summary_graph(w->summary, &range, ret);
}

int answer_graph(struct writing *w, struct err *err) {
    const struct source *source = &w->desk->view.source;
    struct graph_json json = {w->out, source, graph_title(source)};
    struct tree tree;
    double least, share;
    int rc = read_least(w->request, &least, err);
    if (rc == 0)
        rc = find_graph(w, least, &tree, &share);
    if (rc < 0)
        return rc;
    tree_sort(&tree, source->names);
    if (least < 0)
        graph_json_whole(&json, &tree);
    else
        write_pruned(&json, &tree, least, share);
    tree_done(&tree);
    return 0;
}
