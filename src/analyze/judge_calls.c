/* Judges calls in a walk of its own: the result of a call is known at its end only, but views must
 * know at its begin whether it is shown. */
#include "analyze/judge_calls.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/call_values.h"
#include "values/condition.h"

struct binding {
    const struct capture *capture; /* the one that was met last; NULL: none so far */
    struct operand_reader *readers;
};

struct asked {
    const struct condition *condition;
    struct binding at_entry, at_return;
};

struct begun {                   /* an open call */
    struct plain_value **values; /* by condition; NULL: the function does not have it */
};

struct judge {
    struct call_conditions *conditions;
    struct call_values *at_entry, *at_return;
    ARRAY(struct asked) asked;
    ARRAY(struct begun) begun; /* by value of walk_call */
    ARRAY(uint32_t) unused;
    uint64_t unknown;
};

static struct plain_value *values_new(const struct condition *c) {
    return mem_alloc((condition_operand_count(c) + 1) * sizeof(struct plain_value));
}

/* Reads what A needs of what was recorded at POINT. */
static void read_values(struct call_values *source, const struct call_point *point, struct asked *a,
                        struct plain_value *values) {
    struct binding *b = point->kind == EVENT_RETURN ? &a->at_return : &a->at_entry;
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
    const struct call_point point = {call->stream, call->id, EVENT_ENTRY, call->start_ns};
    for (size_t i = 0; i < j->asked.count; i++) {
        struct asked *a = &j->asked.at[i];
        if (!call_conditions_has(j->conditions, i, call->function))
            continue;
        ret->values[i] = values_new(a->condition);
        if (!call->before)
            read_values(j->at_entry, &point, a, ret->values[i]);
        condition_keep(a->condition, ret->values[i]);
    }
}

static uint32_t on_open(void *ctx, const struct walk_call *call) {
    struct judge *j = ctx;
    if (!call_conditions_concern(j->conditions, call->function))
        return WALK_NONE;
    if (!j->unused.count) {
        struct begun b = {mem_alloc(j->asked.count * sizeof *b.values)};
        ARRAY_PUSH(&j->unused, (uint32_t)j->begun.count);
        ARRAY_PUSH(&j->begun, b);
    }
    const uint32_t value = j->unused.at[--j->unused.count];
    begin_call(j, call, &j->begun.at[value]);
    return value;
}

static enum truth judge_one(struct judge *j, const struct walk_call *call, struct asked *a,
                            const struct plain_value *begun) {
    const struct call_point point = {call->end_stream, call->id, EVENT_RETURN, call->end_ns};
    AUTO_FREE struct plain_value *values = values_new(a->condition);
    memcpy(values, begun, condition_operand_count(a->condition) * sizeof *values);
    if (call->how == CALL_RETURNED && condition_has_result(a->condition))
        read_values(j->at_return, &point, a, values);
    return condition_test(a->condition, values);
}

static enum truth judge_all(struct judge *j, const struct walk_call *call, struct begun *begun) {
    enum truth all = TRUTH_TRUE;
    for (size_t i = 0; i < j->asked.count; i++) {
        struct asked *a = &j->asked.at[i];
        if (!begun->values[i])
            continue;
        const enum truth t = judge_one(j, call, a, begun->values[i]);
        all = t == TRUTH_TRUE || all == TRUTH_FALSE ? all : t;
        condition_forget(a->condition, begun->values[i]);
        free(steal(begun->values[i]));
    }
    return all;
}

static void on_close(void *ctx, const struct walk_call *call) {
    struct judge *j = ctx;
    if (!call_conditions_concern(j->conditions, call->function))
        return;
    const enum truth t = judge_all(j, call, &j->begun.at[call->value]);
    ARRAY_PUSH(&j->unused, call->value);
    j->unknown += t == TRUTH_UNKNOWN;
    if (t != TRUTH_TRUE)
        call_conditions_leave_out(j->conditions, call->stream, call->start_ns);
}

static void judge_done(struct judge *j) {
    call_values_free(j->at_entry);
    call_values_free(j->at_return);
    for (size_t i = 0; i < j->begun.count; i++)
        free(j->begun.at[i].values);
    for (size_t i = 0; i < j->asked.count; i++) {
        free(j->asked.at[i].at_entry.readers);
        free(j->asked.at[i].at_return.readers);
    }
    ARRAY_FREE(&j->begun);
    ARRAY_FREE(&j->unused);
    ARRAY_FREE(&j->asked);
}

uint64_t judge_calls(const struct source *source) {
    const struct view_filter *filter = source->filter;
    struct view_filter all = {.spec = {.until_ns = UINT64_MAX},
                              .names = source->names,
                              .recorded_depth = filter->recorded_depth,
                              .recorded_ns = filter->recorded_ns};
    struct judge j = {.conditions = filter->conditions};
    const struct visitor visitor = {.ctx = &j, .no_self = true, .open = on_open, .close = on_close};
    struct source plain = *source;
    const struct condition *condition;
    for (size_t i = 0; (condition = call_conditions_get(j.conditions, i)); i++)
        ARRAY_PUSH(&j.asked, ((struct asked){.condition = condition}));
    plain.filter = &all;
    plain.on_progress = NULL;
    plain.on_damage = NULL;
    j.at_entry = call_values_new(source->reader, source->names);
    j.at_return = call_values_new(source->reader, source->names);
    walk_all(&plain, &visitor);
    call_conditions_end(j.conditions);
    judge_done(&j);
    return j.unknown;
}
