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
    struct watched *result;
    struct event events[BATCH];
};

static void fire(struct watch *w, const char *why) {
    if (!w->result->hits++)
        w->result->why = why;
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
    if (over && rule && rule->at_exit && call->end - call->start > rule->longer_ticks + paused)
        fire(w, rule->at_exit);
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
    begin_calls(w);
    return w;
}

void watch_free(struct watch *w) {
    if (!w)
        return;
    calls_free(w->calls);
    free(w);
}

static void take(struct watch *w, const struct event *e, uint64_t latest) {
    uint32_t id = e->site >> 2;
    enum event_kind kind = (enum event_kind)(e->site & 3);
    const struct trigger_rule *rule = NULL;
    if (kind == EVENT_ENTRY)
        rule = trigger_rule_of(w->table, id);
    if (rule && rule->at_entry)
        fire(w, rule->at_entry);
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
    skip(w, ring_oldest(handle, head));
    while (w->tail < head) {
        uint64_t n = head - w->tail < sizeof w->events ? head - w->tail : sizeof w->events;
        uint64_t from = w->tail, end = from + n;
        skip(w, ring_copy(handle, from, end, w->events));
        for (uint64_t at = w->tail; at < end; at += EVENT_BYTES)
            take(w, &w->events[(at - from) / EVENT_BYTES], latest);
        w->tail = end;
        w->last_clock = event_ticks(&w->events[n / EVENT_BYTES - 1], latest);
    }
    if (head == had && latest - w->last_clock > EPOCH_TICKS) /* next events are compared with it */
        w->last_clock = latest - EPOCH_TICKS / 2;
    uint64_t fill = (head - had) * 100 / handle->ring_bytes;
    ret->fill = head == had ? 0 : fill < 100 ? (unsigned)fill + 1 : 100;
}
