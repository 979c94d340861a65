/* Stacks inside a thread's own stack, in the variables of a call (stacks.h). */
#include <string.h>

#include "base/search.h"
#include "trace/stacks.h"

/* Whether SP may belong to K: it is in the variables of its call, and near its frames. */
static bool inner_reaches(const struct stacks *s, const struct inner *k, uint64_t sp) {
    enum { ARGUMENTS = 256 }; /* the call's own callees differ so much in their stack pointers */
    const struct stack *host = &s->at[k->host];
    uint64_t below = k->stack == s->current ? REACH_BELOW : SURE_BELOW, low = k->low;
    if (host->count > k->host_count && host->frames[k->host_count].sp > low)
        low = host->frames[k->host_count].sp;
    if (sp <= low + ARGUMENTS || (k->host_count && sp >= host->frames[k->host_count - 1].sp))
        return false;
    return sp + below >= s->top[k->stack] && sp <= s->base[k->stack] + REACH_ABOVE;
}

uint32_t stacks_find_inside(struct stacks *s, uint64_t sp, bool is_entry) {
    uint32_t found = s->native;
    uint64_t best = UINT64_MAX;
    if (!is_entry && s->current < s->count && stack_has_frame(&s->at[s->current], sp))
        return s->current;
    if (!is_entry && stack_has_frame(&s->at[s->native], sp))
        return s->native;
    for (size_t i = 0; i < s->inner.count; i++) {
        const struct inner *k = &s->inner.at[i];
        if (k->host != s->native || s->at[k->host].count < k->host_count)
            continue;
        if (!is_entry && stack_has_frame(&s->at[k->stack], sp))
            return k->stack;
        uint64_t d = stack_distance(s->top[k->stack], sp);
        if (!inner_reaches(s, k, sp) || d > best || (d == best && k->stack != s->current))
            continue;
        best = d;
        found = k->stack;
    }
    return found;
}

static uint32_t frames_above(const struct stack *stack, uint64_t sp) {
    return (uint32_t)SEARCH(k, stack->count, stack->frames[k].sp > sp);
}

void stacks_add_inner(struct stacks *s, uint64_t sp) {
    uint32_t host = s->native, count = frames_above(&s->at[host], sp);
    uint64_t low = count < s->at[host].count ? s->at[host].frames[count].sp : 0;
    stacks_add(s, sp, NO_STACK);
    ARRAY_PUSH(&s->inner, ((struct inner){s->current, host, count, low}));
}

static void push_frame(struct stack *stack, const struct call *call, uint32_t number) {
    if (stack->count == stack->room)
        stack_grow(stack);
    stack->frames[stack->count] = *call;
    stack->frames[stack->count++].stack = number;
}

void stacks_split(struct stacks *s, uint32_t count, const struct trace_frame *kept,
                  uint32_t kept_count) {
    stacks_add(s, 0, NO_STACK);
    uint32_t i = s->current;
    struct stack *inner = &s->at[i], *host = &s->at[s->native];
    for (uint32_t k = count; k < host->count && host->frames[k].sp > kept[0].sp; k++)
        push_frame(inner, &host->frames[k], inner->number);
    if (inner->count) {
        s->base[i] = inner->frames[0].sp;
        s->top[i] = inner->frames[inner->count - 1].sp;
    }
    host->count = count;
    for (uint32_t k = 0; k < kept_count; k++)
        push_frame(host, &(struct call){.id = kept[k].id, .sp = kept[k].sp}, host->number);
    s->top[s->native] = host->count ? host->frames[host->count - 1].sp : s->base[s->native];
    ARRAY_PUSH(&s->inner, ((struct inner){i, s->native, count, kept[0].sp}));
    stacks_make_current(s, s->native);
}

uint32_t stacks_ended_inner(const struct stacks *s) {
    for (uint32_t i = 0; i < s->inner.count; i++)
        if (s->at[s->inner.at[i].host].count < s->inner.at[i].host_count)
            return i;
    return NO_STACK;
}

void stacks_remove_inner(struct stacks *s, uint32_t i) {
    struct inner ended = s->inner.at[i];
    s->inner.at[i] = s->inner.at[--s->inner.count];
    stacks_remove(s, ended.stack);
    if (s->current == ended.stack)
        stacks_make_current(s, ended.host);
}
