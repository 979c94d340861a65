/* A call is known by its function and its stack pointer, from its entry to its exit. */
#include "ring/conditions.h"

#include "ring/open_stack.h"
#include "ring/operand_values.h"

enum { MOST_WAITING = 1 << 20, MOST_LEFT_OUT = 1 << 16 };

struct key {
    uint32_t id;
    uint64_t sp;
};

struct asked_call { /* whose condition has its result */
    struct key key;
    size_t entry; /* in `waiting` */
    const struct condition *condition;
    struct plain_value *values; /* as at its entry; owned */
};

struct waiting {
    struct trace_event event;
    bool left_out, shows_end; /* shows_end: of another call, whose own exit never came */
};

struct call_judge {
    uint64_t stack_low, stack_high;
    ARRAY(struct key) left_out; /* open calls whose entries were not written */
    ARRAY(struct asked_call) open;
    ARRAY(struct waiting) waiting;
    size_t next; /* of those */
    struct open_stack written;
};

struct call_judge *call_judge_new(const struct trace_thread *thread) {
    struct call_judge *j = mem_alloc(sizeof *j);
    j->stack_low = thread->stack_low;
    j->stack_high = thread->stack_high;
    j->written.low = thread->stack_low + 1;
    j->written.bytes = thread->stack_high - thread->stack_low;
    return j;
}

static void forget_call(struct asked_call *call) {
    operand_values_free(call->condition, call->values);
}

void call_judge_release(struct call_judge *j) {
    for (size_t i = 0; i < j->open.count; i++)
        forget_call(&j->open.at[i]);
    j->open.count = 0;
}

void call_judge_free(struct call_judge *j) {
    if (!j)
        return;
    call_judge_release(j);
    ARRAY_FREE(&j->left_out);
    ARRAY_FREE(&j->open);
    ARRAY_FREE(&j->waiting);
    ARRAY_FREE(&j->written.calls);
    free(j);
}

/* ---- judging ---- */

/* Reads what the condition of V's capture needs. */
static void read_values(const struct event_values *v, struct plain_value *ret) {
    operand_values_read(v->capture->condition, v->capture->readers, v, ret);
}

static enum truth test_entry(const struct event_values *v) {
    const struct condition *c = v->capture->condition;
    struct plain_value *values = operand_values_new(c);
    read_values(v, values);
    const enum truth truth = condition_test(c, values);
    operand_values_free(c, values);
    return truth;
}

/* V: of the return; NULL: it has none. */
static bool holds_at_end(const struct asked_call *call, const struct event_values *v) {
    const struct condition *c = call->condition;
    struct plain_value *results = operand_values_new(c);
    if (v && v->capture->condition == c)
        read_values(v, results);
    const bool holds = operand_values_test(c, call->values, results) == TRUTH_TRUE;
    operand_values_free(c, results);
    return holds;
}

/* ---- open calls ---- */

static bool is_same(const struct key *a, const struct key *b) {
    return a->id == b->id && a->sp == b->sp;
}

static bool is_on_stack(const struct call_judge *j, uint64_t sp) {
    return sp > j->stack_low && sp <= j->stack_high;
}

/* Whether the call A is over, as the call B begins. */
static bool is_over(const struct call_judge *j, const struct key *a, const struct key *b) {
    return is_same(a, b) || (is_on_stack(j, a->sp) && is_on_stack(j, b->sp) && a->sp < b->sp);
}

static void end_open(struct call_judge *j, size_t i, bool holds) {
    struct asked_call *call = &j->open.at[i];
    j->waiting.at[call->entry].left_out = !holds;
    forget_call(call);
    ARRAY_REMOVE(&j->open, i);
}

/* Calls that have ended without an event are over when another one begins above them. Without a
 * result they do not meet their conditions. */
static void forget_over(struct call_judge *j, const struct key *key) {
    while (j->left_out.count && is_over(j, &j->left_out.at[j->left_out.count - 1], key))
        j->left_out.count--;
    while (j->open.count && is_over(j, &j->open.at[j->open.count - 1].key, key))
        end_open(j, j->open.count - 1, false);
}

/* Whether E shows that another call is over without an exit of its own (exception, longjmp). */
static bool shows_end(const struct call_judge *j, const struct trace_event *e) {
    const struct open_stack *s = &j->written;
    if (e->site >> 2 >= OWN_EVENTS || !s->calls.count || e->sp - s->low >= s->bytes)
        return false;
    const struct open_call *top = &s->calls.at[s->calls.count - 1];
    const bool ends_it =
        (e->site & 3) != EVENT_ENTRY && top->sp == e->sp && top->id == e->site >> 2;
    return top->sp <= e->sp && !ends_it;
}

static void put(struct call_judge *j, const struct trace_event *e, bool left_out) {
    const bool shows = shows_end(j, e);
    if (j->waiting.count - j->next > MOST_WAITING)
        call_judge_release(j);
    if (!left_out || shows)
        ARRAY_PUSH(&j->waiting, ((struct waiting){*e, left_out, shows}));
    if (e->site >> 2 >= OWN_EVENTS)
        return;
    open_stack_event(&j->written, e);
    const size_t top = j->written.calls.count;
    if (left_out && (e->site & 3) == EVENT_ENTRY && top && j->written.calls.at[top - 1].sp == e->sp)
        j->written.calls.count--;
}

static bool take_entry(struct call_judge *j, const struct trace_event *e, const struct key *key,
                       const struct event_values *v) {
    const struct condition *c = v ? v->capture->condition : NULL;
    const enum truth truth = c ? test_entry(v) : TRUTH_UNKNOWN;
    const bool waits = c && condition_has_result(c) && truth == TRUTH_UNKNOWN;
    const bool left_out = c && !waits && truth != TRUTH_TRUE;
    forget_over(j, key);
    put(j, e, left_out);
    if (left_out) {
        if (j->left_out.count == MOST_LEFT_OUT)
            ARRAY_REMOVE(&j->left_out, 0);
        ARRAY_PUSH(&j->left_out, *key);
        return false;
    }
    if (waits) {
        struct asked_call call = {*key, j->waiting.count - 1, c, operand_values_new(c)};
        read_values(v, call.values);
        ARRAY_PUSH(&j->open, call);
    }
    return true;
}

static bool take_exit(struct call_judge *j, const struct trace_event *e, const struct key *key,
                      const struct event_values *v) {
    for (size_t i = j->left_out.count; i-- > 0;) {
        if (!is_same(&j->left_out.at[i], key))
            continue;
        ARRAY_REMOVE(&j->left_out, i);
        put(j, e, true);
        return false;
    }
    for (size_t i = j->open.count; i-- > 0;) {
        if (!is_same(&j->open.at[i].key, key))
            continue;
        const bool without_values = !v && (e->site & 3) == EVENT_RETURN;
        const bool holds = without_values || holds_at_end(&j->open.at[i], v);
        end_open(j, i, holds);
        put(j, e, !holds);
        return holds;
    }
    put(j, e, false);
    return true;
}

bool call_judge_take(struct call_judge *j, const struct trace_event *e,
                     const struct event_values *v) {
    const struct key key = {e->site >> 2, e->sp};
    const enum event_kind kind = (enum event_kind)(e->site & 3);
    if (key.id < OWN_EVENTS && kind == EVENT_ENTRY)
        return take_entry(j, e, &key, v);
    if (key.id < OWN_EVENTS && (kind == EVENT_RETURN || kind == EVENT_TAIL))
        return take_exit(j, e, &key, v);
    put(j, e, false);
    return true;
}

bool call_judge_next(struct call_judge *j, struct trace_event *ret) {
    if (j->open.count)
        return false;
    while (j->next < j->waiting.count) {
        const struct waiting *w = &j->waiting.at[j->next++];
        if (w->left_out && !w->shows_end)
            continue;
        *ret = w->event;
        if (w->left_out) /* control is above what was left */
            *ret = (struct trace_event){w->event.ticks, w->event.site | EVENT_CONTROL,
                                        w->event.sp + 1};
        return true;
    }
    j->next = j->waiting.count = 0;
    return false;
}
