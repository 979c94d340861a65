/* See walks.h. */
#include "summary/walks.h"

#include <errno.h>

static int result(const struct session *s) {
    return s->source.stop && *s->source.stop ? -ECANCELED : 0;
}

int walks_functions(struct session *s, struct stats **ret) {
    struct stats *stats = stats_new(&s->source, NULL);
    stats_want_spreads(stats);
    stats_add_all(stats);
    int rc = result(s);
    if (rc)
        stats_free(stats);
    else
        *ret = stats;
    return rc;
}

int walks_graph(struct session *s, uint32_t most_paths, struct tree *ret) {
    struct tree tree;
    tree_init(&tree);
    tree.most = most_paths;
    tree_read(&tree, &s->source);
    int rc = result(s);
    if (rc)
        tree_done(&tree);
    else
        *ret = tree;
    return rc;
}

int walks_calls(struct session *s, void (*each)(void *ctx, const struct walk_call *call),
                void *ctx) {
    struct visitor visitor = {.ctx = ctx, .close = each};
    walk_all(&s->source, &visitor);
    return result(s);
}
