/* Judges calls in a walk of its own: the result of a call is known at its end only, but views must
 * know at its begin whether it is shown. */
#include "analyze/call_conditions.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/call_values.h"
#include "analyze/walk.h"
#include "base/search.h"
#include "values/condition.h"

struct binding {
    const struct capture *capture; /* NULL: none so far */
    struct operand_reader *readers;
};

struct asked {
    char *text; /* owns the condition's text, too */
    struct condition *condition;
    uint8_t *functions;                 /* 1: they have it */
    struct binding at_entry, at_return; /* to the captures that were met last */
};

struct left_out {
    uint64_t ns;
    uint32_t stream;
};

struct call_conditions {
    ARRAY(struct asked) asked;
    ARRAY(struct left_out) left_out; /* ascending */
    struct condition_counts counts;
};

void call_conditions_free(struct call_conditions *c) {
    if (!c)
        return;
    for (size_t i = 0; i < c->asked.count; i++) {
        condition_free(c->asked.at[i].condition);
        free(c->asked.at[i].functions);
        free(c->asked.at[i].at_entry.readers);
        free(c->asked.at[i].at_return.readers);
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

/* ---- values ---- */

struct begun {                   /* an open call */
    struct plain_value **values; /* by condition; NULL: the function does not have it */
};

struct judge {
    struct call_conditions *conditions;
    struct call_values *at_entry, *at_return;
    ARRAY(struct begun) begun; /* by value of walk_call */
    ARRAY(uint32_t) unused;
};

/* Reads what A needs of what was recorded at POINT. */
static void read_values(struct call_values *source, const struct call_point *point, struct asked *a,
                        struct plain_value *values) {
    struct binding *b = point->is_return ? &a->at_return : &a->at_entry;
    struct trace_occurrence o;
    if (!source || !call_values_find(source, point, &o))
        return;
    if (b->capture != o.capture) {
        b->capture = o.capture;
        if (!b->readers)
            b->readers =
                mem_alloc((condition_operand_count(a->condition) + 1) * sizeof *b->readers);
        condition_bind(a->condition, call_values_printer(source)->types, o.capture, b->readers);
    }
    condition_read(a->condition, b->readers, o.capture, o.values, values);
}

static void begin_call(struct judge *j, const struct walk_call *call, struct begun *ret) {
    const struct call_point point = {call->stream, call->id, false, call->start_ns};
    const struct call_conditions *c = j->conditions;
    for (size_t i = 0; i < c->asked.count; i++) {
        struct asked *a = &c->asked.at[i];
        if (!a->functions[call->function])
            continue;
        const size_t count = condition_operand_count(a->condition) + 1;
        ret->values[i] = mem_alloc(count * sizeof *ret->values[i]);
        if (!call->before)
            read_values(j->at_entry, &point, a, ret->values[i]);
        condition_keep(a->condition, ret->values[i]);
    }
}

/* ---- judging ---- */

static uint32_t on_open(void *ctx, const struct walk_call *call) {
    struct judge *j = ctx;
    if (!call_conditions_concern(j->conditions, call->function))
        return WALK_NONE;
    if (!j->unused.count) {
        struct begun b = {mem_alloc(j->conditions->asked.count * sizeof *b.values)};
        ARRAY_PUSH(&j->unused, (uint32_t)j->begun.count);
        ARRAY_PUSH(&j->begun, b);
    }
    const uint32_t value = j->unused.at[--j->unused.count];
    begin_call(j, call, &j->begun.at[value]);
    return value;
}

static enum truth judge(struct judge *j, const struct walk_call *call, struct begun *begun) {
    const struct call_point point = {call->end_stream, call->id, true, call->end_ns};
    const struct call_conditions *c = j->conditions;
    enum truth all = TRUTH_TRUE;
    for (size_t i = 0; i < c->asked.count; i++) {
        struct asked *a = &c->asked.at[i];
        struct plain_value *kept = begun->values[i];
        if (!kept)
            continue;
        const size_t count = condition_operand_count(a->condition) + 1;
        struct plain_value *values = mem_alloc(count * sizeof *values);
        memcpy(values, kept, count * sizeof *values);
        if (call->how == CALL_RETURNED && condition_has_result(a->condition))
            read_values(j->at_return, &point, a, values);
        const enum truth t = condition_test(a->condition, values);
        all = t == TRUTH_TRUE || all == TRUTH_FALSE ? all : t;
        condition_forget(a->condition, kept);
        free(values);
        free(steal(begun->values[i]));
    }
    return all;
}

static void on_close(void *ctx, const struct walk_call *call) {
    struct judge *j = ctx;
    if (!call_conditions_concern(j->conditions, call->function))
        return;
    const enum truth t = judge(j, call, &j->begun.at[call->value]);
    ARRAY_PUSH(&j->unused, call->value);
    if (t == TRUTH_TRUE)
        return;
    j->conditions->counts.left_out++;
    j->conditions->counts.unknown += t == TRUTH_UNKNOWN;
    ARRAY_PUSH(&j->conditions->left_out, ((struct left_out){call->start_ns, call->stream}));
}

static int compare(const void *a, const void *b) {
    const struct left_out *x = a, *y = b;
    return x->stream != y->stream ? (x->stream > y->stream) - (x->stream < y->stream)
                                  : (x->ns > y->ns) - (x->ns < y->ns);
}

void call_conditions_judge(struct call_conditions *c, const struct source *source) {
    struct judge j = {.conditions = c};
    const struct visitor visitor = {.ctx = &j, .no_self = true, .open = on_open, .close = on_close};
    struct view_filter all = {.spec = {.until_ns = UINT64_MAX},
                              .names = source->names,
                              .recorded_depth = source->filter->recorded_depth,
                              .recorded_ns = source->filter->recorded_ns};
    struct source plain = *source;
    plain.filter = &all;
    plain.on_progress = NULL;
    plain.on_damage = NULL;
    j.at_entry = call_values_new(source->reader, source->names);
    j.at_return = call_values_new(source->reader, source->names);
    walk_all(&plain, &visitor);
    call_values_free(j.at_entry);
    call_values_free(j.at_return);
    for (size_t i = 0; i < j.begun.count; i++)
        free(j.begun.at[i].values);
    ARRAY_FREE(&j.begun);
    ARRAY_FREE(&j.unused);
    if (c->left_out.count)
        qsort(c->left_out.at, c->left_out.count, sizeof *c->left_out.at, compare);
}

bool call_conditions_hold(const struct call_conditions *c, uint32_t stream, uint64_t ns) {
    const struct left_out key = {ns, stream};
    const size_t i = SEARCH(k, c->left_out.count, compare(&c->left_out.at[k], &key) < 0);
    return i == c->left_out.count || compare(&c->left_out.at[i], &key) != 0;
}

struct condition_counts call_conditions_counts(const struct call_conditions *c) {
    return c->counts;
}
