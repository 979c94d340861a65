/* spoor explain: what would be done to each function of a file or process, and why not more. It
 * reads files only; nothing is touched. */
#include <stdio.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/json.h"
#include "cmd/say.h"
#include "elf/demangle.h"
#include "plan/plan.h"
#include "target/maps.h"

struct totals {
    size_t functions, instrumented, exact;
    size_t entries[TIER_COUNT], exits[TIER_COUNT], refused[REFUSED_COUNT];
};

struct explain {
    const struct options *options;
    struct totals totals;
    bool any; /* a JSON element has been printed */
};

static bool is_shown(const struct explain *e, const struct module *m, const char *name) {
    const struct filter_options *f = &e->options->filter;
    for (size_t i = 0; i < f->filters.count; i++)
        if (pattern_match(f->filters.at[i], m->name, name))
            return true;
    return f->filters.count == 0;
}

static char *readable_name(const struct module *m, const struct plan_function *f) {
    return f->name ? demangle(f->name) : mem_printf("%s+0x%lx", m->name, f->addr);
}

static void add(struct totals *t, const struct plan_function *f) {
    t->functions++;
    t->instrumented += f->entry != TIER_NONE;
    t->exact += f->entry != TIER_NONE && f->exact;
    t->entries[f->entry]++;
    t->refused[f->refused] += f->entry == TIER_NONE;
    for (int i = 0; i < TIER_COUNT && f->entry != TIER_NONE; i++)
        t->exits[i] += f->exits[i];
}

static void print_json(struct explain *e, const struct module *m, const struct plan_function *f,
                       const char *name) {
    printf("%s\n{\"function\": ", e->any ? "," : "[");
    json_print_string(stdout, name);
    printf(", \"module\": ");
    json_print_string(stdout, m->name);
    printf(", \"address\": %lu, \"size\": %lu, \"entry\": \"%s\", \"exits\": {", f->addr, f->size,
           tier_name(f->entry));
    const char *separator = "";
    for (int i = TIER_COUNT; i-- > 0;) {
        if (!f->exits[i] && i != TIER_NONE)
            continue;
        printf("%s\"%s\": %u", separator, tier_name((enum tier)i), f->exits[i]);
        separator = ", ";
    }
    if (f->entry == TIER_NONE)
        printf("}, \"refused\": \"%s\"}", refusal_tag(f->refused));
    else
        printf("}, \"refused\": null}");
    e->any = true;
}

static void print_row(const struct plan_function *f, const char *name) {
    uint32_t exits = 0;
    for (int i = 0; i < TIER_COUNT; i++)
        exits += f->exits[i];
    printf("%12lx %8lu  %-5s ", f->addr, f->size, tier_name(f->entry));
    if (f->entry == TIER_NONE)
        printf("%-22s", refusal_tag(f->refused));
    else if (f->exits[TIER_NONE])
        printf("%4u of %-4u exits    ", exits - f->exits[TIER_NONE], exits);
    else
        printf("%4u exit%-13s", exits, exits == 1 ? "" : "s");
    printf(" %s\n", name);
}

static void explain_functions(struct explain *e, const struct module *m, const struct plan *plan) {
    bool json = e->options->view.json;
    for (size_t i = 0; i < plan_function_count(plan); i++) {
        const struct plan_function *f = plan_function(plan, i);
        AUTO_FREE char *name = readable_name(m, f);
        if (!is_shown(e, m, name))
            continue;
        if (!json && !e->totals.functions)
            printf("%12s %8s  %-5s %-22s %s\n", "ADDRESS", "SIZE", "ENTRY", "EXITS OR REFUSAL",
                   "FUNCTION");
        add(&e->totals, f);
        if (json)
            print_json(e, m, f, name);
        else
            print_row(f, name);
    }
}

static double share(size_t part, size_t whole) {
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void print_totals(const struct totals *t, const char *name) {
    printf("\n%s: %zu functions, %zu can be traced (%.2f %%), %zu with all exits exact (%.2f %%)\n",
           name, t->functions, t->instrumented, share(t->instrumented, t->functions), t->exact,
           share(t->exact, t->functions));
    for (int i = TIER_NONE + 1; i < TIER_COUNT; i++)
        if (t->entries[i] || t->exits[i])
            printf("  %-5s %8zu entries %8zu exits\n", tier_name((enum tier)i), t->entries[i],
                   t->exits[i]);
    if (t->exits[TIER_NONE])
        printf("  %-5s %8s         %8zu exits, inferred from what follows\n", "none", "",
               t->exits[TIER_NONE]);
    for (int i = 0; i < REFUSED_COUNT; i++)
        if (t->refused[i])
            printf("  refused %8zu  %-22s %s\n", t->refused[i], refusal_tag((enum refusal)i),
                   refusal_meaning((enum refusal)i));
}

static int explain_file(struct explain *e, const char *path, struct err *err) {
    struct module *module;
    struct plan *plan;
    int rc = module_load(path, MODULE_DEBUG_FILES, &module, err);
    if (rc < 0)
        return rc;
    rc = plan_new(module, &plan, err);
    if (rc == 0) {
        e->totals = (struct totals){0};
        explain_functions(e, module, plan);
        if (!e->options->view.json && e->totals.functions)
            print_totals(&e->totals, module->name);
        plan_free(plan);
    }
    module_free(module);
    return rc;
}

static bool seen_before(const struct maps *maps, size_t i) {
    for (size_t j = 0; j < i; j++)
        if (maps->list.at[j].executable && maps->list.at[j].inode == maps->list.at[i].inode)
            return true;
    return false;
}

static int explain_process(struct explain *e, pid_t pid, struct err *err) {
    struct maps maps;
    int rc = maps_read(pid, &maps, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < maps.list.count; i++) {
        const struct map *m = &maps.list.at[i];
        if (!m->executable || m->path[0] != '/' || seen_before(&maps, i))
            continue;
        AUTO_FREE char *path = mem_printf("/proc/%d/root%s", pid, m->path);
        if (explain_file(e, path, err) < 0)
            say_err(err);
    }
    maps_done(&maps);
    return 0;
}

static bool is_number(const char *text) {
    size_t n = strspn(text, "0123456789");
    return n && n < 10 && !text[n];
}

int cmd_explain(struct options *options, int argc, char **argv) {
    (void)argc;
    struct explain e = {.options = options};
    struct err err = {0};
    int rc = is_number(argv[0]) && access(argv[0], F_OK) < 0
                 ? explain_process(&e, atoi(argv[0]), &err)
                 : explain_file(&e, argv[0], &err);
    if (options->view.json && rc == 0)
        printf("%s\n]\n", e.any ? "" : "[");
    if (rc < 0) {
        say_err(&err);
        return STATUS_FAILED;
    }
    if (!options->view.json && !e.totals.functions)
        say_note("%s: has no functions to show", argv[0]);
    return STATUS_OK;
}
