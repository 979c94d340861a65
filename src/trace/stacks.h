/*
 * The stacks that the threads of a process run on, told apart by the addresses of their frames.
 * Private to calls.c.
 *
 * A thread's own (native) stack has a known range and belongs to that thread. All other stacks
 * belong to the process: any thread may run on them.
 *
 * The program's runtime reports the bounds of some stacks (enum stack_event). An address within
 * bounds belongs to that stack. Of other stacks only the addresses from the top frame up to the
 * base frame are known (stacks grow down). This range is widened by REACH_BELOW and REACH_ABOVE.
 * An address belongs to the stack with the nearest top among those whose wide range holds it:
 *
 *     low                top frame            base frame               high
 *      |--- REACH_BELOW ---|====== frames ======|--- REACH_ABOVE ---|
 *
 * Coroutines' stacks often lie side by side, 64 KiB apart. A callee with a frame larger than
 * REACH_BELOW looks like the first frame of a new stack, and loses its parent. A larger reach would
 * be worse: the first frame of a new stack would look like a callee on the neighbour stack, and end
 * with it. If another thread ran on a stack last, its reach below is SURE_BELOW, since threads'
 * signal stacks are smaller than coroutines'. The first stack of the only thread, if its range is
 * unknown, has no neighbours and reaches REACH_FIRST.
 */
#pragma once

#include "base/mem.h"
#include "base/search.h"
#include "trace/calls.h"
#include "trace/stack_map.h"

enum {
    STACKS_MAX = 4096, /* of unknown bounds */
    REACH_BELOW = 32 * 1024,
    REACH_FIRST = 256 * 1024, /* replaces REACH_BELOW for the first stack of an only thread */
    REACH_ABOVE = 4 * 1024,   /* room for callers without events */
    SURE_BELOW = 4 * 1024,    /* an entry this close below the top frame needs no comparison */
    PAGE_CACHE = 256          /* entries */
};
enum { NO_STACK = UINT32_MAX };

struct stack {
    struct call *frames; /* [count − 1] is the innermost; [−1] is below all (plain_calls.h) */
    uint32_t count, room;
    uint32_t number;                /* as in struct call */
    uint32_t thread;                /* the last to run on it */
    uint64_t last_used;             /* value of stacks.switches */
    struct span bounds;             /* 0, 0: unknown */
    uint64_t paused;                /* ticks of pauses of threads that run on it */
    uint32_t linked_to, link_depth; /* this segment continues stack linked_to − 1 where that has
                                       link_depth frames; 0: it continues none */
    uint32_t linked_depth;          /* no segment continues this one at more frames than this */
};

struct inner {            /* a stack inside a thread's own one, in the variables of a call */
    uint32_t stack, host; /* in stacks.at */
    uint32_t host_count;  /* frames of the host down to that call's */
    uint64_t low;         /* the inner stack is above this frame, which the call has made */
};

struct native {         /* a thread's own stack */
    uint64_t low, size; /* range of its stack pointers; size 0: unknown */
    uint32_t index;     /* in stacks.at, or NO_STACK */
    uint32_t current;   /* the stack that the thread runs on */
};

struct stacks {
    struct stack *at;
    uint64_t *top, *base; /* [stack]: sp of the innermost and the outermost frame; without frames,
                             of its latest event. Arrays of their own, for the search. */
    uint32_t count, room, current;
    uint64_t native_low, native_size; /* of the present thread; size 0: unknown */
    uint32_t native;                  /* of the present thread, or NO_STACK */
    struct native *threads;           /* those above are copies of the present thread's fields */
    uint32_t thread_count, thread;
    uint32_t natives; /* this many stacks, the first ones, are native */
    uint32_t next_number;
    uint64_t switches;     /* counts changes of the current stack */
    uint64_t reach;        /* REACH_BELOW, or SURE_BELOW for split stacks */
    struct stack_map map;  /* of stacks with known bounds */
    uint32_t bounded;      /* number of stacks with known bounds */
    ARRAY(uint32_t) freed; /* places of removed stacks */
    ARRAY(struct inner) inner;
    struct {
        uint64_t page;
        uint32_t index;
    } page_cache[PAGE_CACHE]; /* the stack that was found last for a page of addresses */
};

void stack_grow(struct stack *stack); /* its room */

void stacks_init(struct stacks *s);
void stacks_done(struct stacks *s);

/* The stacks consist of segments (-fsplit-stack), which may lie side by side. Each segment counts
 * as a stack and reaches SURE_BELOW, the page between two segments. */
void stacks_set_split(struct stacks *s);
/* The thread has just changed from stack FROM to the current one. If that has no frames, it
 * continues the innermost frame of FROM. */
void stacks_link(struct stacks *s, uint32_t from);
/* A segment with frames that continues the innermost frame of stack I, or NO_STACK. */
uint32_t stacks_linked_segment(const struct stacks *s, uint32_t i);
void stacks_unlink_segments(struct stacks *s, uint32_t i);
/* The innermost frame of stack I ends: no segment continues it any more. */
static inline void stacks_unlink(struct stacks *s, uint32_t i) {
    if (s->at[i].linked_depth >= s->at[i].count)
        stacks_unlink_segments(s, i);
}

/* Adds a thread, before the first event; LOW and HIGH as in struct trace_thread. The first one
 * becomes the present one. */
void stacks_add_thread(struct stacks *s, uint64_t low, uint64_t high);
/* Makes THREAD the present one. */
void stacks_set_thread(struct stacks *s, uint32_t thread);

/* Makes the stack of SP current. False: no stack is near; call stacks_add(). */
bool stacks_find(struct stacks *s, uint64_t sp, bool is_entry);
/* If there are STACKS_MAX stacks: the one whose place a new stack takes. Its frames must be closed
 * before stacks_add(). Else NO_STACK. */
uint32_t stacks_to_replace(const struct stacks *s);
/* Adds a stack around SP, in place of VICTIM unless NO_STACK, and makes it current. */
void stacks_add(struct stacks *s, uint64_t sp, uint32_t victim);

void stacks_make_current(struct stacks *s, uint32_t i);
/* Whether the stack has an open frame exactly at SP. */
static inline bool stack_has_frame(const struct stack *stack, uint64_t sp) {
    size_t i = SEARCH(k, stack->count, stack->frames[k].sp > sp);
    return i < stack->count && stack->frames[i].sp == sp;
}
static inline uint64_t stack_distance(uint64_t a, uint64_t b) { return a < b ? b - a : a - b; }

/* The stack of SP, an address on the present thread's own: that, or one inside it. */
uint32_t stacks_find_inside(struct stacks *s, uint64_t sp, bool is_entry);
/* Adds a stack around SP, inside the present thread's own, and makes it current. */
void stacks_add_inner(struct stacks *s, uint64_t sp);
/* The same, where it was taken for frames of the thread's own stack so far: those from COUNT on
 * that are above KEPT[0] move to it, and KEPT[0 … KEPT_COUNT) are the thread's own again, on which
 * it runs. */
void stacks_split(struct stacks *s, uint32_t count, const struct trace_frame *kept,
                  uint32_t kept_count);
/* An inner stack whose call has ended, as index in s->inner; NO_STACK: none. */
uint32_t stacks_ended_inner(const struct stacks *s);
/* Removes that one, which has no frames. */
void stacks_remove_inner(struct stacks *s, uint32_t i);

/* Appends the frames of the stacks that a copy of THREAD has: its own, the one it runs on, and,
 * if ALL, those that no thread runs on. They are in the order in which they were opened. */
typedef ARRAY(const struct call *) call_list;
void stacks_list_calls(const struct stacks *s, uint32_t thread, bool all, call_list *list);

/* A stack with known bounds that has an address in BOUNDS, or NO_STACK. */
uint32_t stacks_overlapping(const struct stacks *s, struct span bounds);
/* The stack with exactly these bounds. If BOUNDS overlaps no known bounds: the only stack of
 * unknown bounds with frames in BOUNDS, if all its frames are there. Else NO_STACK. */
uint32_t stacks_with_bounds(const struct stacks *s, struct span bounds);
/* Adds a stack with BOUNDS, which overlap no other stack's. A native stack whose range overlaps
 * them loses its range. */
void stacks_add_bounded(struct stacks *s, struct span bounds);
/* Removes stack INDEX, which has no frames. */
void stacks_remove(struct stacks *s, uint32_t index);
/* Moves stack INDEX from FROM to BOUNDS, which overlap no other stack's. Frames keep their distance
 * to the upper end. */
void stacks_move(struct stacks *s, uint32_t index, struct span from, struct span bounds);

/* Whether SP is on the present thread's own stack, or on one inside it. */
static inline bool stacks_is_native(const struct stacks *s, uint64_t sp) {
    return sp - s->native_low < s->native_size;
}

/* Whether SP certainly belongs to the current stack: the usual case, without a search. */
static inline bool stacks_surely_current(const struct stacks *s, uint64_t sp, bool is_entry) {
    if (s->native_size) {
        bool native = stacks_is_native(s, sp);
        if (native || s->current == s->native)
            return native && s->current == s->native && !s->inner.count;
    }
    if (s->bounded)
        return false;
    return s->current < s->count && s->top[s->current] - sp <= (is_entry ? SURE_BELOW : 0);
}
