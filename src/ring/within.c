/* Follows the outermost open call of a function by its stack pointer, as trace/calls.h does. */
#include "ring/within.h"

#include "base/mem.h"

struct within {
    const struct triggers *triggers;
    const struct trigger_table *table; /* of the present events */
    uint64_t stack_low, stack_bytes;   /* the thread's own; 0: unknown */
    bool open;
    uint32_t id; /* of the open call */
    uint64_t sp;
    bool has_chain;           /* of the entry that comes next */
    struct trace_event chain; /* not written yet */
};

struct within *within_new(const struct triggers *triggers, const struct trace_thread *thread) {
    struct within *w = mem_alloc(sizeof *w);
    w->triggers = triggers;
    w->stack_low = thread->stack_low;
    w->stack_bytes = thread->stack_high - thread->stack_low;
    return w;
}

void within_free(struct within *w) { free(w); }

static bool is_own(const struct within *w, uint64_t sp) {
    return !w->stack_bytes || sp - w->stack_low < w->stack_bytes;
}

static bool is_wanted(const struct within *w, uint32_t id) {
    return trigger_rule_of(w->table, id) != NULL;
}

static void open_call(struct within *w, uint32_t id, uint64_t sp) {
    w->open = true;
    w->id = id;
    w->sp = sp;
}

/* Whether E shows that the open call has been left without an event (exception, longjmp). */
static bool has_left(const struct within *w, const struct trace_event *e, enum event_kind kind) {
    return w->open && is_own(w, e->sp) == is_own(w, w->sp) &&
           (kind == EVENT_ENTRY ? e->sp >= w->sp : e->sp > w->sp);
}

/* An event that says nothing about calls. */
static size_t pass_other(struct within *w, const struct trace_event *e, struct trace_event *out) {
    w->has_chain = e->site >> 2 == CHAIN_EVENT;
    w->chain = *e;
    if (w->has_chain || (is_pause_event(e->site >> 2) && !w->open))
        return 0;
    *out = *e;
    return 1;
}

static size_t pass(struct within *w, const struct trace_event *e, struct trace_event *out) {
    enum event_kind kind = (enum event_kind)(e->site & 3);
    uint32_t id = e->site >> 2;
    size_t n = 0;
    if (kind == EVENT_CONTROL && id >= OWN_EVENTS)
        return pass_other(w, e, out);
    if (has_left(w, e, kind)) { /* the event that shows it may be left out */
        out[n++] = (struct trace_event){e->ticks, w->id << 2 | EVENT_CONTROL, w->sp + 1};
        w->open = false;
    }
    if (!w->open && kind == EVENT_ENTRY && is_wanted(w, id))
        open_call(w, id, e->sp);
    if (w->open && w->has_chain && kind == EVENT_ENTRY)
        out[n++] = w->chain;
    w->has_chain = false;
    if (w->open)
        out[n++] = *e;
    bool ends = kind == EVENT_RETURN || kind == EVENT_TAIL;
    w->open = w->open && !(ends && e->sp == w->sp);
    return n;
}

size_t within_pass(struct within *w, const struct trace_event *events, size_t count,
                   struct trace_event *out) {
    size_t n = 0;
    w->table = triggers_table(w->triggers);
    for (size_t i = 0; i < count; i++)
        n += pass(w, &events[i], out + n);
    return n;
}

void within_frames(struct within *w, struct trace_frames *frames) {
    uint32_t first = 0;
    w->table = triggers_table(w->triggers);
    while (first < frames->count && !is_wanted(w, frames->frames[first].id))
        first++;
    w->open = first < frames->count;
    if (w->open)
        open_call(w, frames->frames[first].id, frames->frames[first].sp);
    frames->count -= first;
    memmove((void *)frames->frames, frames->frames + first, frames->count * sizeof *frames->frames);
}
