/* spoor graph: shows the call graph as a tree, or the callers and callees of a function. */
#include <stdio.h>
#include <string.h>

#include "analyze/tree.h"
#include "cmd/change_texts.h"
#include "cmd/command.h"
#include "cmd/figures.h"
#include "cmd/graph_json.h"
#include "cmd/indent.h"
#include "cmd/labels.h"
#include "cmd/open_view.h"
#include "cmd/say.h"
#include "cmd/term.h"

enum { MARGIN = 31 }; /* columns before the indentation */

struct graph {
    struct view view;
    struct term term;
    bool json;
    struct tree tree;
    struct labels *labels;
    uint8_t *chosen;   /* by function: FUNCTION matches; NULL: the whole graph is shown */
    const char *title; /* of the root: the program, or the chosen function */
    char *own_title;   /* to be freed; NULL: title is borrowed */
};

/* ---- text ---- */

static void print_head(const struct graph *g, const char *title) {
    if (title)
        printf("%s\n", title);
    printf("%s%9s  %8s  %8s  FUNCTION%s\n", g->term.color ? "\033[1m" : "", "CALLS", "TOTAL",
           "SELF", g->term.color ? "\033[0m" : "");
}

/* "name (process PID)"; to be freed. */
static char *process_label(const struct graph *g, const struct tree *t, uint32_t node) {
    return mem_printf("%s (process %u)", graph_node_name(&g->view.source, t, node, g->title),
                      graph_process(&g->view.source, t->nodes[node].function)->pid);
}

static void print_node(const struct graph *g, const struct tree *t, uint32_t node, uint32_t depth) {
    const struct tree_node *n = &t->nodes[node];
    bool is_process = node && tree_is_process(n->function);
    char calls[FIGURE_ROOM] = "", total[FIGURE_ROOM], self[FIGURE_ROOM];
    if ((node && !is_process) || g->chosen)
        snprintf(calls, sizeof calls, "%ju", n->calls);
    figure_time_column(total, n->total_ns);
    figure_time_column(self, n->self_ns);
    int used = printf("%9s  %8s  %8s  ", calls, total, self);
    struct indent indent = indent_of(depth, indent_limit(g->term.columns, MARGIN));
    used += printf("%*s%s", (int)indent.columns, "", indent.depth);
    char marks[FIGURE_MARKS_ROOM];
    figure_marks(marks, &(struct figure_marks){n->inferred, n->before, n->cut, n->clipped, 0});
    used += printf("%s", marks) - figure_extra_bytes(marks);
    unsigned left = g->term.width > (unsigned)used ? g->term.width - (unsigned)used : 0;
    AUTO_FREE char *name = is_process ? process_label(g, t, node)
                           : node     ? labels_fit(g->labels, n->function, left)
                                      : label_cut(&g->term, g->title, left);
    text_print(stdout, name);
    printf("\n");
}

/* With several processes each of them is a root. */
static void print_tree(const struct graph *g, const struct tree *t, const char *title) {
    uint32_t depth = 0, first = t->nodes[0].first_child;
    bool processes = first != TREE_NONE && tree_is_process(t->nodes[first].function);
    print_head(g, title);
    for (uint32_t node = 0; node != TREE_NONE; node = tree_next(t, node, &depth))
        if (node || !processes)
            print_node(g, t, node, depth - processes);
}

static void print_end(const struct graph *g) {
    const char *losses = view_losses(&g->view);
    uint64_t calls = 0;
    uint32_t paths = 0; /* others' calls are not shown */
    struct figure_marks marks = {0};
    for (uint32_t i = 1; i < g->tree.count; i++) {
        const struct tree_node *n = &g->tree.nodes[i];
        calls += n->calls;
        paths += (n->calls || n->before) && !tree_is_process(n->function);
        marks.inferred += n->inferred;
        marks.before += n->before;
        marks.cut += n->cut;
        marks.clipped += n->clipped;
    }
    AUTO_FREE char *end =
        mem_printf("%u path%s, %ju call%s; %s", paths, paths == 1 ? "" : "s", calls,
                   calls == 1 ? "" : "s", losses ? losses : "no events lost");
    printf("\n");
    text_print_wrapped(end, 0, g->term.columns);
    figure_print_marks(&marks, g->term.columns);
    changed_print_end(&g->view, g->term.columns);
}

/* ---- both ---- */

static struct graph_json json_of(const struct graph *g) {
    return (struct graph_json){stdout, &g->view.source, g->title};
}

static void show_focus(struct graph *g) {
    struct tree callees, callers;
    tree_focus(&g->tree, g->chosen, &callees, &callers);
    tree_sort(&callees, g->view.source.names);
    tree_sort(&callers, g->view.source.names);
    if (g->json) {
        struct graph_json json = json_of(g);
        graph_json_head(&json, &callees, 0);
        graph_json_children(&json, &callees, "children");
        graph_json_children(&json, &callers, "callers");
        graph_json_end(&json);
    } else {
        print_tree(g, &callers, "callers, the nearest first");
        printf("\n");
        print_tree(g, &callees, "callees");
        print_end(g);
    }
    tree_done(&callees);
    tree_done(&callers);
}

static void show_whole(struct graph *g) {
    tree_sort(&g->tree, g->view.source.names);
    if (g->json) {
        struct graph_json json = json_of(g);
        graph_json_whole(&json, &g->tree);
    } else {
        print_tree(g, &g->tree, NULL);
        print_end(g);
    }
}

/* Chooses the functions that match TEXT, a pattern. The title is TEXT, or the name of the only
 * match. Errors: "bad-pattern", "no-match". */
static int choose(struct graph *g, const char *text, struct err *err) {
    struct names *names = g->view.source.names;
    struct filter filter = {0};
    uint32_t count = 0, only = 0;
    int rc = filter_add(&filter, 'F', text, err);
    if (rc < 0)
        return rc;
    const struct pattern *pattern = filter.functions.at[0];
    rc = view_filter_check("function", pattern, names, err);
    if (rc == 0) {
        view_filter_note_names(&filter, names);
        g->chosen = mem_alloc(names_count(names));
        for (uint32_t i = 0; i < names_count(names); i++) {
            g->chosen[i] = names_match(names, i, pattern);
            only = g->chosen[i] ? i : only;
            count += g->chosen[i];
        }
        g->title = g->own_title = mem_strdup(count > 1 ? text
                                             : g->json ? names_function(names, only)
                                                       : labels_at(g->labels, only));
    }
    filter_done(&filter);
    return rc;
}

static int show(struct graph *g, struct options *options, int argc, char **argv) {
    struct err err;
    int rc = view_open(&g->view, options, argc, argv, &err);
    if (rc == 0) {
        g->labels = labels_new(g->view.source.names, &g->term);
        g->title = graph_title(&g->view.source);
        rc = argc > 1 ? choose(g, argv[1], &err) : 0;
    }
    if (rc < 0) {
        say_err(&err);
        return STATUS_FAILED;
    }
    tree_init(&g->tree);
    tree_read(&g->tree, &g->view.source);
    view_end_progress(&g->view);
    pager_start(&g->term, &options->view);
    if (g->chosen)
        show_focus(g);
    else
        show_whole(g);
    pager_finish();
    return view_has_failed(&g->view) ? STATUS_FAILED : STATUS_OK;
}

int cmd_graph(struct options *options, int argc, char **argv) {
    struct graph g = {.term = term_open(&options->view), .json = options->view.json};
    int status = show(&g, options, argc, argv);
    tree_done(&g.tree);
    free(g.chosen);
    free(g.own_title);
    labels_free(g.labels);
    view_close(&g.view);
    return status;
}
