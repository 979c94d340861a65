/* Counts by module, as the choice in a module may be made anew. */
#include "select/spec_uses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "select/traced_module.h"

struct use { /* of an option in a module */
    const struct traced_module *module;
    char letter, *text; /* of the option */
    size_t fits, misfits;
    char *why;         /* the first misfit; NULL: none */
    size_t nevers;     /* functions of FITS whose calls cannot meet the condition */
    char *which_never; /* of the first one; NULL: none */
};

struct spec_uses {
    ARRAY(struct use) list;
    ARRAY(char *) reported; /* texts of options that were warned of */
};

struct spec_uses *spec_uses_new(void) {
    return mem_alloc(sizeof(struct spec_uses));
}

static void done(struct use *use) {
    free(use->text);
    free(use->why);
    free(use->which_never);
}

void spec_uses_free(struct spec_uses *u) {
    if (!u)
        return;
    for (size_t i = 0; i < u->list.count; i++)
        done(&u->list.at[i]);
    for (size_t i = 0; i < u->reported.count; i++)
        free(u->reported.at[i]);
    ARRAY_FREE(&u->list);
    ARRAY_FREE(&u->reported);
    free(u);
}

void spec_uses_forget(struct spec_uses *u, const struct traced_module *m) {
    for (size_t i = u->list.count; i-- > 0;) {
        if (u->list.at[i].module != m)
            continue;
        done(&u->list.at[i]);
        ARRAY_REMOVE(&u->list, i);
    }
}

static bool is_of(const struct use *use, const struct capture_option *o) {
    return use->letter == o->letter && strcmp(use->text, o->text) == 0;
}

static struct use *use_of(struct spec_uses *u, const struct traced_module *m,
                          const struct capture_option *o) {
    for (size_t i = 0; i < u->list.count; i++)
        if (u->list.at[i].module == m && is_of(&u->list.at[i], o))
            return &u->list.at[i];
    ARRAY_PUSH(&u->list,
               ((struct use){.module = m, .letter = o->letter, .text = mem_strdup(o->text)}));
    return &u->list.at[u->list.count - 1];
}

void spec_uses_note(struct spec_uses *u, const struct traced_module *m, uint32_t function,
                    const struct capture_option *option, const struct err *why) {
    struct use *use = use_of(u, m, option);
    use->fits += !why;
    use->misfits += why != NULL;
    if (!why || use->why)
        return;
    AUTO_FREE char *name = plan_function_shown(plan_function(m->plan, function), m->module->name);
    use->why = mem_printf("%s: %s", name, why->text);
}

void spec_uses_note_never(struct spec_uses *u, const struct traced_module *m, uint32_t function,
                          const struct capture_option *option, const char *operand) {
    struct use *use = use_of(u, m, option);
    if (use->nevers++)
        return;
    AUTO_FREE char *name = plan_function_shown(plan_function(m->plan, function), m->module->name);
    use->which_never = mem_printf("%s: %s", name, operand);
}

/* Of all modules; its texts are borrowed. */
static struct use sum_of(const struct spec_uses *u, const struct capture_option *o) {
    struct use sum = {0};
    for (size_t i = 0; i < u->list.count; i++) {
        const struct use *use = &u->list.at[i];
        if (!is_of(use, o))
            continue;
        sum.fits += use->fits;
        sum.misfits += use->misfits;
        sum.why = sum.why ? sum.why : use->why;
        sum.nevers += use->nevers;
        sum.which_never = sum.which_never ? sum.which_never : use->which_never;
    }
    return sum;
}

/* "-A f@x". To be freed. */
static char *option_text(const struct capture_option *o) {
    if (o->letter == 'T')
        return mem_printf("--trigger '%s'", o->text);
    return o->letter == 'W' ? mem_printf("--where '%s'", o->text)
                            : mem_printf("-%c '%s'", o->letter, o->text);
}

int spec_uses_check(const struct spec_uses *u, const struct filter *filter,
                    const struct report *report, struct err *err) {
    int rc = 0;
    for (size_t i = 0; i < filter->captures.count; i++) {
        const struct capture_option *o = &filter->captures.at[i];
        const struct use sum = sum_of(u, o);
        if (!o->spec || sum.fits || !sum.misfits)
            continue;
        if (rc < 0)
            report_warn(report, err->text);
        AUTO_FREE char *option = option_text(o);
        rc = err_set(err, EINVAL, "spec", "%s: %s", option, sum.why);
    }
    return rc;
}

/* Whether TEXT is reported for the first time. */
static bool is_new(struct spec_uses *u, const char *text) {
    for (size_t i = 0; i < u->reported.count; i++)
        if (strcmp(u->reported.at[i], text) == 0)
            return false;
    ARRAY_PUSH(&u->reported, mem_strdup(text));
    return true;
}

/* Warns once of the functions of USE, of OPTION, whose calls cannot meet its condition. */
static void report_nevers(struct spec_uses *u, const struct use *use, const char *option,
                          const struct report *report) {
    AUTO_FREE char *key = mem_printf("%s: never", option);
    if (!use->nevers || !is_new(u, key))
        return;
    AUTO_FREE char *text = mem_printf(
        "%s: no call of %zu of %zu functions can meet it: values are not known there, as in %s "
        "(compile without optimization, or name arg1, arg2/s or %%REGISTER)",
        option, use->nevers, use->fits + use->misfits, use->which_never);
    report_warn(report, text);
}

void spec_uses_report(struct spec_uses *u, const struct filter *filter,
                      const struct report *report) {
    for (size_t i = 0; i < filter->captures.count; i++) {
        const struct capture_option *o = &filter->captures.at[i];
        const struct use sum = sum_of(u, o);
        AUTO_FREE char *option = option_text(o);
        report_nevers(u, &sum, option, report);
        if (!sum.misfits || (!o->spec && sum.fits) || !is_new(u, option))
            continue;
        AUTO_FREE char *text = mem_printf("%s: does not fit %zu of %zu functions: %s", option,
                                          sum.misfits, sum.fits + sum.misfits, sum.why);
        report_warn(report, text);
    }
}
