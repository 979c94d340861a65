/* Looks for triggers in one thread's ring. */
#include "ring/watch.h"

#include "arch/clock.h"
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
    uint64_t at; /* of the present event */
    struct watched *result;
    struct event events[BATCH];
};

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

static void on_open(void *ctx, struct call *call, struct call *parent) {
    (void)parent;
    struct watch *w = ctx;
    const struct trigger_rule *rule = trigger_rule_of(w->table, call->id);
    w->met_other_stacks |= call->stack || !w->thread.stack_high;
    if (!rule || !rule->at_exit)
        return;
    call->user = 1;
    w->open++;
}

static void on_close(void *ctx, struct call *call, struct call *parent) {
    (void)parent;
    struct watch *w = ctx;
    if (!call->user)
        return;
    w->open--;
    const struct trigger_rule *rule = trigger_rule_of(w->table, call->id);
    bool over = call->how == CALL_RETURNED || call->how == CALL_TAIL || call->how == CALL_UNWOUND;
    uint64_t paused = pauses_between(w->pauses, call->start, call->end);
    if (!over || !rule || !rule->at_exit || call->end - call->start <= rule->longer_ticks + paused)
        return;
    const struct trace_event end = {call->end, call->id << 2 | EVENT_RETURN, call->sp};
    fire(w, rule->at_exit, &(struct open_call){call->sp, call->start, call->id}, &end);
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
    calls_free(w->calls);
    ARRAY_FREE(&w->stack.calls);
    ARRAY_FREE(&w->fired.callers);
    free(w);
}

static void take(struct watch *w, const struct event *e, uint64_t latest) {
    uint32_t id = e->site >> 2;
    enum event_kind kind = (enum event_kind)(e->site & 3);
    const struct trigger_rule *rule = NULL;
    if (id < OWN_EVENTS)
        open_stack_event(&w->stack,
                         &(struct trace_event){event_ticks(e, latest), e->site, event_sp(e)});
    if (kind == EVENT_ENTRY)
        rule = trigger_rule_of(w->table, id);
    if (rule && rule->at_entry)
        fire(w, rule->at_entry, &(struct open_call){event_sp(e), event_ticks(e, latest), id}, NULL);
    if (!w->open && !(rule && rule->at_exit))
        return;
    calls_event(w->calls, event_ticks(e, latest), id, kind, event_sp(e));
    if (!w->open)
        forget_calls(w);
}

static void skip(struct watch *w, uint64_t to) {
    if (to <= w->tail)
        return;
    w->result->skipped += (to - w->tail) / EVENT_BYTES;
    w->tail = to;
    open_stack_forget(&w->stack);
    forget_calls(w);
}

void watch_look(struct watch *w, struct lane_handle *handle, const struct trigger_table *table,
                struct watched *ret) {
    *ret = (struct watched){0};
    w->result = ret;
    w->table = table;
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
