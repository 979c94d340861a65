/* See plain_calls.h: finds which events are plain on the present stack. */
#include "trace/plain_calls.h"

#include "trace/stacks.h"

void calls_plain_none(struct calls_plain *p) {
    p->top = p->lowest = p->last = &p->none;
    p->size = p->reach = 0;
}

/* Sets RANGE without the thread's own stack: only what is on TOP's side of that. */
static void set_range_beside_native(struct calls_plain *p, const struct stacks *s,
                                    struct span range, uint64_t top) {
    uint64_t end = s->native_low + s->native_size;
    if (s->native_size && top >= end && range.start < end)
        range.start = end;
    if (s->native_size && top < end && range.end > s->native_low)
        range.end = s->native_low;
    p->low = range.start;
    p->size = range.end > range.start ? range.end - range.start : 0;
}

/* Sets the range of stack pointers that are on STACK, the current one, for which stacks_find()
 * would change nothing. False: there are none. */
static bool set_range(struct calls_plain *p, const struct stacks *s, const struct stack *stack) {
    p->reach = (uint64_t)1 << 63;
    if (s->native_size && s->current == s->native) {
        p->low = s->native_low;
        p->size = s->native_size;
        return true;
    }
    if (stack->bounds.end) {
        set_range_beside_native(p, s, stack->bounds, stack->bounds.end);
        return stack->thread == s->thread;
    }
    if (s->bounded || !stack->count)
        return false;
    p->reach = SURE_BELOW;
    set_range_beside_native(p, s, (struct span){0, UINT64_MAX}, s->top[s->current]);
    return true;
}

void calls_plain_begin(struct calls_plain *p, const struct stacks *s) {
    calls_plain_none(p);
    if (s->current >= s->count || s->inner.count)
        return;
    const struct stack *stack = &s->at[s->current];
    if (!stack->room || (stack->linked_to && !stack->count))
        return;
    if (!set_range(p, s, stack)) {
        p->size = 0;
        return;
    }
    struct call *below = stack->frames - 1;
    p->top = below + stack->count;
    p->lowest = below + stack->linked_depth;
    if (!stack->linked_depth && stack->linked_to)
        p->lowest = stack->frames;
    p->last = below + stack->room;
    p->paused = stack->paused;
    p->stack = stack->number;
    p->thread = s->thread;
}

void calls_plain_end(struct calls_plain *p, struct stacks *s) {
    if (!p->size)
        return;
    uint32_t i = s->current;
    struct stack *stack = &s->at[i];
    stack->count = (uint32_t)(p->top + 1 - stack->frames);
    s->base[i] = stack->frames[0].sp; /* without frames: of its latest call */
    s->top[i] = stack->count ? p->top->sp : s->base[i];
    calls_plain_none(p);
}
