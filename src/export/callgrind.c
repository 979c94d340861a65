/*
 * The format of callgrind (valgrind's manual, "Callgrind Format Specification"), which KCachegrind
 * and callgrind_annotate read. The only event is time in nanoseconds. Each function has its self
 * time, and a line for each function that it calls: the number of calls, and the time in them.
 *
 * That time counts a call only if no call of the same two functions is open around it. Otherwise a
 * recursion would take longer than the program. The number 0 stands for calls that began untraced,
 * and for callers that only record --stack knows; KCachegrind shows these as active.
 *
 * A function for each program, named [process NAME], calls the functions that have no caller.
 */
#include <ctype.h>
#include <stdlib.h>

#include "base/mem.h"
#include "export/paths.h"

/* Calls of a function by another, or one path (a node) with these two. */
struct edge {
    uint32_t caller, callee; /* functions, or numbers of processes */
    uint32_t program, node;  /* of the path */
    uint64_t calls, total_ns;
};

struct callgrind {
    struct export_paths paths;
    struct out *out;
    uint64_t summary_ns;
    ARRAY(struct edge) edges; /* by caller, then callee */
    /* By function, and then by process: */
    uint64_t *self_ns;
    uint8_t *named; /* its names were written: from now on its number stands for them */
};

/* ---- edges ---- */

/* The number that stands for the processes of a program. */
static uint32_t process_of_program(const struct callgrind *c, size_t program) {
    return export_deeper(&c->paths) + 1 + (uint32_t)program;
}

/* Times of nodes with those of their callees; to be freed. */
static uint64_t *whole_times(const struct tree *tree) {
    uint64_t *ns = mem_alloc(tree->count * sizeof *ns);
    for (uint32_t i = tree->count; i-- > 1;) {
        ns[i] += tree->nodes[i].self_ns;
        ns[tree->nodes[i].parent] += ns[i];
    }
    return ns;
}

static void add_edges(struct callgrind *c, size_t program) {
    const struct tree *tree = &c->paths.programs.at[program].tree;
    for (uint32_t i = 1; i < tree->count; i++) {
        const struct tree_node *n = &tree->nodes[i];
        struct edge edge = {.caller = n->parent ? tree->nodes[n->parent].function
                                                : process_of_program(c, program),
                            .callee = n->function,
                            .program = (uint32_t)program,
                            .node = i,
                            .calls = n->calls + n->before};
        c->self_ns[n->function] += n->self_ns;
        c->summary_ns += n->self_ns;
        ARRAY_PUSH(&c->edges, edge);
    }
}

static int compare_edges(const void *a, const void *b) {
    const struct edge *x = a, *y = b;
    if (x->caller != y->caller)
        return x->caller > y->caller ? 1 : -1;
    return (x->callee > y->callee) - (x->callee < y->callee);
}

/* Walks the tree of PROGRAM. OF, by node: its edge, below COUNT. Adds the times of paths on which
 * their edge is not twice. */
static void add_times(struct callgrind *c, size_t program, const uint32_t *of, size_t count,
                      uint64_t *times) {
    const struct tree *tree = &c->paths.programs.at[program].tree;
    AUTO_FREE uint64_t *ns = whole_times(tree);
    AUTO_FREE uint32_t *open = mem_alloc((count + 1) * sizeof *open); /* by edge: paths around */
    ARRAY(uint32_t) path = {0};
    uint32_t depth = 0;
    for (uint32_t i = tree_next(tree, 0, &depth); i != TREE_NONE; i = tree_next(tree, i, &depth)) {
        while (path.count && path.count >= depth)
            open[path.at[--path.count]]--;
        if (!open[of[i]]++)
            times[of[i]] += ns[i];
        ARRAY_PUSH(&path, of[i]);
    }
    ARRAY_FREE(&path);
}

/* Makes one edge of those with the same functions. */
static void join_edges(struct callgrind *c) {
    size_t programs = c->paths.programs.count, count = 0;
    AUTO_FREE uint64_t *times = mem_alloc((c->edges.count + 1) * sizeof *times);
    uint32_t **of = mem_alloc((programs + 1) * sizeof *of);
    for (size_t i = 0; i < programs; i++)
        of[i] = mem_alloc(c->paths.programs.at[i].tree.count * sizeof **of);
    if (c->edges.count)
        qsort(c->edges.at, c->edges.count, sizeof *c->edges.at, compare_edges);
    for (size_t i = 0; i < c->edges.count; i++) {
        struct edge edge = c->edges.at[i];
        bool same = count && compare_edges(&c->edges.at[count - 1], &edge) == 0;
        if (same)
            c->edges.at[count - 1].calls += edge.calls;
        else
            c->edges.at[count++] = edge;
        of[edge.program][edge.node] = (uint32_t)count - 1;
    }
    c->edges.count = count;
    for (size_t i = 0; i < programs; i++) {
        add_times(c, i, of[i], count, times);
        free(of[i]);
    }
    free(of);
    for (size_t i = 0; i < count; i++)
        c->edges.at[i].total_ns = times[i];
}

/* ---- writing ---- */

/* Writes TEXT as a part of a line. */
static void write_text(struct out *out, const char *text) {
    AUTO_FREE char *plain = mem_strdup(*text ? text : "???");
    for (char *p = plain; *p; p++)
        if (iscntrl((unsigned char)*p))
            *p = '?';
    out_text(out, plain, strlen(plain));
}

/* "KEY=(NUMBER)", with TEXT, unless that is NULL. */
static void write_name(struct out *out, const char *key, uint32_t number, const char *text) {
    out_text(out, key, strlen(key));
    out_words(out, "=(");
    out_number(out, number);
    out_char(out, ')');
    if (text) {
        out_char(out, ' ');
        write_text(out, text);
    }
    out_char(out, '\n');
}

static struct source_line source_of(const struct callgrind *c, uint32_t function) {
    struct names *names = c->paths.view->source.names;
    return function < names_count(names) ? names_source(names, function) : (struct source_line){0};
}

static const char *object_of(const struct callgrind *c, uint32_t function) {
    struct names *names = c->paths.view->source.names;
    if (function >= export_unknown(&c->paths))
        return "";
    if (function >= names_count(names))
        return places_module(c->paths.places, function);
    const struct trace_module *module =
        trace_reader_module(c->paths.view->source.reader, names_module(names, function));
    return module && *module->path ? module->path : places_module(c->paths.places, function);
}

/* To be freed. */
static char *function_name(const struct callgrind *c, uint32_t function) {
    uint32_t first = process_of_program(c, 0);
    if (function >= first)
        return mem_printf("[process %s]", c->paths.programs.at[function - first].command);
    return mem_strdup(function < export_unknown(&c->paths)
                          ? places_function(c->paths.places, function)
                          : EXPORT_UNKNOWN);
}

/* Object, file and function, as keys OB, FL and FN. All three have the function's number. */
static void write_place(struct callgrind *c, uint32_t function, const char *const keys[3]) {
    if (c->named[function]) {
        for (int i = 0; i < 3; i++)
            write_name(c->out, keys[i], function + 1, NULL);
        return;
    }
    const char *file = source_of(c, function).file;
    AUTO_FREE char *name = function_name(c, function);
    c->named[function] = 1;
    write_name(c->out, keys[0], function + 1, object_of(c, function));
    write_name(c->out, keys[1], function + 1, file ? file : "");
    write_name(c->out, keys[2], function + 1, name);
}

/* A line with a time, which FUNCTION took. */
static void write_time(const struct callgrind *c, uint32_t function, uint64_t ns) {
    out_number(c->out, source_of(c, function).line);
    out_char(c->out, ' ');
    out_number(c->out, ns);
    out_char(c->out, '\n');
}

/* FUNCTION and its edges from *NEXT on. Advances *NEXT behind them. */
static void write_function(struct callgrind *c, uint32_t function, size_t *next) {
    static const char *const own[] = {"ob", "fl", "fn"}, *const called[] = {"cob", "cfi", "cfn"};
    out_char(c->out, '\n');
    write_place(c, function, own);
    write_time(c, function, c->self_ns[function]);
    for (; *next < c->edges.count && c->edges.at[*next].caller == function; ++*next) {
        const struct edge *edge = &c->edges.at[*next];
        write_place(c, edge->callee, called);
        out_words(c->out, "calls=");
        out_number(c->out, edge->calls ? edge->calls : 1);
        out_char(c->out, ' ');
        out_number(c->out, source_of(c, edge->callee).line);
        out_char(c->out, '\n');
        write_time(c, function, edge->total_ns);
    }
}

/* Readers print descriptions. */
static void write_losses(const struct callgrind *c) {
    AUTO_FREE char *losses = export_paths_losses(&c->paths);
    if (!losses)
        return;
    out_words(c->out, "\ndesc: Losses: ");
    write_text(c->out, losses);
}

static void write_head(const struct callgrind *c) {
    const struct trace_session *s = trace_reader_session(c->paths.view->source.reader);
    out_words(c->out, "# callgrind format\nversion: 1\ncreator: spoor ");
    write_text(c->out, s->version);
    out_words(c->out, "\ncmd:");
    for (size_t i = 0; s->command && s->command[i]; i++) {
        out_char(c->out, ' ');
        write_text(c->out, s->command[i]);
    }
    write_losses(c);
    out_words(c->out, "\npositions: line\nevent: ns : Nanoseconds\nevents: ns\nsummary: ");
    out_number(c->out, c->summary_ns);
    out_char(c->out, '\n');
}

static void write_functions(struct callgrind *c) {
    uint32_t count = process_of_program(c, c->paths.programs.count);
    AUTO_FREE uint8_t *called = mem_alloc(count);
    size_t next = 0;
    for (size_t i = 0; i < c->edges.count; i++)
        called[c->edges.at[i].callee] = 1;
    for (uint32_t i = 0; i < count && !c->out->error; i++)
        if (called[i] || (next < c->edges.count && c->edges.at[next].caller == i))
            write_function(c, i, &next);
    out_words(c->out, "\ntotals: ");
    out_number(c->out, c->summary_ns);
    out_char(c->out, '\n');
}

void export_callgrind(const struct view *view, struct out *out) {
    struct callgrind c = {.out = out};
    export_paths_read(&c.paths, view, out);
    uint32_t count = process_of_program(&c, c.paths.programs.count);
    c.self_ns = mem_alloc(count * sizeof *c.self_ns);
    c.named = mem_alloc(count);
    for (size_t i = 0; i < c.paths.programs.count; i++)
        add_edges(&c, i);
    join_edges(&c);
    write_head(&c);
    write_functions(&c);
    ARRAY_FREE(&c.edges);
    free(c.self_ns);
    free(c.named);
    export_paths_done(&c.paths);
}
