#include "analyze/filter.h"

#include <errno.h>
#include <fnmatch.h>

#include "analyze/suggest.h"
#include "base/mem.h"

static bool any_match(struct names *n, uint32_t function, const struct pattern *const *patterns,
                      size_t count) {
    for (size_t i = 0; i < count; i++)
        if (names_match(n, function, patterns[i]))
            return true;
    return false;
}

static bool module_fits(const struct filter_spec *spec, const char *module) {
    for (size_t i = 0; i < spec->module_count; i++)
        if (fnmatch(spec->modules[i], module, 0) == 0)
            return true;
    return !spec->module_count;
}

bool filter_decide(struct filter *f, uint32_t function) {
    const struct filter_spec *s = &f->spec;
    const char *module = names_module_name(f->names, names_module(f->names, function));
    bool shows = module_fits(s, module) &&
                 (!s->shown_count || any_match(f->names, function, s->shown, s->shown_count)) &&
                 !any_match(f->names, function, s->hidden, s->hidden_count);
    f->verdicts[function] = shows ? FILTER_SHOWS : FILTER_HIDES;
    return shows;
}

int filter_check(const char *what, const struct pattern *p, struct names *names, struct err *err) {
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
    suggest_functions(names, pattern_text(p), near);
    return err_set(err, ENOENT, "no-match", "%s '%s': matches no function of the trace%s", what,
                   pattern_text(p), near);
}

static int check_modules(const struct filter_spec *spec, struct names *names, struct err *err) {
    uint32_t last = names_module_count(names) - 1;
    for (size_t i = 0; i < spec->module_count; i++) {
        bool fits = false;
        for (uint32_t m = 0; m < last && !fits; m++)
            fits = fnmatch(spec->modules[i], names_module_name(names, m), 0) == 0;
        if (fits)
            continue;
        char near[SUGGEST_ROOM];
        suggest_modules(names, spec->modules[i], near);
        return err_set(err, ENOENT, "no-module", "module '%s': matches no module of the trace%s",
                       spec->modules[i], near);
    }
    return 0;
}

static int check_thread(const struct filter_spec *spec, const struct trace_reader *r,
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

int filter_new(const struct filter_spec *spec, const struct trace_reader *r, struct names *names,
               struct filter **ret, struct err *err) {
    int rc = check_thread(spec, r, err);
    if (!rc)
        rc = check_modules(spec, names, err);
    for (size_t i = 0; i < spec->shown_count && !rc; i++)
        rc = filter_check("filter", spec->shown[i], names, err);
    if (rc)
        return rc;
    struct filter *f = mem_alloc(sizeof *f);
    f->spec = *spec;
    f->names = names;
    const struct trace_session *session = trace_reader_session(r);
    f->recorded_depth = session->depth ? session->depth : UINT32_MAX;
    f->recorded_ns = session->threshold_ns;
    if (spec->shown_count || spec->hidden_count || spec->module_count)
        f->verdicts = mem_alloc(names_count(names));
    *ret = f;
    return 0;
}

void filter_free(struct filter *f) {
    if (f)
        free(f->verdicts);
    free(f);
}
