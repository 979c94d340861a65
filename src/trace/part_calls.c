/* Feeds events to struct calls, and keeps frames until their time. */
#include "trace/part_calls.h"

#include <string.h>

#include "trace/plain_calls.h"

struct part_calls {
    struct calls *calls;
    uint64_t low, size; /* the thread's own stack */
    uint64_t reached;   /* calls that had begun before the first event and are open are above this
                           address of the own stack */
    uint64_t latest;    /* ticks */
    bool alone;         /* during part_calls_list() */
    frame_list *list;   /* likewise */
    ARRAY(struct trace_frames) due; /* in order of time; owns their lists */
};

static inline bool is_own(const struct part_calls *o, uint64_t sp) {
    return !o->size || sp - o->low - 1 < o->size;
}

static void add(void *ctx, struct call *call, struct call *parent, uint64_t paused) {
    (void)parent;
    (void)paused;
    struct part_calls *o = ctx;
    if (o->alone || is_own(o, call->sp))
        ARRAY_PUSH(o->list, ((struct trace_frame){call->id, call->sp}));
}

struct part_calls *part_calls_new(const struct trace_thread *thread) {
    static const struct calls_ops none = {0};
    struct part_calls *o = mem_alloc(sizeof *o);
    o->low = thread->stack_low;
    o->size = thread->stack_high - thread->stack_low;
    o->calls = calls_new(thread, &none, o);
    return o;
}

void part_calls_free(struct part_calls *o) {
    if (!o)
        return;
    for (size_t i = 0; i < o->due.count; i++)
        free((void *)o->due.at[i].frames);
    ARRAY_FREE(&o->due);
    calls_free(o->calls);
    free(o);
}

/* FRAMES are older than the latest event. Those among them that may be open still are callers of
 * all calls that are known. */
static void put_below(struct part_calls *o, const struct trace_frames *frames) {
    frame_list all = {0}, known = {0};
    part_calls_list(o, true, &known);
    for (uint32_t i = 0; i < frames->count; i++) {
        const struct trace_frame *f = &frames->frames[i];
        bool is_known = false;
        for (size_t k = 0; k < known.count && !is_known; k++)
            is_known = known.at[k].sp == f->sp;
        if (!is_known && f->sp > o->reached)
            ARRAY_PUSH(&all, *f);
    }
    for (size_t k = 0; k < known.count; k++)
        ARRAY_PUSH(&all, known.at[k]);
    calls_frames(o->calls, o->latest,
                 &(struct trace_frames){frames->stream, o->latest, (uint32_t)all.count, all.at});
    ARRAY_FREE(&all);
    ARRAY_FREE(&known);
}

static void apply_due(struct part_calls *o, uint64_t ticks) {
    size_t n = 0;
    for (; n < o->due.count && o->due.at[n].ticks <= ticks; n++) {
        calls_frames(o->calls, o->due.at[n].ticks, &o->due.at[n]);
        free((void *)o->due.at[n].frames);
    }
    if (!n)
        return;
    o->due.count -= n;
    memmove(o->due.at, o->due.at + n, o->due.count * sizeof *o->due.at);
}

static inline void take(struct part_calls *o, uint64_t ticks, uint32_t site, uint64_t sp) {
    enum event_kind kind = (enum event_kind)(site & 3);
    uint32_t id = site >> 2;
    if (o->due.count && o->due.at[0].ticks <= ticks)
        apply_due(o, ticks);
    uint64_t reached = sp - (kind == EVENT_CONTROL);
    if (id < OWN_EVENTS && reached > o->reached && is_own(o, sp))
        o->reached = reached;
    const struct call *plain = NULL;
    if (kind == EVENT_ENTRY)
        plain = calls_enter(o->calls, ticks, id, sp);
    else if (kind != EVENT_CONTROL)
        plain = calls_leave(o->calls, ticks, kind, sp);
    if (!plain && !(kind == EVENT_CONTROL && is_pause_event(id)))
        calls_event(o->calls, ticks, id, kind, sp);
    o->latest = ticks;
}

void part_calls_events(struct part_calls *o, const struct trace_event *events, size_t count) {
    for (size_t i = 0; i < count; i++)
        take(o, events[i].ticks, events[i].site, events[i].sp);
}

void part_calls_ring(struct part_calls *o, const struct event *at, size_t count, uint64_t latest) {
    for (size_t i = 0; i < count; i++)
        take(o, event_ticks(&at[i], latest), at[i].site, event_sp(&at[i]));
}

void part_calls_lost(struct part_calls *o, uint64_t ticks) { calls_gap(o->calls, ticks); }

void part_calls_frames(struct part_calls *o, const struct trace_frames *frames) {
    if (frames->ticks < o->latest) {
        put_below(o, frames);
        return;
    }
    ARRAY_PUSH(&o->due, calls_frames_copy(frames));
}

void part_calls_pass(struct part_calls *o, uint64_t ticks) { apply_due(o, ticks); }

uint64_t part_calls_latest(const struct part_calls *o) { return o->latest; }

uint64_t part_calls_reached(const struct part_calls *o) { return o->reached; }

void part_calls_list(struct part_calls *o, bool alone, frame_list *ret) {
    o->alone = alone;
    o->list = ret;
    calls_each_open(o->calls, add);
    o->list = NULL;
}

const struct trace_frames *part_calls_due(const struct part_calls *o, size_t *ret_count) {
    *ret_count = o->due.count;
    return o->due.at;
}
