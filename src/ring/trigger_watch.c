/* Looks for triggers in one thread's ring. */
#include "ring/trigger_watch.h"

#include <stdlib.h>

#include "arch/clock.h"
#include "ring/operand_values.h"
#include "ring/rings.h"
#include "trace/calls.h"

enum { BATCH = 512 };

struct watch {
    struct calls *calls; /* calls of functions with triggers, and all their callees */
    struct trace_thread thread;
    uint64_t tail, last_clock;
    unsigned open;         /* measured calls that are open */
    bool met_other_stacks; /* `calls` has seen other stacks than the thread's own */
    const struct trigger_table *table;
    const struct pauses *pauses; /* of the thread */
    struct open_stack stack;
    struct fired { /* the first call of the last look that has fired */
        bool any, ended;
        struct open_call call;
        struct trace_event end;          /* if it has fired at its end */
        uint64_t at;                     /* position of the event that has fired */
        ARRAY(struct open_call) callers; /* open then, the outermost first */
    } fired;
    uint64_t at;                       /* of the present event */
    struct value_slots slots;          /* values that are being read */
    const struct event_values *values; /* of the present event: `found`, or NULL */
    struct event_values found;
    uint64_t sp; /* of the present event */
    struct watched *result;
    struct event events[BATCH];
};

/* The values of an open call's entry, for triggers that are judged at its end. */
struct held {
    const struct numbered_capture *capture; /* NULL: the entry had no values */
    struct plain_value **values;            /* by the capture's triggers; NULL: not needed */
};

enum { MEASURED = 1 }; /* call.user: without values; else its struct held */

/* CALL has fired at its entry, or at END. */
static void fire(struct watch *w, const char *why, const struct open_call *call,
                 const struct trace_event *end) {
    struct fired *f = &w->fired;
    if (w->result->hits++)
        return;
    w->result->why = why;
    f->any = true;
    f->ended = end != NULL;
    f->call = *call;
    f->end = end ? *end : (struct trace_event){0};
    f->at = w->at;
    f->callers.count = 0;
    for (size_t i = 0; i < w->stack.calls.count && w->stack.calls.at[i].sp > call->sp; i++)
        ARRAY_PUSH(&f->callers, w->stack.calls.at[i]);
}

static bool is_measured(const struct trigger_rule *rule) {
    return rule && (rule->at_exit || rule->asks_at_exit);
}

/* ---- conditions ---- */

static struct held *hold(const struct event_values *v) {
    struct held *held = mem_alloc(sizeof *held);
    held->capture = v ? v->capture : NULL;
    const size_t count = v ? v->capture->triggers.count : 0;
    held->values = mem_alloc((count + 1) * sizeof *held->values);
    for (size_t i = 0; i < count; i++) {
        const struct trigger_condition *t = &v->capture->triggers.at[i];
        if (!t->at_exit)
            continue;
        held->values[i] = operand_values_new(t->condition);
        operand_values_read(t->condition, t->readers, v, held->values[i]);
    }
    return held;
}

static struct held *held_of(const struct call *call) {
    return call->user > MEASURED ? (struct held *)(uintptr_t)call->user : NULL;
}

static void let_go(struct held *held) {
    for (size_t i = 0; held && held->capture && i < held->capture->triggers.count; i++)
        if (held->values[i])
            operand_values_free(held->capture->triggers.at[i].condition, held->values[i]);
    if (held)
        free(held->values);
    free(held);
}

/* T's number in N, or −1. */
static int trigger_in(const struct numbered_capture *n, const struct trigger_condition *t) {
    for (size_t i = 0; n && i < n->triggers.count; i++)
        if (n->triggers.at[i].text == t->text)
            return (int)i;
    return -1;
}

/* Whether T's condition holds for a call with the values ENTRY that ends with V, or without. */
static bool holds_at_exit(const struct trigger_condition *t, const struct held *entry,
                          const struct event_values *v) {
    struct plain_value *none = operand_values_new(t->condition);
    struct plain_value *results = operand_values_new(t->condition);
    const int of_entry = trigger_in(entry->capture, t);
    const int of_exit = v ? trigger_in(v->capture, t) : -1;
    if (of_exit >= 0)
        operand_values_read(t->condition, v->capture->triggers.at[of_exit].readers, v, results);
    const struct plain_value *values = of_entry >= 0 ? entry->values[of_entry] : none;
    const bool holds = operand_values_test(t->condition, values, results) == TRUTH_TRUE;
    operand_values_free(t->condition, none);
    operand_values_free(t->condition, results);
    return holds;
}

/* The trigger that fires as CALL ends after TICKS; NULL: none. */
static const char *why_at_exit(const struct watch *w, const struct call *call, uint64_t ticks) {
    const struct held *entry = held_of(call);
    const bool returns = call->how == CALL_RETURNED && w->sp == call->sp && w->values &&
                         w->values->capture->id == call->id &&
                         w->values->capture->capture.kind == EVENT_RETURN;
    const struct event_values *v = returns ? w->values : NULL;
    const struct numbered_capture *n = entry && entry->capture ? entry->capture
                                       : v                     ? v->capture
                                                               : NULL;
    for (size_t i = 0; entry && n && i < n->triggers.count; i++) {
        const struct trigger_condition *t = &n->triggers.at[i];
        const bool long_enough = !t->longer_ticks || ticks > t->longer_ticks;
        if (t->at_exit && long_enough && holds_at_exit(t, entry, v))
            return t->text;
    }
    return NULL;
}

/* The trigger that fires at the present event, an entry with values; NULL: none. */
static const char *why_at_entry(const struct watch *w) {
    const struct numbered_capture *n = w->values->capture;
    const char *why = NULL;
    for (size_t i = 0; !why && i < n->triggers.count; i++) {
        const struct trigger_condition *t = &n->triggers.at[i];
        if (t->at_exit)
            continue;
        struct plain_value *values = operand_values_new(t->condition);
        operand_values_read(t->condition, t->readers, w->values, values);
        why = condition_test(t->condition, values) == TRUTH_TRUE ? t->text : NULL;
        operand_values_free(t->condition, values);
    }
    return why;
}

/* ---- calls ---- */

static void on_open(void *ctx, struct call *call, struct call *parent) {
    (void)parent;
    struct watch *w = ctx;
    const struct trigger_rule *rule = trigger_rule_of(w->table, call->id);
    w->met_other_stacks |= call->stack || !w->thread.stack_high;
    if (!is_measured(rule))
        return;
    call->user = rule->asks_at_exit ? (uint64_t)(uintptr_t)hold(w->values) : MEASURED;
    w->open++;
}

/* The trigger that fires as CALL ends; NULL: none. */
static const char *why_at_end(const struct watch *w, const struct call *call) {
    const bool over =
        call->how == CALL_RETURNED || call->how == CALL_TAIL || call->how == CALL_UNWOUND;
    const struct trigger_rule *rule = over ? trigger_rule_of(w->table, call->id) : NULL;
    if (!rule)
        return NULL;
    const uint64_t paused = pauses_between(w->pauses, call->start, call->end);
    const uint64_t length = call->end - call->start;
    if (rule->at_exit && length > rule->longer_ticks + paused)
        return rule->at_exit;
    return why_at_exit(w, call, length > paused ? length - paused : 0);
}

static void on_close(void *ctx, struct call *call, struct call *parent) {
    (void)parent;
    struct watch *w = ctx;
    if (!call->user)
        return;
    w->open--;
    const char *why = why_at_end(w, call);
    let_go(held_of(call));
    if (!why)
        return;
    const struct trace_event end = {call->end, call->id << 2 | EVENT_RETURN, call->sp};
    fire(w, why, &(struct open_call){call->sp, call->start, call->id}, &end);
}

static void begin_calls(struct watch *w) {
    static const struct calls_ops ops = {.on_open = on_open, .on_close = on_close};
    calls_free(w->calls);
    w->calls = calls_new(&w->thread, &ops, w);
    w->met_other_stacks = false;
}

/* Nothing is measured any more. The knowledge that `calls` has of other stacks becomes wrong while
 * their events are skipped: begins again. */
static void forget_calls(struct watch *w) {
    calls_finish(w->calls, 0, false);
    if (w->met_other_stacks)
        begin_calls(w);
}

struct watch *watch_new(const struct lane_handle *handle) {
    struct watch *w = mem_alloc(sizeof *w);
    w->thread = handle->thread;
    w->thread.name = NULL;
    w->pauses = &handle->pauses;
    w->tail = handle->tail;
    w->last_clock = handle->last_clock;
    w->stack.low = w->thread.stack_low;
    w->stack.bytes = w->thread.stack_high - w->thread.stack_low;
    w->stack.unsure = w->tail > 0;
    begin_calls(w);
    return w;
}

void watch_free(struct watch *w) {
    if (!w)
        return;
    calls_finish(w->calls, 0, false);
    calls_free(w->calls);
    value_slots_done(&w->slots);
    ARRAY_FREE(&w->stack.calls);
    ARRAY_FREE(&w->fired.callers);
    free(w);
}

/* Reads the values of EVENT, or their slots. True: E is such a slot. */
static bool take_values(struct watch *w, const struct event *e, const struct trace_event *event) {
    w->values = NULL;
    w->sp = event->sp;
    if (is_capture_slot(e)) {
        value_slots_take(&w->slots, e);
        return true;
    }
    if (w->slots.capture && value_slots_end(&w->slots, event, &w->found))
        w->values = &w->found;
    return false;
}

static void take(struct watch *w, const struct event *e, uint64_t latest) {
    const struct trace_event event = {event_ticks(e, latest), e->site, event_sp(e)};
    const uint32_t id = e->site >> 2;
    const enum event_kind kind = (enum event_kind)(e->site & 3);
    const struct trigger_rule *rule = NULL;
    const char *why = NULL;
    if (take_values(w, e, &event))
        return;
    if (id < OWN_EVENTS)
        open_stack_event(&w->stack, &event);
    if (kind == EVENT_ENTRY)
        rule = trigger_rule_of(w->table, id);
    if (rule && rule->at_entry)
        why = rule->at_entry;
    else if (kind == EVENT_ENTRY && w->values)
        why = why_at_entry(w);
    if (why)
        fire(w, why, &(struct open_call){event.sp, event.ticks, id}, NULL);
    if (!w->open && !is_measured(rule))
        return;
    calls_event(w->calls, event.ticks, id, kind, event.sp);
    if (!w->open)
        forget_calls(w);
}

static void skip(struct watch *w, uint64_t to) {
    if (to <= w->tail)
        return;
    w->result->skipped += (to - w->tail) / EVENT_BYTES;
    w->tail = to;
    w->slots.capture = NULL;
    w->values = NULL;
    open_stack_forget(&w->stack);
    forget_calls(w);
}

void watch_look(struct watch *w, struct lane_handle *handle, const struct trigger_table *table,
                struct watched *ret) {
    *ret = (struct watched){0};
    w->result = ret;
    w->table = table;
    w->slots.captures = handle->values.captures;
    uint64_t head = ring_head(handle, w->tail, w->last_clock), had = w->tail;
    uint64_t latest = clock_ticks() + SKEW_TICKS;
    pauses_take(&handle->pauses);
    if (handle->opened.stream == handle->stream)
        open_stack_list(&w->stack, &handle->opened);
    skip(w, ring_oldest(handle, head));
    while (w->tail < head) {
        uint64_t n = head - w->tail < sizeof w->events ? head - w->tail : sizeof w->events;
        uint64_t from = w->tail, end = from + n;
        skip(w, ring_copy(handle, from, end, w->events));
        for (w->at = w->tail; w->at < end; w->at += EVENT_BYTES)
            take(w, &w->events[(w->at - from) / EVENT_BYTES], latest);
        w->tail = end;
        w->last_clock = event_ticks(&w->events[n / EVENT_BYTES - 1], latest);
    }
    if (head == had && latest - w->last_clock > EPOCH_TICKS) /* next events are compared with it */
        w->last_clock = latest - EPOCH_TICKS / 2;
    uint64_t fill = (head - had) * 100 / handle->ring_bytes;
    ret->fill = head == had ? 0 : fill < 100 ? (unsigned)fill + 1 : 100;
}

static void recall_event(struct watch_memory *m, uint64_t ticks, uint32_t site, uint64_t sp) {
    ARRAY_PUSH(&m->events, ((struct trace_event){ticks, site, sp}));
}

static void recall_entries(const struct open_call *calls, size_t count, uint64_t ticks,
                           struct watch_memory *m) {
    for (size_t i = 0; i < count && calls[i].ticks < ticks; i++)
        recall_event(m, calls[i].ticks, calls[i].id << 2 | EVENT_ENTRY, calls[i].sp);
}

/* The event that has fired is in the ring: so are the ends of all calls that were open then. */
static void recall_at_fire(const struct watch *w, uint64_t ticks, struct watch_memory *m) {
    const struct fired *f = &w->fired;
    recall_entries(f->callers.at, f->callers.count, ticks, m);
    recall_entries(&f->call, 1, ticks, m);
}

/* It is not: its call comes before those that have begun since, among the open ones. */
static void recall_open(const struct watch *w, uint64_t ticks, struct watch_memory *m) {
    const struct open_call *calls = w->stack.calls.at;
    const struct fired *f = &w->fired;
    size_t count = w->stack.calls.count, before = 0;
    while (f->any && f->ended && before < count && calls[before].ticks < f->call.ticks)
        before++;
    recall_entries(calls, before, ticks, m);
    if (f->any && f->ended && f->end.ticks < ticks) {
        recall_entries(&f->call, 1, ticks, m);
        recall_event(m, f->end.ticks, f->end.site, f->end.sp);
    }
    recall_entries(calls + before, count - before, ticks, m);
}

static void recall_opened(const struct watch *w, const struct trace_frames *opened,
                          struct watch_memory *m) {
    for (uint32_t i = 0; i < opened->count && opened->ticks == w->stack.opened_ticks; i++)
        if (opened->frames[i].sp > w->stack.highest)
            ARRAY_PUSH(&m->still_opened, opened->frames[i]);
}

void watch_recall(const struct watch *w, const struct lane_handle *handle, uint64_t at,
                  uint64_t ticks, struct watch_memory *ret) {
    *ret = (struct watch_memory){.known = !w->stack.unsure && at <= w->tail};
    if (w->fired.any && w->fired.at >= at)
        recall_at_fire(w, ticks, ret);
    else
        recall_open(w, ticks, ret);
    recall_opened(w, &handle->opened, ret);
}
