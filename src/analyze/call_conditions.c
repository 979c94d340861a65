/* The list of calls that do not meet their conditions. */
#include "analyze/call_conditions.h"

#include <stdlib.h>

#include "analyze/view_filter.h"
#include "base/search.h"
#include "values/condition.h"

struct asked {
    char *text; /* owns the condition's text, too */
    struct condition *condition;
    uint8_t *functions; /* 1: they have it */
};

struct left_out {
    uint64_t ns;
    uint32_t stream;
};

struct call_conditions {
    ARRAY(struct asked) asked;
    ARRAY(struct left_out) left_out; /* ascending */
};

void call_conditions_free(struct call_conditions *c) {
    if (!c)
        return;
    for (size_t i = 0; i < c->asked.count; i++) {
        condition_free(c->asked.at[i].condition);
        free(c->asked.at[i].functions);
        free(c->asked.at[i].text);
    }
    ARRAY_FREE(&c->asked);
    ARRAY_FREE(&c->left_out);
    free(c);
}

/* ---- what is asked for ---- */

static uint8_t *functions_of(const struct filter *filter, struct names *names) {
    uint8_t *functions = mem_alloc(names_count(names));
    for (uint32_t i = 0; i + 1 < names_count(names); i++)
        functions[i] = names_match(names, i, filter->functions.at[0]);
    return functions;
}

static int add(struct call_conditions *c, const char *text, struct names *names, struct err *err) {
    struct asked a = {0};
    struct filter filter = {0};
    const char *condition;
    int rc = condition_split(text, &a.text, &condition, err);
    if (rc < 0)
        return rc;
    rc = condition_parse(condition, &a.condition, err);
    rc = rc ? rc : filter_add(&filter, 'F', a.text, err);
    if (!rc) {
        view_filter_note_names(&filter, names);
        rc = view_filter_check("where", filter.functions.at[0], names, err);
        a.functions = functions_of(&filter, names);
    }
    filter_done(&filter);
    ARRAY_PUSH(&c->asked, a);
    return rc;
}

int call_conditions_new(const condition_texts *texts, struct names *names,
                        struct call_conditions **ret, struct err *err) {
    struct call_conditions *c = mem_alloc(sizeof *c);
    int rc = 0;
    for (size_t i = 0; i < texts->count && !rc; i++)
        rc = add(c, texts->at[i], names, err);
    *ret = rc || !c->asked.count ? NULL : c;
    if (!*ret)
        call_conditions_free(c);
    return rc;
}

bool call_conditions_concern(const struct call_conditions *c, uint32_t function) {
    for (size_t i = 0; i < c->asked.count; i++)
        if (c->asked.at[i].functions[function])
            return true;
    return false;
}

static int compare(const void *a, const void *b) {
    const struct left_out *x = a, *y = b;
    return x->stream != y->stream ? (x->stream > y->stream) - (x->stream < y->stream)
                                  : (x->ns > y->ns) - (x->ns < y->ns);
}

const struct condition *call_conditions_get(const struct call_conditions *c, size_t i) {
    return i < c->asked.count ? c->asked.at[i].condition : NULL;
}

bool call_conditions_has(const struct call_conditions *c, size_t i, uint32_t function) {
    return c->asked.at[i].functions[function];
}

void call_conditions_leave_out(struct call_conditions *c, uint32_t stream, uint64_t ns) {
    ARRAY_PUSH(&c->left_out, ((struct left_out){ns, stream}));
}

void call_conditions_end(struct call_conditions *c) {
    if (c->left_out.count)
        qsort(c->left_out.at, c->left_out.count, sizeof *c->left_out.at, compare);
}

bool call_conditions_hold(const struct call_conditions *c, uint32_t stream, uint64_t ns) {
    const struct left_out key = {ns, stream};
    const size_t i = SEARCH(k, c->left_out.count, compare(&c->left_out.at[k], &key) < 0);
    return i == c->left_out.count || compare(&c->left_out.at[i], &key) != 0;
}
