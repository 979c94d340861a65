/* Compares names of functions with -F and -N, and keeps similar names for "did you mean". */
#include "select/select.h"

#include <errno.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/mem.h"
#include "elf/demangle.h"
#include "elf/source_lines.h"
#include "elf/symbol_names.h"

void selection_init(struct selection *s, const struct filter *filter) {
    *s = (struct selection){.filter = filter};
    s->search_count = filter->functions.count + filter->excluded.count;
    s->searches = mem_alloc((s->search_count + 1) * sizeof *s->searches);
    for (size_t i = 0; i < s->search_count; i++)
        near_init(&s->searches[i].near, pattern_body(selection_pattern(s, i)));
}

void selection_done(struct selection *s) {
    for (size_t i = 0; i < s->search_count; i++)
        near_done(&s->searches[i].near);
    free(s->searches);
    for (size_t i = 0; i < s->refused.count; i++)
        free(s->refused.at[i].name);
    ARRAY_FREE(&s->refused);
}

const struct pattern *selection_pattern(const struct selection *s, size_t i) {
    const pattern_list *functions = &s->filter->functions, *excluded = &s->filter->excluded;
    if (i < functions->count)
        return functions->at[i];
    return i - functions->count < excluded->count ? excluded->at[i - functions->count] : NULL;
}

static void add_symbols(struct function_names *names, const struct plan_function *f) {
    const char *const none[] = {NULL};
    const char *const *alias = f->aliases ? (const char *const *)f->aliases : none;
    for (const char *symbol = f->name; symbol; symbol = *alias++)
        symbol_names_add(names, symbol);
}

static struct function_names names_of(const char *module, const struct plan_function *f) {
    struct function_names names = {0};
    add_symbols(&names, f);
    if (!f->name) {
        AUTO_FREE char *shown = plan_function_shown(f, module);
        function_names_add(&names, shown);
    }
    return names;
}

/* True if a pattern of LIST matches the function of MODULE whose symbol is SYMBOL. */
static bool match_symbol(const pattern_list *list, const char *module, const char *symbol) {
    struct function_names names = {0};
    symbol_names_add(&names, symbol);
    bool matches = patterns_match(list, module, &names);
    function_names_done(&names);
    return matches;
}

/* Keeps the name of SYMBOL for each pattern that has matched nothing and may match in MODULE. */
static void note_symbol(struct selection *s, const char *module, const char *symbol) {
    AUTO_FREE char *name = NULL;
    for (size_t i = 0; i < s->search_count; i++) {
        if (s->searches[i].met || !pattern_match_module(selection_pattern(s, i), module))
            continue;
        name = name ? name : symbol_bare_name(symbol);
        near_consider(&s->searches[i].near, name);
    }
}

static void note_names(struct selection *s, const char *module, const struct plan_function *f) {
    const char *const none[] = {NULL};
    const char *const *alias = f->aliases ? (const char *const *)f->aliases : none;
    for (const char *symbol = f->name; symbol; symbol = *alias++)
        note_symbol(s, module, symbol);
}

/* Notes which patterns match the function of MODULE that has NAMES. */
static void note_matches(struct selection *s, const char *module,
                         const struct function_names *names) {
    const struct pattern *p;
    for (size_t i = 0; (p = selection_pattern(s, i)); i++)
        s->searches[i].met = s->searches[i].met || function_names_match(names, module, p);
}

/* FILTER, a copy of that of S for one module. */
static bool is_chosen(struct selection *s, const struct filter *filter, const char *module,
                      const struct plan_function *f, const char *file) {
    struct function_names names = names_of(module, f);
    names.file = file;
    bool chosen = filter_chooses(filter, module, &names);
    note_matches(s, module, &names);
    function_names_done(&names);
    note_names(s, module, f);
    return chosen;
}

/* A copy of FILTER. In MODULE, its patterns that are names of functions match these only. To be
 * freed by filter_done(). */
static struct filter filter_for(const struct filter *filter, const char *module,
                                const struct plan *plan) {
    struct filter copy = filter_copy(filter);
    size_t count = filter_may_name(filter) ? plan_function_count(plan) : 0;
    for (size_t i = 0; i < count; i++) {
        struct function_names names = names_of(module, plan_function(plan, i));
        filter_note_name(&copy, module, &names);
        function_names_done(&names);
    }
    return copy;
}

static bool is_function(const struct symbol *s) {
    return s->type == SYMBOL_FUNCTION || s->type == SYMBOL_IFUNC;
}

/* True if -F may choose functions that have no names, by their addresses. */
static bool may_choose_addresses(const pattern_list *list, const char *module) {
    AUTO_FREE char *like = mem_printf("%s+0x0", module);
    for (size_t i = 0; i < list->count; i++)
        if (pattern_match_module(list->at[i], module) &&
            (strstr(pattern_text(list->at[i]), "0x") || pattern_match(list->at[i], module, like)))
            return true;
    return false;
}

bool selection_may_select(struct selection *s, const struct module *module) {
    const pattern_list *list = &s->filter->functions;
    const char *name = module->name;
    bool chosen = !list->count || may_choose_addresses(list, name);
    for (size_t i = 0; i < module->symbol_count && !chosen; i++)
        if (module->symbols[i].type != SYMBOL_OBJECT)
            chosen = match_symbol(list, name, module->symbols[i].name);
    for (size_t i = 0; i < module->symbol_count && !chosen; i++)
        if (is_function(&module->symbols[i]))
            note_symbol(s, name, module->symbols[i].name);
    return chosen;
}

/* ---- library calls ---- */

/* True if F has an -F without a module. */
static bool has_call_patterns(const struct filter *f) {
    for (size_t i = 0; i < f->functions.count; i++)
        if (!pattern_has_module(f->functions.at[i]))
            return true;
    return false;
}

bool selection_takes_call(struct selection *s, const char *module, const struct plan_function *f,
                          const char *name) {
    const struct filter *filter = s->filter;
    struct function_names names = {0};
    symbol_names_add(&names, name);
    bool taken = !has_call_patterns(filter) || patterns_match(&filter->functions, module, &names);
    note_matches(s, module, &names);
    add_symbols(&names, f);
    taken = taken && !patterns_match(&filter->excluded, module, &names);
    function_names_done(&names);
    s->matched += taken;
    return taken;
}

int selection_check_calls(struct selection *s, const char *const *names, size_t count, bool all,
                          struct err *err) {
    bool chosen = !has_call_patterns(s->filter);
    s->named = all ? NAMED_EXPORTS : NAMED_IMPORTS;
    for (size_t i = 0; i < count && !chosen; i++) {
        chosen = match_symbol(&s->filter->functions, NULL, names[i]);
        note_symbol(s, NULL, names[i]);
    }
    return chosen || all ? 0 : selection_check(s, err);
}

void selection_note_refused(struct selection *s, const char *name, enum refusal why) {
    for (size_t i = 0; i < s->refused.count; i++)
        if (strcmp(s->refused.at[i].name, name) == 0)
            return;
    ARRAY_PUSH(&s->refused, ((struct refused_call){mem_strdup(name), why}));
}

char *selection_refused(const struct selection *s) {
    enum { MOST_SHOWN = 12 };
    char *text = NULL;
    size_t shown = s->refused.count < MOST_SHOWN ? s->refused.count : MOST_SHOWN;
    for (size_t i = 0; i < shown; i++) {
        const struct refused_call *r = &s->refused.at[i];
        AUTO_FREE char *before = text;
        AUTO_FREE char *name = demangle(r->name);
        text = mem_printf("%s%s%s (%s)", before ? before : "library calls that are not traced: ",
                          before ? ", " : "", name, refusal_tag(r->why));
    }
    if (s->refused.count > shown) {
        AUTO_FREE char *before = text;
        text = mem_printf("%s, and %zu more", before, s->refused.count - shown);
    }
    return text;
}

/* ---- functions of modules ---- */

uint8_t *selection_named(const struct filter *filter, const struct module *module,
                         const struct plan *plan) {
    size_t n = plan_function_count(plan);
    uint8_t *selected = mem_alloc(n / 8 + 1);
    for (size_t i = 0; i < n && filter->functions.count; i++) {
        struct function_names names = names_of(module->name, plan_function(plan, i));
        if (filter_names(filter, module->name, &names))
            bitmap_set(selected, i);
        function_names_done(&names);
    }
    return selected;
}

/* NULL: the filter has no -L, or MODULE has no debugging information. */
static struct source_lines *lines_of(const struct selection *s, const struct module *module,
                                     const struct plan *plan) {
    size_t count = plan_function_count(plan);
    if (!s->filter->files.count)
        return NULL;
    AUTO_FREE vaddr_t *starts = mem_alloc(count * sizeof *starts + 1);
    for (size_t i = 0; i < count; i++)
        starts[i] = plan_function(plan, i)->addr;
    return source_lines_new(module->path, module->build_id, module->build_id_size, starts, count);
}

uint8_t *selection_apply(struct selection *s, const struct module *module, const struct plan *plan,
                         size_t *ret_count) {
    size_t n = plan_function_count(plan), count = 0;
    uint8_t *selected = mem_alloc(n / 8 + 1);
    bool all = !s->filter->functions.count && !s->filter->excluded.count && !s->filter->files.count;
    struct filter filter = filter_for(s->filter, module->name, plan);
    struct source_lines *lines = lines_of(s, module, plan);
    for (size_t i = 0; i < n; i++) {
        const struct plan_function *f = plan_function(plan, i);
        const char *file = lines ? source_lines_at(lines, i).file : NULL;
        s->has_files = s->has_files || file;
        if (!all && !is_chosen(s, &filter, module->name, f, file))
            continue;
        s->matched++;
        bitmap_set(selected, i);
        count += f->entry != TIER_NONE;
    }
    filter_done(&filter);
    source_lines_free(lines);
    s->traceable += count;
    *ret_count = count;
    return selected;
}

/* ---- what matches nothing ---- */

int selection_no_match(const struct selection *s, size_t i, const char *what, const char *text,
                       struct err *err) {
    static const struct {
        const char *among, *advice; /* the advice if no name is near */
    } texts[] = {
        [NAMED_TRACED] = {"", " of the traced modules (see 'spoor explain', and -M for libraries)"},
        [NAMED_IMPORTS] = {" that the program imports", " ('nm -uD' lists these)"},
        [NAMED_EXPORTS] = {" that libraries export", ""},
    };
    const bool of_module = pattern_has_module(selection_pattern(s, i));
    const enum named_functions named = of_module ? NAMED_TRACED : s->named;
    AUTO_FREE char *near = near_list(&s->searches[i].near);
    if (near)
        return err_set(err, ENOENT, "no-match", "%s '%s': matches no function%s: did you mean %s?",
                       what, text, texts[named].among, near);
    return err_set(err, ENOENT, "no-match", "%s '%s': matches no function%s%s", what, text,
                   texts[named].among, texts[named].advice);
}

int selection_check(const struct selection *s, struct err *err) {
    if (s->filter->files.count && !s->traceable && (!s->filter->functions.count || !s->has_files))
        return err_set(err, ENOENT, "no-match", "file '%s': %s", s->filter->files.at[0],
                       s->has_files ? "no function that can be traced begins in such a source file"
                                    : "the traced modules have no debugging information that "
                                      "tells source files (compile with -g)");
    if (!s->filter->functions.count || s->traceable)
        return 0;
    size_t i = 0;
    while (i + 1 < s->filter->functions.count && !s->searches[i].met)
        i++;
    if (!s->matched)
        return selection_no_match(s, 0, "filter", pattern_text(s->filter->functions.at[0]), err);
    return err_set(err, ENOENT, "no-match",
                   "filter '%s': matches %zu function%s, none of which can be traced: 'spoor "
                   "explain' tells why",
                   pattern_text(s->filter->functions.at[i]), s->matched,
                   s->matched == 1 ? "" : "s");
}
