/*
 * Folded stacks, the input of flame graph programs: "program;outermost;…;innermost nanoseconds",
 * one line for each path that has self time. Functions with the same name, in the form that --names
 * asks for, are one, as flame graphs show only names. The memory used grows with the number of
 * different paths.
 *
 * If callers were recorded (record --stack), they are the path of a call, traced or not.
 *
 * A path has at most MOST_FRAMES functions. Deeper calls are one level below the frame DEEPER, each
 * function with all its time there. Otherwise the output of a recursion grows with the square of
 * its depth.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/digest_plan.h"
#include "analyze/digest_tree.h"
#include "analyze/places.h"
#include "analyze/tree.h"
#include "base/mem.h"
#include "cmd/export.h"
#include "cmd/labels.h"

enum { MOST_FRAMES = 512 };
static const char DEEPER[] = "[deeper than 512 calls]";

/* All threads of processes that run the same program. */
struct program {
    const char *command;
    struct tree tree;
};

struct folded {
    const struct view *view;
    struct places *places;
    struct labels *labels;
    char **frames;         /* by function; NULL: not used */
    uint32_t *shown;       /* by function: the first function with the same frame */
    ARRAY(uint32_t) nodes; /* of a digest's sums */
    ARRAY(struct program) programs;
    ARRAY(uint32_t) path; /* functions, the innermost first */
    struct tree *tree;    /* of the program of the present group */
};

/* A copy of NAME without the separators of frames and lines; to be freed. */
static char *frame(const char *name) {
    char *text = mem_strdup(name);
    for (char *p = text; *p; p++)
        if (*p == ';' || *p == '\n')
            *p = ':';
    return text;
}

/* The number that stands for unknown callers, in place of a function. */
static uint32_t unknown(const struct folded *f) { return places_count(f->places); }

/* Likewise for DEEPER. */
static uint32_t deeper(const struct folded *f) { return unknown(f) + 1; }

/* The node of the callers in CHAIN. */
static uint32_t node_of_chain(struct folded *f, uint32_t chain) {
    uint32_t function, node = 0;
    f->path.count = 0;
    while (places_next(f->places, &chain, &function))
        ARRAY_PUSH(&f->path, function);
    if (chain != CHAIN_WHOLE)
        node = tree_child(f->tree, node, unknown(f));
    for (size_t i = f->path.count; i-- > 0;)
        node = tree_child(f->tree, node, f->path.at[i]);
    return node;
}

static uint32_t on_open(void *ctx, const struct walk_call *call) {
    struct folded *f = ctx;
    bool known = call->chain != CHAIN_NONE && call->chain != CHAIN_MISSED;
    uint32_t caller = call->caller_value == WALK_NONE ? 0 : call->caller_value;
    if (known)
        caller = node_of_chain(f, call->chain);
    return tree_child(f->tree, caller, call->function);
}

static void on_close(void *ctx, const struct walk_call *call) {
    struct folded *f = ctx;
    if (!call->brief)
        f->tree->nodes[call->value].self_ns += call->self_ns;
}

/* New nodes come in the order in which their first calls began, as from on_open(). */
static void on_ended(void *ctx, const struct digest_sum *sums, size_t count, uint32_t caller) {
    struct folded *f = ctx;
    f->nodes.count = 0;
    ARRAY_PUSH(&f->nodes, caller == WALK_NONE ? 0 : caller);
    for (size_t i = 0; i < count; i++) {
        uint32_t node = tree_child(f->tree, f->nodes.at[sums[i].parent], sums[i].function);
        f->tree->nodes[node].self_ns += sums[i].self_ns;
        ARRAY_PUSH(&f->nodes, node);
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
    struct folded *f = ctx;
    const char *command = export_command(f->view, group.streams[0]);
    for (size_t i = 0; i < f->programs.count; i++) {
        f->tree = &f->programs.at[i].tree;
        if (strcmp(f->programs.at[i].command, command) == 0)
            return;
    }
    ARRAY_PUSH(&f->programs, (struct program){.command = command});
    f->tree = &f->programs.at[f->programs.count - 1].tree;
    tree_init(f->tree);
}

/* ---- joining paths with the same names ---- */

static void add_frame(struct folded *f, uint32_t function) {
    if (f->frames[function])
        return;
    bool known = function != unknown(f);
    AUTO_FREE char *name = known ? labels_place(f->labels, f->places, function) : NULL;
    f->frames[function] = frame(known ? name : "[unknown]");
    ARRAY_PUSH(&f->path, function);
}

static int compare_frames(const void *a, const void *b, void *ctx) {
    const struct folded *f = ctx;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int rc = strcmp(f->frames[x], f->frames[y]);
    return rc ? rc : (x > y) - (x < y);
}

/* Sets f->shown for all functions in the trees. */
static void join_frames(struct folded *f) {
    f->path.count = 0;
    for (size_t i = 0; i < f->programs.count; i++)
        for (uint32_t node = 1; node < f->programs.at[i].tree.count; node++)
            add_frame(f, f->programs.at[i].tree.nodes[node].function);
    if (f->path.count)
        qsort_r(f->path.at, f->path.count, sizeof *f->path.at, compare_frames, f);
    for (size_t i = 0; i < f->path.count; i++) {
        uint32_t function = f->path.at[i], before = i ? f->path.at[i - 1] : function;
        bool same = strcmp(f->frames[before], f->frames[function]) == 0;
        f->shown[function] = same && i ? f->shown[before] : function;
    }
}

static void join_paths(const struct folded *f, struct tree *tree) {
    struct tree joined;
    AUTO_FREE uint32_t *to = mem_alloc(tree->count * sizeof *to);
    AUTO_FREE uint32_t *depths = mem_alloc(tree->count * sizeof *depths);
    tree_init(&joined);
    for (uint32_t node = 1; node < tree->count; node++) {
        const struct tree_node *n = &tree->nodes[node];
        uint32_t parent = to[n->parent];
        depths[node] = depths[n->parent] + 1;
        if (depths[node] == MOST_FRAMES + 1)
            parent = tree_child(&joined, parent, deeper(f));
        else if (depths[node] > MOST_FRAMES)
            parent = joined.nodes[parent].parent;
        to[node] = tree_child(&joined, parent, f->shown[n->function]);
        joined.nodes[to[node]].self_ns += n->self_ns;
    }
    tree_done(tree);
    *tree = joined;
}

static void write_path(struct folded *f, const struct program *program, uint32_t node,
                       struct out *out) {
    const struct tree_node *nodes = program->tree.nodes;
    AUTO_FREE char *root = frame(program->command);
    f->path.count = 0;
    for (uint32_t i = node; i; i = nodes[i].parent)
        ARRAY_PUSH(&f->path, nodes[i].function);
    out_text(out, root, strlen(root));
    for (size_t i = f->path.count; i-- > 0;) {
        const char *text = f->frames[f->path.at[i]];
        out_char(out, ';');
        out_text(out, text, strlen(text));
    }
    out_char(out, ' ');
    out_number(out, nodes[node].self_ns);
    out_char(out, '\n');
}

void export_folded(const struct view *view, struct out *out) {
    struct folded f = {.view = view};
    struct visitor visitor = {.ctx = &f, .open = on_open, .close = on_close, .ended = on_ended};
    f.places = places_new(view->source.reader, view->source.names);
    f.labels = labels_new(view->source.names, &view->term);
    uint32_t frames = places_count(f.places) + 2; /* with unknown() and deeper() */
    f.frames = mem_alloc(frames * sizeof *f.frames);
    f.shown = mem_alloc(frames * sizeof *f.shown);
    f.frames[deeper(&f)] = frame(DEEPER);
    visitor.digests = new_digests(view);
    export_walk(view, &visitor, on_stream_group, out);
    digests_free(visitor.digests);
    ARRAY_FREE(&f.nodes);
    join_frames(&f);
    for (size_t i = 0; i < f.programs.count; i++) {
        struct program *p = &f.programs.at[i];
        join_paths(&f, &p->tree);
        for (uint32_t node = 1; node < p->tree.count && !out->error; node++)
            if (p->tree.nodes[node].self_ns)
                write_path(&f, p, node, out);
        tree_done(&p->tree);
    }
    ARRAY_FREE(&f.programs);
    ARRAY_FREE(&f.path);
    for (uint32_t i = 0; i < frames; i++)
        free(f.frames[i]);
    free(f.frames);
    free(f.shown);
    labels_free(f.labels);
    places_free(f.places);
}
