/* spoor diff: compares the functions, or the paths of calls, of two traces. */
#include "cmd/diff.h"

#include <string.h>

#include "analyze/compare_read.h"
#include "analyze/processes.h"
#include "analyze/stems.h"
#include "base/mem.h"
#include "cmd/command.h"
#include "cmd/say.h"

enum compare_number diff_number(const struct diff *d) {
    enum compare_number sort = d->options->diff.sort;
    return sort < COMPARE_NUMBERS ? sort : COMPARE_TOTAL;
}

/* ---- opening ---- */

/* Whether the filters show nothing of a trace, say because it has no function of -F. */
static bool shows_nothing(const struct err *err) {
    static const char *const tags[] = {"no-match", "no-module", "no-file", "no-thread",
                                       "no-process"};
    bool found = false;
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
        found |= strcmp(err->tag, tags[i]) == 0;
    return found;
}

/* Opens both traces. One of which the filters show nothing is empty; if they show nothing of both,
 * that is an error. */
static bool open_both(struct diff *d, const char *const paths[2]) {
    struct err errors[2] = {0};
    int rc[2];
    for (int i = 0; i < 2; i++) {
        rc[i] = view_open_growing(&d->views[i], d->options, paths[i], false, &errors[i]);
        d->is_empty[i] = rc[i] < 0 && shows_nothing(&errors[i]);
        if (rc[i] < 0 && !d->is_empty[i]) {
            say_err(&errors[i]);
            return false;
        }
    }
    for (int i = 0; i < 2; i++)
        if (d->is_empty[i] && d->is_empty[1 - i])
            say_error("%s: %s", paths[i], errors[i].text);
        else if (d->is_empty[i])
            say_note("%s: %s", paths[i], errors[i].text);
    return !d->is_empty[0] || !d->is_empty[1];
}

/* ---- programs ---- */

/* The name of the program that was traced first; NULL: not known. */
static const char *program_of(const struct source *s) {
    const struct trace_reader *r = s->reader;
    return r && trace_reader_process_count(r) ? process_name(r, 0) : NULL;
}

static bool has_module(const struct source *s, const char *name) {
    struct names *names = s->names;
    for (uint32_t i = 0; i + 1 < names_module_count(names); i++)
        if (strcmp(names_module_name(names, i), name) == 0)
            return true;
    return false;
}

bool diff_programs(const struct source *const sides[2], const char *ret[2]) {
    for (int i = 0; i < 2; i++) {
        ret[i] = sides[i] ? program_of(sides[i]) : NULL;
        if (!ret[i] || !has_module(sides[i], ret[i]))
            return false;
    }
    return !has_module(sides[0], ret[1]) && !has_module(sides[1], ret[0]);
}

/* ---- comparing ---- */

static void read_side(struct diff *d, int index) {
    const struct options *o = d->options;
    struct compare_side side = {.to = d->comparison,
                                .index = index,
                                .is_mangled = d->term.names == NAMES_MANGLED && !o->view.json,
                                .source = &d->views[index].source};
    compare_join(&side);
    if (o->diff.by_path)
        compare_read_paths(&side);
    else
        compare_read_functions(&side);
    view_end_progress(&d->views[index]);
}

static void print_json(const struct diff *d) {
    uint32_t limit = d->options->report.limit;
    uint32_t count = limit && limit < d->count ? limit : d->count;
    diff_json(stdout, d->comparison, d->order, count, d->options->diff.by_path);
}

static int diff(struct diff *d) {
    const struct source *sides[2];
    const char *programs[2];
    for (int i = 0; i < 2; i++)
        sides[i] = d->is_empty[i] ? NULL : &d->views[i].source;
    bool alike = diff_programs(sides, programs);
    d->comparison = comparison_new(alike ? programs : NULL);
    for (int i = 0; i < 2; i++)
        if (!d->is_empty[i])
            read_side(d, i);
    compare_finish(d->comparison);
    d->order = compare_order(d->comparison, d->options->diff.sort, &d->count);
    pager_start(&d->term, &d->options->view);
    if (d->options->view.json)
        print_json(d);
    else
        diff_print_text(d);
    pager_finish();
    bool failed = false;
    for (int i = 0; i < 2; i++)
        failed |= !d->is_empty[i] && view_has_failed(&d->views[i]);
    return failed ? STATUS_FAILED : STATUS_OK;
}

/* Without OLD: the trace that a recording under the same name has kept. */
int cmd_diff(struct options *options, int argc, char **argv) {
    const char *new = argc ? argv[argc - 1] : "spoor.trace";
    AUTO_FREE char *old = argc > 1 ? mem_strdup(argv[0]) : mem_printf("%s.old", new);
    struct diff d = {.options = options, .term = term_open(&options->view)};
    int status = open_both(&d, (const char *const[]){old, new}) ? diff(&d) : STATUS_FAILED;
    free(d.order);
    comparison_free(d.comparison);
    view_close(&d.views[0]);
    view_close(&d.views[1]);
    return status;
}
