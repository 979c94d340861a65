/*
 * Folded stacks, the input of flame graph programs: one line for each path that has time of its
 * own, "program;outermost;…;innermost nanoseconds". Memory is that of the different paths.
 */
#include "analyze/tree.h"
#include "base/mem.h"
#include "cmd/export.h"
#include "cmd/spell.h"

/* All threads of processes that run the same program. */
struct program {
    const char *command;
    struct tree tree;
};

struct folded {
    const struct view *view;
    struct speller speller;
    ARRAY(struct program) programs;
    ARRAY(uint32_t) path; /* functions, the innermost first */
    struct tree *tree;    /* of the present strand */
};

/* Semicolons separate frames, and line feeds lines. Returns it, to be freed. */
static char *frame(const char *name) {
    char *text = mem_strdup(name);
    for (char *p = text; *p; p++)
        if (*p == ';' || *p == '\n')
            *p = ':';
    return text;
}

static char *compose(struct names *names, uint32_t function) {
    AUTO_FREE char *name = frame(names_function(names, function));
    return mem_printf(";%s", name);
}

static uint32_t on_open(void *ctx, const struct walk_call *call) {
    struct folded *f = ctx;
    return tree_child(f->tree, call->caller_value == WALK_NONE ? 0 : call->caller_value,
                      call->function);
}

static void on_close(void *ctx, const struct walk_call *call) {
    struct folded *f = ctx;
    if (!call->brief)
        f->tree->nodes[call->value].self_ns += call->self_ns;
}

static void on_strand(void *ctx, struct strand strand) {
    struct folded *f = ctx;
    const char *command = export_command(f->view, strand.streams[0]);
    for (size_t i = 0; i < f->programs.count; i++) {
        f->tree = &f->programs.at[i].tree;
        if (strcmp(f->programs.at[i].command, command) == 0)
            return;
    }
    ARRAY_PUSH(&f->programs, (struct program){.command = command});
    f->tree = &f->programs.at[f->programs.count - 1].tree;
    tree_init(f->tree);
}

static void write_path(struct folded *f, const struct program *program, uint32_t node,
                       struct out *out) {
    const struct tree_node *nodes = program->tree.nodes;
    AUTO_FREE char *root = frame(program->command);
    f->path.count = 0;
    for (uint32_t i = node; i; i = nodes[i].parent)
        ARRAY_PUSH(&f->path, nodes[i].function);
    out_text(out, root, strlen(root));
    for (size_t i = f->path.count; i-- > 0;)
        out_spelled(out, &f->speller, f->path.at[i]);
    out_char(out, ' ');
    out_number(out, nodes[node].self_ns);
    out_char(out, '\n');
}

void export_folded(const struct view *view, struct out *out) {
    struct folded f = {.view = view};
    struct visitor visitor = {.ctx = &f, .open = on_open, .close = on_close};
    speller_init(&f.speller, view->source.names, compose);
    export_walk(view, &visitor, on_strand, out);
    for (size_t i = 0; i < f.programs.count; i++) {
        struct program *p = &f.programs.at[i];
        for (uint32_t node = 1; node < p->tree.count && !out->error; node++)
            if (p->tree.nodes[node].self_ns)
                write_path(&f, p, node, out);
        tree_done(&p->tree);
    }
    ARRAY_FREE(&f.programs);
    ARRAY_FREE(&f.path);
    speller_done(&f.speller);
}
