/* Compares names of functions with -F and -N, and keeps similar names for "did you mean". */
#include "select/select.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/mem.h"
#include "base/near.h"
#include "elf/demangle.h"
#include "elf/source_lines.h"

void selection_init(struct selection *s, const struct filter *filter) {
    *s = (struct selection){.filter = filter};
}

void selection_done(struct selection *s) {
    for (int i = 0; i < SELECTION_NEAR; i++)
        free(s->near[i]);
    for (size_t i = 0; i < s->refused.count; i++)
        free(s->refused.at[i].name);
    ARRAY_FREE(&s->refused);
}

/* Keeps NAME if it is one of the names that are most similar to the first -F. */
static void note_near(struct selection *s, const char *name) {
    const char *typed = pattern_text(s->filter->functions.at[0]);
    const char *bang = strchr(typed, '!');
    unsigned distance = near_distance(bang ? bang + 1 : typed, name);
    if (distance > strlen(typed) / 2 + 1)
        return;
    for (int i = 0; i < SELECTION_NEAR; i++) {
        if (s->near[i] && strcmp(s->near[i], name) == 0)
            return;
        if (s->near[i] && s->distance[i] <= distance)
            continue;
        free(s->near[SELECTION_NEAR - 1]);
        for (int j = SELECTION_NEAR - 1; j > i; j--) {
            s->near[j] = s->near[j - 1];
            s->distance[j] = s->distance[j - 1];
        }
        s->near[i] = mem_strdup(name);
        s->distance[i] = distance;
        return;
    }
}

/* Adds the demangled name of SYMBOL with and without parameters, and SYMBOL itself. */
static void add_symbol(struct function_names *names, const char *symbol) {
    AUTO_FREE char *readable = demangle(symbol);
    function_names_add_readable(names, readable);
    if (strcmp(readable, symbol) != 0)
        function_names_add(names, symbol);
}

static void add_symbols(struct function_names *names, const struct plan_function *f) {
    const char *const none[] = {NULL};
    const char *const *alias = f->aliases ? (const char *const *)f->aliases : none;
    for (const char *symbol = f->name; symbol; symbol = *alias++)
        add_symbol(names, symbol);
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
    add_symbol(&names, symbol);
    bool matches = patterns_match(list, module, &names);
    function_names_done(&names);
    return matches;
}

static void note_symbol(struct selection *s, const char *symbol) {
    AUTO_FREE char *name = demangle(symbol);
    char *parameters = strchr(name, '(');
    if (parameters && parameters != name)
        *parameters = '\0';
    note_near(s, name);
}

static void note_names(struct selection *s, const struct plan_function *f) {
    const char *const none[] = {NULL};
    const char *const *alias = f->aliases ? (const char *const *)f->aliases : none;
    for (const char *symbol = f->name; symbol; symbol = *alias++)
        note_symbol(s, symbol);
}

static bool is_chosen(struct selection *s, const char *module, const struct plan_function *f,
                      const char *file) {
    struct function_names names = names_of(module, f);
    names.file = file;
    bool chosen = filter_chooses(s->filter, module, &names);
    function_names_done(&names);
    if (s->filter->functions.count && !s->matched)
        note_names(s, f);
    return chosen;
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
    for (size_t i = 0; i < module->symbol_count && !chosen && !s->matched; i++)
        if (is_function(&module->symbols[i]))
            note_symbol(s, module->symbols[i].name);
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
    add_symbol(&names, name);
    bool taken = !has_call_patterns(filter) || patterns_match(&filter->functions, module, &names);
    add_symbols(&names, f);
    taken = taken && !patterns_match(&filter->excluded, module, &names);
    function_names_done(&names);
    s->matched += taken;
    return taken;
}

int selection_check_calls(struct selection *s, const char *const *names, size_t count,
                          struct err *err) {
    bool chosen = !has_call_patterns(s->filter);
    for (size_t i = 0; i < count && !chosen; i++) {
        chosen = match_symbol(&s->filter->functions, NULL, names[i]);
        note_symbol(s, names[i]);
    }
    return chosen ? 0 : selection_check(s, err);
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
    const struct filter *filter = s->filter;
    bool all = !filter->functions.count && !filter->excluded.count && !filter->files.count;
    struct source_lines *lines = lines_of(s, module, plan);
    for (size_t i = 0; i < n; i++) {
        const struct plan_function *f = plan_function(plan, i);
        const char *file = lines ? source_lines_at(lines, i).file : NULL;
        s->has_files = s->has_files || file;
        if (!all && !is_chosen(s, module->name, f, file))
            continue;
        s->matched++;
        bitmap_set(selected, i);
        count += f->entry != TIER_NONE;
    }
    source_lines_free(lines);
    s->traceable += count;
    *ret_count = count;
    return selected;
}

/* Writes ": did you mean A, B?", or an empty text, into ROOM bytes at RET. */
static void near_names(const struct selection *s, char *ret, size_t room) {
    size_t used = 0;
    ret[0] = '\0';
    for (int i = 0; i < SELECTION_NEAR && s->near[i]; i++) {
        int n = snprintf(ret + used, room - used, "%s%s", i ? ", " : ": did you mean ", s->near[i]);
        if (n < 0 || (size_t)n + 2 > room - used)
            break;
        used += (size_t)n;
    }
    snprintf(ret + used, room - used, "%s", used ? "?" : "");
}

int selection_no_match(const struct selection *s, const char *what, const char *text,
                       struct err *err) {
    char near[256];
    near_names(s, near, sizeof near);
    return err_set(err, ENOENT, "no-match", "%s '%s': matches no function%s", what, text,
                   near[0] ? near
                           : " of the traced modules (see 'spoor explain', and -M for libraries)");
}

int selection_check(const struct selection *s, struct err *err) {
    if (s->filter->files.count && !s->traceable && (!s->filter->functions.count || !s->has_files))
        return err_set(err, ENOENT, "no-match", "file '%s': %s", s->filter->files.at[0],
                       s->has_files ? "no function that can be traced begins in such a source file"
                                    : "the traced modules have no debugging information that "
                                      "tells source files (compile with -g)");
    if (!s->filter->functions.count || s->traceable)
        return 0;
    const char *text = pattern_text(s->filter->functions.at[0]);
    if (!s->matched)
        return selection_no_match(s, "filter", text, err);
    return err_set(err, ENOENT, "no-match",
                   "filter '%s': matches %zu functions, none of which can be traced: 'spoor "
                   "explain' tells why",
                   text, s->matched);
}
