#include "trace/calls.h"

#include "base/mem.h"
#include "trace/stacks.h"

struct calls {
    struct calls_ops ops;
    void *ctx;
    struct stacks stacks;
    uint64_t strays;
};

struct calls *calls_new(const struct trace_thread *thread, const struct calls_ops *ops, void *ctx) {
    struct calls *c = mem_alloc(sizeof *c);
    c->ops = *ops;
    c->ctx = ctx;
    stacks_init(&c->stacks, thread->stack_low, thread->stack_high);
    return c;
}

void calls_free(struct calls *c) {
    if (!c)
        return;
    stacks_done(&c->stacks);
    free(c);
}

uint64_t calls_strays(const struct calls *c) { return c->strays; }

static struct stack *current(struct calls *c) { return &c->stacks.at[c->stacks.current]; }

/* Closes the innermost frame of stack number INDEX. */
static void close_frame(struct calls *c, uint32_t index, uint64_t ticks, enum call_end how) {
    struct stack *stack = &c->stacks.at[index];
    struct call *call = &stack->frames[--stack->count];
    struct call *parent = stack->count ? call - 1 : NULL;
    call->end = ticks > call->start ? ticks : call->start;
    call->how = how;
    c->stacks.top[index] = parent ? parent->sp : call->sp;
    if (parent)
        parent->child_ticks += call->end - call->start;
    if (c->ops.on_close)
        c->ops.on_close(c->ctx, call, parent);
}

static __attribute__((noinline)) void grow(struct stack *stack) {
    stack->room = stack->room ? stack->room * 2 : 16;
    stack->frames = mem_resize(stack->frames, stack->room, sizeof *stack->frames);
}

static void open_frame(struct calls *c, uint64_t ticks, uint32_t id, uint64_t sp) {
    struct stack *stack = current(c);
    if (stack->count == stack->room)
        grow(stack);
    struct call *call = &stack->frames[stack->count];
    *call = (struct call){
        .id = id, .sp = sp, .depth = stack->count, .stack = stack->number, .start = ticks};
    c->stacks.top[c->stacks.current] = sp;
    if (!stack->count)
        c->stacks.base[c->stacks.current] = sp;
    stack->count++;
    if (c->ops.on_open)
        c->ops.on_open(c->ctx, call, call->depth ? call - 1 : NULL);
}

/* Closes what lies below SP on the current stack; returns the frame then on top, or NULL. */
static struct call *unwind(struct calls *c, uint64_t ticks, uint64_t sp) {
    struct stack *stack = current(c);
    while (stack->count && stack->frames[stack->count - 1].sp < sp)
        close_frame(c, c->stacks.current, ticks, CALL_UNWOUND);
    return stack->count ? &stack->frames[stack->count - 1] : NULL;
}

static void enter(struct calls *c, uint64_t ticks, uint32_t id, uint64_t sp) {
    struct call *top = unwind(c, ticks, sp);
    if (top && top->sp == sp)
        close_frame(c, c->stacks.current, ticks, CALL_UNWOUND);
    open_frame(c, ticks, id, sp);
}

/* An exit whose entry was not seen. A stack without frames is known by its latest address. */
static void stray(struct calls *c, uint64_t sp) {
    c->strays++;
    if (!current(c)->count)
        c->stacks.top[c->stacks.current] = c->stacks.base[c->stacks.current] = sp;
}

static void leave(struct calls *c, uint64_t ticks, enum event_kind kind, uint64_t sp) {
    struct call *top = unwind(c, ticks, sp);
    if (top && top->sp == sp)
        close_frame(c, c->stacks.current, ticks, kind == EVENT_TAIL ? CALL_TAIL : CALL_RETURNED);
    else
        stray(c, sp);
}

/* Makes the stack of SP current. False: an exit or control on a stack that has not been seen. */
static __attribute__((noinline)) bool change_stack(struct calls *c, uint64_t ticks, uint64_t sp,
                                                   enum event_kind kind) {
    if (stacks_find(&c->stacks, sp, kind == EVENT_ENTRY))
        return true;
    if (kind != EVENT_ENTRY)
        return false;
    uint32_t victim = stacks_victim(&c->stacks);
    while (victim != UINT32_MAX && c->stacks.at[victim].count)
        close_frame(c, victim, ticks, CALL_UNWOUND);
    stacks_add(&c->stacks, sp, victim);
    return true;
}

void calls_event(struct calls *c, uint64_t ticks, uint32_t id, enum event_kind kind, uint64_t sp) {
    if (!stacks_sure(&c->stacks, sp, kind == EVENT_ENTRY) && !change_stack(c, ticks, sp, kind)) {
        c->strays += kind != EVENT_CONTROL;
        return;
    }
    if (kind == EVENT_ENTRY)
        enter(c, ticks, id, sp);
    else if (kind == EVENT_CONTROL)
        unwind(c, ticks, sp);
    else
        leave(c, ticks, kind, sp);
}

void calls_finish(struct calls *c, uint64_t ticks, bool thread_ended) {
    for (uint32_t i = 0; i < c->stacks.count; i++)
        while (c->stacks.at[i].count)
            close_frame(c, i, ticks, thread_ended ? CALL_ENDED : CALL_OPEN);
}
