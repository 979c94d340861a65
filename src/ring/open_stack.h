/*
 * The calls that are open on a thread's own stack, by its events: enough to say what a ring that
 * was overwritten has forgotten. A call is gone as soon as an event stands at its stack pointer or
 * above. Other stacks (coroutines, signal stacks) are not followed. Drainer only.
 */
#pragma once

#include "base/mem.h"
#include "trace/format.h"

struct open_call {
    uint64_t sp, ticks;
    uint32_t id;
};

struct open_stack {
    uint64_t low, bytes; /* the thread's own; 0: unknown, all stack pointers count */
    uint64_t highest;    /* of the events since the calls below were listed */
    uint64_t opened_ticks;
    bool unsure;                   /* events were missed: calls that are open may be missing */
    ARRAY(struct open_call) calls; /* the outermost first */
};

/* Takes an event of a function. */
static inline void open_stack_event(struct open_stack *s, const struct trace_event *e) {
    enum event_kind kind = (enum event_kind)(e->site & 3);
    if (s->bytes && e->sp - s->low >= s->bytes)
        return;
    bool takes_equal = kind != EVENT_CONTROL;
    while (s->calls.count && (s->calls.at[s->calls.count - 1].sp < e->sp ||
                              (takes_equal && s->calls.at[s->calls.count - 1].sp == e->sp)))
        s->calls.count--;
    if (e->sp > s->highest)
        s->highest = e->sp;
    if (kind == EVENT_ENTRY)
        ARRAY_PUSH(&s->calls, ((struct open_call){e->sp, e->ticks, e->site >> 2}));
}

/* Events were missed. */
static inline void open_stack_forget(struct open_stack *s) {
    s->calls.count = 0;
    s->unsure = true;
}

/* FRAMES, of the thread, are all calls that are open at their time. To be called again and again;
 * only new ones count. */
static inline void open_stack_list(struct open_stack *s, const struct trace_frames *frames) {
    if (!frames->count || frames->ticks == s->opened_ticks)
        return;
    s->opened_ticks = frames->ticks;
    s->calls.count = 0;
    s->highest = 0;
    s->unsure = false;
}
