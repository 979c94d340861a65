/* The JSON of a call graph. */
#include "cmd/graph_json.h"

#include <string.h>

#include "analyze/processes.h"
#include "cmd/change_texts.h"
#include "cmd/json.h"

const struct trace_process *graph_process(const struct source *s, uint32_t function) {
    return trace_reader_process(s->reader, function & ~(uint32_t)TREE_PROCESS);
}

const char *graph_node_name(const struct source *s, const struct tree *t, uint32_t node,
                            const char *title) {
    uint32_t function = t->nodes[node].function;
    if (node && tree_is_process(function))
        return graph_process(s, function)->command;
    return node ? names_function(s->names, function) : title;
}

static const char *program_name(const struct trace_reader *r) {
    const char *path = trace_reader_session(r)->command[0];
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path ? path : "";
}

const char *graph_title(const struct source *s) {
    for (uint32_t i = 0; s->filter->streams && i < trace_reader_stream_count(s->reader); i++)
        if (s->filter->streams[i])
            return process_name(s->reader, process_of(s->reader, i));
    return program_name(s->reader);
}

/* The module of a function, or the number of a process. */
static void json_place(const struct graph_json *g, uint32_t function) {
    struct names *names = g->source->names;
    FILE *out = g->out;
    if (tree_is_process(function)) {
        fprintf(out, ", \"pid\": %u", graph_process(g->source, function)->pid);
    } else if (function != WALK_NONE) {
        fprintf(out, ", \"module\": ");
        json_print_string(out, names_module_name(names, names_module(names, function)));
    }
}

void graph_json_head(const struct graph_json *g, const struct tree *t, uint32_t node) {
    FILE *out = g->out;
    const struct tree_node *n = &t->nodes[node];
    fprintf(out, "{\"name\": ");
    json_print_string(out, graph_node_name(g->source, t, node, g->title));
    json_place(g, node ? n->function : WALK_NONE);
    fprintf(out,
            ", \"calls\": %ju, \"total_ns\": %ju, \"self_ns\": %ju, \"inferred\": %ju, "
            "\"before\": %ju, \"cut\": %ju, \"clipped\": %ju, \"paused_ns\": %ju",
            n->calls, n->total_ns, n->self_ns, n->inferred, n->before, n->cut, n->clipped,
            n->paused_ns);
}

void graph_json_children(const struct graph_json *g, const struct tree *t, const char *label) {
    FILE *out = g->out;
    uint32_t depth = 0, before = 0;
    fprintf(out, ",\n\"%s\": [", label);
    for (uint32_t node = 0; (node = tree_next(t, node, &depth)) != TREE_NONE; before = depth) {
        for (uint32_t i = depth; i <= before && before; i++)
            fprintf(out, "]}");
        fprintf(out, "%s\n", depth > before ? "" : ",");
        graph_json_head(g, t, node);
        fprintf(out, ", \"children\": [");
    }
    for (uint32_t i = 0; i < before; i++)
        fprintf(out, "]}");
    fprintf(out, "]");
}

void graph_json_end(const struct graph_json *g) {
    struct changes changes;
    changes_read(g->source->reader, &changes);
    changes_show(&changes, g->source->filter, g->source->reader);
    fprintf(g->out, ",\n\"recording_paused_ns\": %ju}\n", changes_paused_ns(&changes));
    changes_done(&changes);
}

void graph_json_whole(const struct graph_json *g, const struct tree *t) {
    graph_json_head(g, t, 0);
    graph_json_children(g, t, "children");
    graph_json_end(g);
}
