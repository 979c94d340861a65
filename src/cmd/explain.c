/* spoor explain: how each function of a file or process would be patched, or why not. Reads files
 * only. */
#include "cmd/explain.h"

#include <stdio.h>
#include <string.h>

#include "base/bitmap.h"
#include "cache/plan_cache.h"
#include "cmd/command.h"
#include "cmd/say.h"
#include "patch/program.h"
#include "select/mapped.h"
#include "select/select.h"
#include "target/candidate.h"
#include "target/maps.h"

enum { MOST_DRAWN = 3 }; /* a filter that selects more functions of a module lists them */

struct explain {
    const struct options *options;
    struct term term;
    struct plan_cache cache;
    struct selection selection; /* by the filter */
    bool any;                   /* a JSON element was printed */
    bool shown;                 /* a function was printed */
};

static const struct filter *filter_of(const struct explain *e) { return &e->options->shown.filter; }

char *subject_name(const struct subject *s, size_t i) {
    return plan_function_shown(plan_function(s->plan, i), s->module->name);
}

static void choose_functions(struct explain *e, struct subject *s) {
    size_t ignored;
    AUTO_FREE uint8_t *chosen = selection_apply(&e->selection, s->module, s->plan, &ignored);
    for (size_t i = 0; i < plan_function_count(s->plan); i++)
        if (bitmap_test(chosen, i))
            ARRAY_PUSH(&s->shown, (uint32_t)i);
}

static void print_subject(struct explain *e, const struct subject *s) {
    bool filtered = !filter_is_empty(filter_of(e));
    if (e->options->view.json) {
        explain_json(stdout, s, e->any ? ",\n" : "[\n");
        e->any |= s->shown.count != 0;
        return;
    }
    if (!s->shown.count)
        return;
    if (e->shown)
        putchar('\n');
    if (filtered && s->shown.count <= MOST_DRAWN) {
        for (size_t i = 0; i < s->shown.count; i++)
            explain_draw(s, s->shown.at[i], &e->term);
    } else if (filtered || e->options->verbose) {
        explain_list(s, &e->term);
    }
    if (!filtered)
        explain_probes(s);
    explain_totals(s, &e->term);
    e->shown = true;
}

/* As in a recording, functions that a filter names in full may have traps. */
static void permit_traps(const struct explain *e, const struct module *m, struct plan *plan) {
    AUTO_FREE uint8_t *named = selection_named(filter_of(e), m, plan);
    if (e->options->record.tier == TIER_TRAP)
        memset(named, 0xff, plan_function_count(plan) / 8 + 1);
    plan_permit_traps(plan, named);
}

/* Explains MODULE and frees it. */
static int explain_module(struct explain *e, struct module *module, struct err *err) {
    struct plan *plan;
    int rc = plan_cache_plan(&e->cache, module, e->options->record.tier, &plan, err);
    if (rc == 0) {
        struct subject s = {.module = module, .plan = plan};
        permit_traps(e, module, plan);
        plan_view_init(&s.view, plan);
        choose_functions(e, &s);
        print_subject(e, &s);
        ARRAY_FREE(&s.shown);
        plan_view_done(&s.view);
        plan_free(plan);
    }
    module_free(module);
    return rc;
}

static int explain_file(struct explain *e, const char *path, struct err *err) {
    struct module *module;
    int rc = module_load(path, MODULE_DEBUG_FILES | MODULE_LATER, &module, err);
    return rc < 0 ? rc : explain_module(e, module, err);
}

/* Explains the file that MAP maps into TID. Finds it as a recording would. */
static int explain_mapped(struct explain *e, pid_t tid, const struct map *map, struct err *err) {
    struct module *module;
    struct stat st;
    AUTO_FD int fd = mapped_open(tid, map, &st);
    int rc = fd >= 0
                 ? module_load_fd(fd, map->path, MODULE_DEBUG_FILES | MODULE_LATER, &module, err)
                 : mapped_load(tid, map, &module, err);
    return rc < 0 ? rc : explain_module(e, module, err);
}

static bool seen_before(const struct maps *maps, size_t i) {
    for (size_t j = 0; j < i; j++)
        if (maps->list.at[j].executable && map_is_same_file(&maps->list.at[j], &maps->list.at[i]))
            return true;
    return false;
}

static int explain_process(struct explain *e, pid_t pid, struct err *err) {
    struct maps maps;
    int rc = candidate_check_process(pid, err);
    pid_t tid = rc == 0 ? candidate_thread(pid) : 0;
    if (rc == 0)
        rc = candidate_check_program(tid, err);
    if (rc == 0)
        rc = maps_read(tid, &maps, err);
    if (rc < 0)
        return rc;
    maps_use_former_names(&maps);
    for (size_t i = 0; i < maps.list.count; i++) {
        const struct map *m = &maps.list.at[i];
        if (m->executable && m->path[0] == '/' && !seen_before(&maps, i) &&
            explain_mapped(e, tid, m, err) < 0)
            say_err(err);
    }
    maps_done(&maps);
    return 0;
}

static bool is_number(const char *text) {
    size_t n = strspn(text, "0123456789");
    return n && n < 10 && !text[n];
}

/* No function of SUBJECT was shown: says why, and names functions similar to the first pattern. */
static void say_nothing(const struct explain *e, const char *subject) {
    AUTO_FREE char *near = near_list(&e->selection.searches[0].near);
    AUTO_FREE char *chosen = filter_text(filter_of(e));
    if (filter_is_empty(filter_of(e)))
        say_note("%s: has no functions to show: it has neither symbols nor unwind tables", subject);
    else
        say_note("%s: no function is left by %s%s%s%s", subject, chosen,
                 near ? ": did you mean " : "", near ? near : "", near ? "?" : "");
}

int cmd_explain(struct options *options, int argc, char **argv) {
    (void)argc;
    const struct record_options *record = &options->record;
    struct explain e = {.options = options,
                        .term = term_open(&options->view),
                        .cache = plan_cache_open(record->cache ? record->cache_bytes : 0)};
    struct err err = {0};
    selection_init(&e.selection, filter_of(&e));
    pager_start(&e.term, &options->view);
    int rc = is_number(argv[0]) && access(argv[0], F_OK) < 0
                 ? explain_process(&e, atoi(argv[0]), &err)
                 : explain_file(&e, argv[0], &err);
    if (options->view.json && rc == 0)
        printf("%s\n]\n", e.any ? "" : "[");
    pager_finish();
    plan_cache_close(&e.cache);
    if (rc < 0)
        say_err(&err);
    else if (!options->view.json && !e.shown)
        say_nothing(&e, argv[0]);
    selection_done(&e.selection);
    return rc < 0 ? STATUS_FAILED : STATUS_OK;
}
