/* See unmatched.h. */
#include "select/unmatched.h"

#include <fnmatch.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/mem.h"

void mapped_paths_add(struct mapped_paths *paths, const char *path) {
    for (size_t i = 0; i < paths->list.count; i++)
        if (strcmp(paths->list.at[i], path) == 0)
            return;
    ARRAY_PUSH(&paths->list, mem_strdup(path));
}

void mapped_paths_done(struct mapped_paths *paths) {
    for (size_t i = 0; i < paths->list.count; i++)
        free(paths->list.at[i]);
    ARRAY_FREE(&paths->list);
}

static const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* True if GLOB matches the name of one of PATHS, or all of it. */
static bool is_mapped(const struct mapped_paths *paths, const char *glob) {
    for (size_t i = 0; i < paths->list.count; i++)
        if (fnmatch(glob, file_name(paths->list.at[i]), 0) == 0 ||
            fnmatch(glob, paths->list.at[i], 0) == 0)
            return true;
    return false;
}

/* WHAT TEXT is about modules that GLOB matches: there are none. */
static void warn_of_module(const char *what, const char *text, const char *glob,
                           const struct mapped_paths *paths, const struct report *report) {
    struct near_names near;
    near_init(&near, glob);
    for (size_t i = 0; i < paths->list.count; i++)
        near_consider(&near, file_name(paths->list.at[i]));
    AUTO_FREE char *list = near_list(&near);
    AUTO_FREE char *line =
        mem_printf("%s '%s': matches no file that a process has mapped%s%s%s", what, text,
                   list ? ": did you mean " : "", list ? list : "", list ? "?" : "");
    report_warn(report, line);
    near_done(&near);
}

static void warn_of_pattern(const struct selection *s, size_t i, const char *what,
                            const struct mapped_paths *paths, const struct report *report) {
    const struct pattern *p = selection_pattern(s, i);
    struct err err;
    if (pattern_has_module(p) && !is_mapped(paths, pattern_module(p))) {
        warn_of_module(what, pattern_text(p), pattern_module(p), paths, report);
        return;
    }
    selection_no_match(s, i, what, pattern_text(p), &err);
    report_warn(report, err.text);
}

void unmatched_patterns(const struct selection *s, const char *what,
                        const struct mapped_paths *paths, const struct report *report) {
    struct err err;
    size_t unmatched = 0;
    for (size_t i = 0; i < s->search_count; i++) {
        if (s->searches[i].met)
            continue;
        bool excludes = i >= s->filter->functions.count;
        warn_of_pattern(s, i, excludes ? "notrace" : what, paths, report);
        unmatched += !excludes;
    }
    if (!unmatched && selection_check(s, &err) < 0)
        report_warn(report, err.text);
}

void unmatched_modules(const struct filter *filter, const struct mapped_paths *paths,
                       const struct report *report) {
    for (size_t i = 0; i < filter->modules.count; i++)
        if (!is_mapped(paths, filter->modules.at[i]))
            warn_of_module("module", filter->modules.at[i], filter->modules.at[i], paths, report);
}

static bool has_function_symbols(const struct module *m) {
    for (size_t i = 0; i < m->symbol_count; i++)
        if (m->symbols[i].type == SYMBOL_FUNCTION)
            return true;
    return false;
}

/* M has functions, and the options reach M, but nothing is to be patched. */
static char *why_none_selected(const struct traced_module *m) {
    size_t n = plan_function_count(m->plan);
    if (bitmap_count(m->choice.selected, n))
        return mem_printf("%s: none of its functions that the options choose can be traced: 'spoor "
                          "explain' tells why",
                          m->module->path);
    return mem_printf("%s: the options choose none of its %zu functions", m->module->path, n);
}

char *traced_module_why_none(const struct traced_module *m) {
    if (m->why.code)
        return m->warned ? NULL : mem_strdup(m->why.text); /* the user knows */
    if (m->choice.any_caller && m->plan && !plan_function_count(m->plan))
        return mem_printf("%s: has neither symbols nor unwind tables, so no function can be found: "
                          "build it without strip (-s, -Xs) or with -funwind-tables, or install "
                          "its debug file",
                          m->module->path);
    if (m->choice.any_caller && m->plan && !m->choice.selected_count)
        return why_none_selected(m);
    if (m->choice.selectable == SELECTABLE_NO && !has_function_symbols(m->module))
        return mem_printf("%s: has no symbols, so its functions have no names: build it without "
                          "strip (-s, -Xs), or install its debug file",
                          m->module->path);
    return NULL;
}
