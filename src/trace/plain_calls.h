/*
 * The plain events of calls.h: an entry below the innermost call of the present stack, surely on
 * that stack, and an exit of exactly that call. They close no other call and need no search.
 *
 * A user of calls_new() with many events asks these functions first, and does itself what its
 * callbacks do: calls_enter() is calls_event() without on_open, calls_leave() without on_close. If
 * they return NULL the event is not plain, nothing has happened, and calls_event() takes it. The
 * pointers are valid until the next call of a function of calls.h or of this file.
 */
#pragma once

#include "trace/calls.h"

/* The first member of struct calls: the present stack, for this file and calls.c only. */
struct calls_plain {
    struct call *top;    /* its innermost call, or the place below its first call */
    struct call *lowest; /* an exit is plain only of calls above this one */
    struct call *last;   /* the last place of the array */
    uint64_t low, size;  /* stack pointers outside of this range are not plain; size 0: none is */
    uint64_t reach;      /* nor are entries at this distance below TOP, or farther */
    uint64_t paused;     /* as in struct stack */
    uint32_t stack, thread;
    uint32_t chain;   /* of the next entry */
    struct call none; /* TOP, if no event is plain */
};

/* The stack pointer of the place below a stack's first call: more than any event's. */
#define CALLS_BELOW_ALL ((uint64_t)INT64_MAX)

/* The caller of CALL, which one of the two functions below has returned; NULL: none. */
static inline struct call *calls_plain_parent(struct call *call) {
    return call[-1].sp == CALLS_BELOW_ALL ? NULL : call - 1;
}

/* The place of the innermost call of the present stack, where plain events are possible. A plain
 * entry moves it to the next place, a plain exit to the one before. */
static inline struct call *calls_plain_top(struct calls *c) {
    return ((struct calls_plain *)c)->top;
}

static inline struct call *calls_enter(struct calls *c, uint64_t ticks, uint32_t id, uint64_t sp) {
    struct calls_plain *p = (struct calls_plain *)c;
    struct call *top = p->top, *call = top + 1;
    if (sp - p->low >= p->size || top->sp - sp - 1 >= p->reach || top == p->last)
        return NULL;
    p->top = call;
    call->sp = sp;
    call->start = ticks;
    call->id = id;
    call->depth = top->depth + 1;
    call->stack = p->stack;
    call->thread = p->thread;
    call->chain = p->chain;
    call->before = call->doubtful = false;
    call->paused = p->paused;
    call->late = call->child_ticks = call->user = 0;
    p->chain = CHAIN_NONE;
    return call;
}

/* KIND: EVENT_RETURN or EVENT_TAIL. */
static inline struct call *calls_leave(struct calls *c, uint64_t ticks, enum event_kind kind,
                                       uint64_t sp) {
    struct calls_plain *p = (struct calls_plain *)c;
    struct call *call = p->top;
    if (call->sp != sp || sp - p->low >= p->size || call <= p->lowest || call->doubtful)
        return NULL;
    uint64_t end = ticks > call->start ? ticks : call->start, length = end - call->start;
    uint64_t paused = p->paused - call->paused;
    paused = paused < length ? paused : length;
    p->top = call - 1;
    p->chain = CHAIN_NONE;
    call->end = end;
    call->paused = paused;
    call->how = kind == EVENT_TAIL ? CALL_TAIL : CALL_RETURNED;
    call[-1].child_ticks += length - paused;
    return call;
}

struct stacks;
/* Prepares P for S, whose current stack gets the next event. */
void calls_plain_begin(struct calls_plain *p, const struct stacks *s);
/* No event is plain. */
void calls_plain_none(struct calls_plain *p);
/* Brings S up to date, and makes no event plain. */
void calls_plain_end(struct calls_plain *p, struct stacks *s);
