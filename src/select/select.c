#include "select/select.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/near.h"
#include "elf/demangle.h"

void selection_init(struct selection *s, const struct session_options *options) {
    *s = (struct selection){.options = options};
}

void selection_done(struct selection *s) {
    for (int i = 0; i < SELECTION_NEAR; i++)
        free(s->near[i]);
    for (size_t i = 0; i < s->refused.count; i++)
        free(s->refused.at[i].name);
    ARRAY_FREE(&s->refused);
}

/* Remembers NAME if it is among the nearest to what the user typed. */
static void note_near(struct selection *s, const char *name) {
    const char *typed = pattern_text(s->options->filters[0]);
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

typedef bool match_fn(const struct pattern *pattern, const char *module, const char *name);

static bool any_match(const struct pattern *const *patterns, size_t count, match_fn *match,
                      const char *module, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (match(patterns[i], module, name))
            return true;
    return false;
}

struct verdict {
    bool chosen, excluded;
    bool named; /* in full, by a filter */
};

static void judge_name(const struct session_options *o, const char *module, const char *name,
                       struct verdict *v) {
    v->excluded |= any_match(o->excludes, o->exclude_count, pattern_match, module, name);
    v->chosen |= any_match(o->filters, o->filter_count, pattern_match, module, name);
    v->named |= any_match(o->filters, o->filter_count, pattern_names, module, name);
}

/* By its demangled name, without parameters too, and by the symbol itself. */
static void judge_symbol(const struct session_options *o, const char *module, const char *symbol,
                         struct verdict *v) {
    AUTO_FREE char *name = demangle(symbol);
    judge_name(o, module, name, v);
    judge_name(o, module, symbol, v);
    char *parameters = strchr(name, '(');
    if (parameters && parameters != name) {
        *parameters = '\0';
        judge_name(o, module, name, v);
    }
}

static void judge_names(const struct session_options *o, const char *module,
                        const struct plan_function *f, struct verdict *v) {
    const char *const none[] = {NULL};
    const char *const *alias = f->aliases ? (const char *const *)f->aliases : none;
    for (const char *symbol = f->name; symbol; symbol = *alias++)
        judge_symbol(o, module, symbol, v);
}

static struct verdict judge(const struct session_options *o, const char *module,
                            const struct plan_function *f) {
    struct verdict v = {.chosen = !o->filter_count};
    judge_names(o, module, f, &v);
    if (!f->name) {
        AUTO_FREE char *shown = plan_function_shown(f, module);
        judge_name(o, module, shown, &v);
    }
    return v;
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

static bool selects(struct selection *s, const char *module, const struct plan_function *f) {
    struct verdict v = judge(s->options, module, f);
    if (s->options->filter_count && !s->matched)
        note_names(s, f);
    return v.chosen && !v.excluded;
}

static bool is_function(const struct symbol *s) {
    return s->type == SYMBOL_FUNCTION || s->type == SYMBOL_IFUNC;
}

/* Whether a filter may choose functions that have no names but by their places. */
static bool may_choose_places(const struct session_options *o, const char *module) {
    AUTO_FREE char *like = mem_printf("%s+0x0", module);
    for (size_t i = 0; i < o->filter_count; i++)
        if (pattern_match_module(o->filters[i], module) &&
            (strstr(pattern_text(o->filters[i]), "0x") ||
             pattern_match(o->filters[i], module, like)))
            return true;
    return false;
}

bool selection_may_select(struct selection *s, const struct module *module) {
    const struct session_options *o = s->options;
    const char *name = module->name;
    struct verdict v = {.chosen = !o->filter_count || may_choose_places(o, name)};
    for (size_t i = 0; i < module->symbol_count && !v.chosen; i++)
        if (module->symbols[i].type != SYMBOL_OBJECT)
            judge_symbol(o, name, module->symbols[i].name, &v);
    for (size_t i = 0; i < module->symbol_count && !v.chosen && !s->matched; i++)
        if (is_function(&module->symbols[i]))
            note_symbol(s, module->symbols[i].name);
    return v.chosen;
}

/* ---- library calls ---- */

static bool limits_calls(const struct session_options *o) {
    for (size_t i = 0; i < o->filter_count; i++)
        if (!pattern_has_module(o->filters[i]))
            return true;
    return false;
}

bool selection_takes_call(struct selection *s, const char *module, const struct plan_function *f,
                          const char *name) {
    struct verdict v = {.chosen = !limits_calls(s->options)}, other = {0};
    judge_symbol(s->options, module, name, &v);
    judge_names(s->options, module, f, &other);
    bool taken = v.chosen && !v.excluded && !other.excluded;
    s->matched += taken;
    return taken;
}

int selection_check_calls(struct selection *s, const char *const *names, size_t count,
                          struct err *err) {
    struct verdict v = {.chosen = !limits_calls(s->options)};
    for (size_t i = 0; i < count && !v.chosen; i++) {
        judge_symbol(s->options, NULL, names[i], &v);
        note_symbol(s, names[i]);
    }
    return v.chosen ? 0 : selection_check(s, err);
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

uint8_t *selection_named(const struct session_options *options, const struct module *module,
                         const struct plan *plan) {
    size_t n = plan_function_count(plan);
    uint8_t *bits = mem_alloc(n / 8 + 1);
    for (size_t i = 0; i < n && options->filter_count; i++) {
        struct verdict v = judge(options, module->name, plan_function(plan, i));
        if (v.named && !v.excluded)
            bits[i / 8] |= (uint8_t)(1u << i % 8);
    }
    return bits;
}

uint8_t *selection_apply(struct selection *s, const struct module *module, const struct plan *plan,
                         size_t *ret_count) {
    size_t n = plan_function_count(plan), count = 0;
    uint8_t *bits = mem_alloc(n / 8 + 1);
    bool all = !s->options->filter_count && !s->options->exclude_count;
    for (size_t i = 0; i < n; i++) {
        const struct plan_function *f = plan_function(plan, i);
        if (!all && !selects(s, module->name, f))
            continue;
        s->matched++;
        bits[i / 8] |= (uint8_t)(1u << i % 8);
        count += f->entry != TIER_NONE;
    }
    s->traceable += count;
    *ret_count = count;
    return bits;
}

void selection_near(const struct selection *s, char *ret, size_t room) {
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

int selection_check(const struct selection *s, struct err *err) {
    if (!s->options->filter_count || s->traceable)
        return 0;
    if (s->matched)
        return err_set(err, ENOENT, "no-match",
                       "filter '%s': matches %zu functions, none of which can be traced: 'spoor "
                       "explain' tells why",
                       pattern_text(s->options->filters[0]), s->matched);
    char near[256];
    selection_near(s, near, sizeof near);
    return err_set(err, ENOENT, "no-match", "filter '%s': matches no function%s",
                   pattern_text(s->options->filters[0]),
                   near[0] ? near
                           : " of the traced modules (see 'spoor explain', and -M for libraries)");
}
