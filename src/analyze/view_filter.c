/* See view_filter.h. Decides for a function when it is first met. */
#include "analyze/view_filter.h"

#include <errno.h>
#include <fnmatch.h>

#include "analyze/suggest.h"
#include "base/mem.h"

static bool chooses(const struct view_filter *f, const char *module, uint32_t function) {
    struct function_names names = names_all(f->names, function);
    bool chosen = filter_chooses(&f->filter, module, &names);
    function_names_done(&names);
    return chosen;
}

bool view_filter_decide(struct view_filter *f, uint32_t function) {
    const struct filter *filter = &f->spec.filter;
    const char *module = names_module_name(f->names, names_module(f->names, function));
    bool shows = (!filter->modules.count || filter_has_module(filter, module)) &&
                 chooses(f, module, function);
    f->verdicts[function] = shows ? VIEW_SHOWS : VIEW_HIDES;
    return shows;
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

static int check_thread(const struct view_spec *spec, const struct trace_reader *r,
                        struct err *err) {
    if (!spec->tid)
        return 0;
    uint32_t near = 0;
    for (size_t i = 0; i < trace_reader_stream_count(r); i++) {
        uint32_t tid = trace_reader_thread(r, i)->tid;
        int64_t distance = (int64_t)tid - spec->tid, best = (int64_t)near - spec->tid;
        if (!distance)
            return 0;
        if (tid && (!near || llabs(distance) < llabs(best)))
            near = tid;
    }
    if (!near)
        return err_set(err, ENOENT, "no-thread", "thread %u: the trace has no threads", spec->tid);
    return err_set(err, ENOENT, "no-thread",
                   "thread %u: is not in the trace (the nearest is %u; 'spoor info' lists them)",
                   spec->tid, near);
}

void view_filter_note_names(struct filter *filter, struct names *names) {
    uint32_t last = filter_may_name(filter) ? names_count(names) - 1 : 0;
    for (uint32_t i = 0; i < last; i++) {
        struct function_names all = names_all(names, i);
        filter_note_name(filter, names_module_name(names, names_module(names, i)), &all);
        function_names_done(&all);
    }
}

int view_filter_new(const struct view_spec *spec, const struct trace_reader *r, struct names *names,
                    struct view_filter **ret, struct err *err) {
    const struct filter *filter = &spec->filter;
    int rc = check_thread(spec, r, err);
    for (size_t i = 0; i < filter->modules.count && !rc; i++)
        rc = check_module(filter->modules.at[i], names, err);
    for (size_t i = 0; i < filter->functions.count && !rc; i++)
        rc = view_filter_check("filter", filter->functions.at[i], names, err);
    if (rc)
        return rc;
    struct view_filter *f = mem_alloc(sizeof *f);
    f->spec = *spec;
    f->names = names;
    f->filter = filter_copy(filter);
    view_filter_note_names(&f->filter, names);
    const struct trace_session *session = trace_reader_session(r);
    f->recorded_depth = session->depth ? session->depth : UINT32_MAX;
    f->recorded_ns = session->threshold_ns;
    if (!filter_is_empty(filter))
        f->verdicts = mem_alloc(names_count(names));
    *ret = f;
    return 0;
}

void view_filter_free(struct view_filter *f) {
    if (!f)
        return;
    filter_done(&f->filter);
    free(f->verdicts);
    free(f);
}
