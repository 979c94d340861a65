/* See view_filter.h. Decides for a function when it is first met. */
#include "analyze/view_filter.h"

#include <errno.h>
#include <fnmatch.h>

#include "analyze/suggest.h"
#include "analyze/view_streams.h"
#include "base/mem.h"
#include "base/wide.h"

/* What -F, -N, -C and --hide say of a function of a shown module. */
static uint8_t decide(const struct view_filter *v, const char *module,
                      const struct function_names *names) {
    const struct view_spec *spec = &v->spec;
    const struct filter *f = &v->filter;
    bool chosen = (!f->functions.count || patterns_match(&f->functions, module, names)) &&
                  filter_has_file(f, names->file);
    bool way = patterns_match(&v->ways.functions, module, names);
    if (patterns_match(&f->excluded, module, names))
        return VIEW_DECIDED;
    bool silent = patterns_match(&v->hidden.functions, module, names);
    return (uint8_t)(VIEW_DECIDED | (chosen || way ? VIEW_SHOWS : 0) | (way ? VIEW_WAY_END : 0) |
                     (silent ? VIEW_SILENT : 0) | (spec->callees ? VIEW_BELOW : 0) |
                     (spec->callees && chosen ? VIEW_ROOT : 0));
}

uint8_t view_filter_decide(struct view_filter *f, uint32_t function) {
    const struct filter *filter = &f->spec.filter;
    const char *module = names_module_name(f->names, names_module(f->names, function));
    if (filter->modules.count && !filter_has_module(filter, module))
        return f->verdicts[function] = VIEW_DECIDED;
    struct function_names names = names_all(f->names, function);
    if (filter->files.count)
        names.file = names_source(f->names, function).file;
    f->verdicts[function] = decide(f, module, &names);
    if (f->conditions && call_conditions_concern(f->conditions, function))
        f->verdicts[function] |= VIEW_CONDITION;
    function_names_done(&names);
    return f->verdicts[function];
}

int view_filter_check(const char *what, const struct pattern *p, struct names *names,
                      struct err *err) {
    uint32_t last = names_count(names) - 1;
    size_t matches = 0;
    for (uint32_t i = 0; i < last; i++) {
        if (!names_match(names, i, p))
            continue;
        if (names_instrumented(names, i))
            return 0;
        matches++;
    }
    if (matches)
        return err_set(err, ENOENT, "no-match",
                       "%s '%s': matches %zu function%s, but none that was instrumented "
                       "('spoor explain' tells why)",
                       what, pattern_text(p), matches, matches == 1 ? "" : "s");
    char near[SUGGEST_ROOM];
    suggest_functions(names, p, near);
    return err_set(err, ENOENT, "no-match", "%s '%s': matches no function of the trace%s", what,
                   pattern_text(p), near);
}

static int check_module(const char *glob, struct names *names, struct err *err) {
    uint32_t last = names_module_count(names) - 1;
    for (uint32_t m = 0; m < last; m++)
        if (fnmatch(glob, names_module_name(names, m), 0) == 0)
            return 0;
    char near[SUGGEST_ROOM];
    suggest_modules(names, glob, near);
    return err_set(err, ENOENT, "no-module", "module '%s': matches no module of the trace%s", glob,
                   near);
}

static int check_patterns(const char *what, const pattern_list *list, struct names *names,
                          struct err *err) {
    int rc = 0;
    for (size_t i = 0; i < list->count && !rc; i++)
        rc = view_filter_check(what, list->at[i], names, err);
    return rc;
}

/* Whether a function of the trace begins in a source file that GLOB matches. */
static int check_file(const char *glob, struct names *names, struct err *err) {
    struct filter filter = {0};
    const char *other = NULL;
    bool found = false;
    filter_add(&filter, 'L', glob, NULL);
    for (uint32_t i = 0; i + 1 < names_count(names) && !found; i++) {
        const char *file = names_source(names, i).file;
        found = file && filter_has_file(&filter, file);
        other = file && names_instrumented(names, i) ? file : other;
    }
    filter_done(&filter);
    if (found)
        return 0;
    if (!other)
        return err_set(err, ENOENT, "no-file",
                       "file '%s': source files are not known: the traced programs and libraries "
                       "are gone, were changed, or have no debugging information",
                       glob);
    return err_set(err, ENOENT, "no-file",
                   "file '%s': no function of the trace begins in such a source file (one begins "
                   "in %s)",
                   glob, other);
}

void view_filter_note_names(struct filter *filter, struct names *names) {
    uint32_t last = filter_may_name(filter) ? names_count(names) - 1 : 0;
    for (uint32_t i = 0; i < last; i++) {
        struct function_names all = names_all(names, i);
        filter_note_name(filter, names_module_name(names, names_module(names, i)), &all);
        function_names_done(&all);
    }
}

static struct filter copy_noted(const struct filter *filter, struct names *names) {
    struct filter copy = filter_copy(filter);
    view_filter_note_names(&copy, names);
    return copy;
}

uint64_t view_moment_ns(const struct trace_reader *r, uint64_t ns) {
    static const uint64_t whole = 100000000;
    if (ns < VIEW_PERCENT || ns - VIEW_PERCENT > whole)
        return ns;
    struct wide product = wide_product(trace_reader_duration_ns(r), ns - VIEW_PERCENT);
    return wide_quotient(product, whole, NULL).low;
}

int view_filter_new(const struct view_spec *spec, const struct trace_reader *r, struct names *names,
                    struct view_filter **ret, struct err *err) {
    const struct filter *filter = &spec->filter;
    uint8_t *streams;
    int rc = view_streams(spec, r, &streams, err);
    for (size_t i = 0; i < filter->modules.count && !rc; i++)
        rc = check_module(filter->modules.at[i], names, err);
    rc = rc ? rc : check_patterns("filter", &filter->functions, names, err);
    for (size_t i = 0; i < filter->files.count && !rc; i++)
        rc = check_file(filter->files.at[i], names, err);
    rc = rc ? rc : check_patterns("callers", &spec->ways, names, err);
    rc = rc ? rc : check_patterns("hide", &spec->hidden, names, err);
    struct call_conditions *conditions = NULL;
    rc = rc ? rc : call_conditions_new(&spec->where, names, &conditions, err);
    if (rc) {
        free(streams);
        return rc;
    }
    struct view_filter *f = mem_alloc(sizeof *f);
    f->spec = *spec;
    f->spec.since_ns = view_moment_ns(r, spec->since_ns);
    f->spec.until_ns = view_moment_ns(r, spec->until_ns);
    f->names = names;
    f->streams = streams;
    f->conditions = conditions;
    f->filter = copy_noted(filter, names);
    f->ways = copy_noted(&(struct filter){.functions = spec->ways}, names);
    f->hidden = copy_noted(&(struct filter){.functions = spec->hidden}, names);
    const struct trace_session *session = trace_reader_session(r);
    f->recorded_depth = session->depth ? session->depth : UINT32_MAX;
    f->recorded_ns = session->threshold_ns;
    if (!filter_is_empty(filter) || spec->ways.count || spec->hidden.count || conditions)
        f->verdicts = mem_alloc(names_count(names));
    *ret = f;
    return 0;
}

void view_filter_free(struct view_filter *f) {
    if (!f)
        return;
    filter_done(&f->filter);
    filter_done(&f->ways);
    filter_done(&f->hidden);
    call_conditions_free(f->conditions);
    free(f->verdicts);
    free(f->streams);
    free(f);
}
