/* Answers that views print as well: statistics of functions, and the call graph. */
#include "cmd/graph_json.h"
#include "cmd/report.h"
#include "page/answers.h"

int answer_functions(struct writing *w, struct err *err) {
    struct report_options options = {.sort = REPORT_TOTAL};
    (void)err;
    report_json(w->out, &w->desk->view, &options);
    return 0;
}

int answer_graph(struct writing *w, struct err *err) {
    const struct source *source = &w->desk->view.source;
    struct graph_json json = {w->out, source, graph_title(source)};
    struct tree tree;
    (void)err;
    tree_init(&tree);
    tree_read(&tree, source);
    tree_sort(&tree, source->names);
    graph_json_whole(&json, &tree);
    tree_done(&tree);
    return 0;
}
