/* Judges calls in a walk of its own: the result of a call is known at its end only, but views must
 * know at its begin whether it is shown. */
#include "analyze/call_conditions.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/call_values.h"
#include "analyze/walk.h"
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
    struct condition_counts counts;
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

/* ---- values ---- */

/* The values of expressions at the begin of an open call, with the bytes of texts. */
struct begun {
    size_t count;
    struct plain_value *values; /* of all operands, condition after condition */
};

struct judge {
    struct call_conditions *conditions;
    struct call_values *at_entry, *at_return;
    ARRAY(struct begun) begun; /* by value of walk_call */
    ARRAY(uint32_t) unused;
};

static size_t operand_count(const struct call_conditions *c) {
    struct condition_operand ignored;
    size_t count = 0;
    for (size_t i = 0; i < c->asked.count; i++)
        for (size_t k = 0; condition_operand(c->asked.at[i].condition, k, &ignored); k++)
            count++;
    return count;
}

/* What NODE was at POINT. */
static void value_at(struct call_values *values, const struct call_point *point,
                     const struct spec_node *node, struct plain_value *ret) {
    struct trace_occurrence o;
    struct part part;
    *ret = (struct plain_value){.kind = PLAIN_NOTHING};
    if (values && call_values_find(values, point, &o) &&
        part_find(call_values_printer(values)->types, o.capture, o.values, node, &part))
        part_value(call_values_printer(values), &part, ret);
}

static void keep_text(struct plain_value *v) {
    if (v->kind != PLAIN_TEXT)
        return;
    uint8_t *copy = mem_alloc(v->length + 1);
    memcpy(copy, v->bytes, v->length);
    v->bytes = copy;
}

static void read_begun(struct judge *j, const struct walk_call *call, struct begun *ret) {
    const struct call_point point = {call->stream, call->id, EVENT_ENTRY, call->start_ns};
    const struct call_conditions *c = j->conditions;
    struct condition_operand operand;
    struct plain_value *v = ret->values;
    for (size_t i = 0; i < c->asked.count; i++)
        for (size_t k = 0; condition_operand(c->asked.at[i].condition, k, &operand); k++, v++) {
            *v = (struct plain_value){.kind = PLAIN_NOTHING};
            if (call->before || !c->asked.at[i].functions[call->function] ||
                spec_has_result(operand.node))
                continue;
            value_at(j->at_entry, &point, operand.node, v);
            keep_text(v);
        }
}

static void forget_begun(struct begun *b) {
    for (size_t i = 0; i < b->count; i++)
        if (b->values[i].kind == PLAIN_TEXT)
            free((void *)b->values[i].bytes);
}

/* ---- judging ---- */

static uint32_t on_open(void *ctx, const struct walk_call *call) {
    struct judge *j = ctx;
    if (!call_conditions_concern(j->conditions, call->function))
        return WALK_NONE;
    if (!j->unused.count) {
        const size_t count = operand_count(j->conditions);
        struct begun b = {count, mem_alloc((count + 1) * sizeof *b.values)};
        ARRAY_PUSH(&j->unused, (uint32_t)j->begun.count);
        ARRAY_PUSH(&j->begun, b);
    }
    const uint32_t value = j->unused.at[--j->unused.count];
    read_begun(j, call, &j->begun.at[value]);
    return value;
}

struct ended {
    struct judge *judge;
    const struct walk_call *call;
    const struct condition *condition;
    const struct plain_value *begun; /* of the condition's operands */
};

static bool find(void *ctx, const struct spec_node *node, struct plain_value *ret) {
    const struct ended *e = ctx;
    struct condition_operand operand;
    if (spec_has_result(node)) {
        const struct call_point point = {e->call->end_stream, e->call->id, EVENT_RETURN,
                                         e->call->end_ns};
        *ret = (struct plain_value){.kind = PLAIN_NOTHING};
        if (e->call->how == CALL_RETURNED)
            value_at(e->judge->at_return, &point, node, ret);
        return true;
    }
    for (size_t k = 0; condition_operand(e->condition, k, &operand); k++)
        if (operand.node == node)
            *ret = e->begun[k];
    return true;
}

static enum truth judge(struct judge *j, const struct walk_call *call) {
    const struct call_conditions *c = j->conditions;
    const struct plain_value *v = j->begun.at[call->value].values;
    struct condition_operand ignored;
    enum truth all = TRUTH_TRUE;
    for (size_t i = 0; i < c->asked.count; i++) {
        const struct condition *condition = c->asked.at[i].condition;
        struct ended e = {j, call, condition, v};
        for (size_t k = 0; condition_operand(condition, k, &ignored); k++)
            v++;
        if (!c->asked.at[i].functions[call->function] || all == TRUTH_FALSE)
            continue;
        const struct condition_source source = {find, &e};
        const enum truth t = condition_test(condition, &source);
        all = t == TRUTH_TRUE ? all : t;
    }
    return all;
}

static void on_close(void *ctx, const struct walk_call *call) {
    struct judge *j = ctx;
    if (call->value == WALK_NONE || !call_conditions_concern(j->conditions, call->function))
        return;
    const enum truth t = judge(j, call);
    forget_begun(&j->begun.at[call->value]);
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
