/*
 * Folded stacks, the input of flame graph programs: "program;outermost;…;innermost nanoseconds",
 * one line for each path (export_paths.h) that has self time. Functions with the same name, in the
 * form that --names asks for, are one, as flame graphs show only names.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd/labels.h"
#include "export/paths.h"

struct folded {
    struct export_paths paths;
    struct labels *labels;
    char **frames;        /* by function; NULL: not used */
    uint32_t *shown;      /* by function: the first function with the same frame */
    ARRAY(uint32_t) path; /* functions, the innermost first */
};

/* A copy of NAME without the separators of frames and lines; to be freed. */
static char *frame(const char *name) {
    char *text = mem_strdup(name);
    for (char *p = text; *p; p++)
        if (*p == ';' || *p == '\n')
            *p = ':';
    return text;
}

/* ---- joining paths with the same names ---- */

static void add_frame(struct folded *f, uint32_t function) {
    if (f->frames[function])
        return;
    bool known = function != export_unknown(&f->paths);
    AUTO_FREE char *name = known ? labels_place(f->labels, f->paths.places, function) : NULL;
    f->frames[function] = frame(known ? name : EXPORT_UNKNOWN);
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
    for (size_t i = 0; i < f->paths.programs.count; i++)
        for (uint32_t node = 1; node < f->paths.programs.at[i].tree.count; node++)
            add_frame(f, f->paths.programs.at[i].tree.nodes[node].function);
    if (f->path.count)
        qsort_r(f->path.at, f->path.count, sizeof *f->path.at, compare_frames, f);
    for (size_t i = 0; i < f->path.count; i++) {
        uint32_t function = f->path.at[i], before = i ? f->path.at[i - 1] : function;
        bool same = strcmp(f->frames[before], f->frames[function]) == 0;
        f->shown[function] = same && i ? f->shown[before] : function;
    }
}

static void write_path(struct folded *f, const struct export_program *program, uint32_t node,
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
    struct folded f = {0};
    export_paths_read(&f.paths, view, out);
    f.labels = labels_new(view->source.names, &view->term);
    uint32_t frames = export_deeper(&f.paths) + 1;
    f.frames = mem_alloc(frames * sizeof *f.frames);
    f.shown = mem_alloc(frames * sizeof *f.shown);
    f.frames[export_deeper(&f.paths)] = frame(EXPORT_DEEPER);
    join_frames(&f);
    for (size_t i = 0; i < f.paths.programs.count; i++) {
        struct export_program *p = &f.paths.programs.at[i];
        export_paths_cut(&f.paths, p, f.shown);
        for (uint32_t node = 1; node < p->tree.count && !out->error; node++)
            if (p->tree.nodes[node].self_ns)
                write_path(&f, p, node, out);
    }
    ARRAY_FREE(&f.path);
    for (uint32_t i = 0; i < frames; i++)
        free(f.frames[i]);
    free(f.frames);
    free(f.shown);
    labels_free(f.labels);
    export_paths_done(&f.paths);
}
