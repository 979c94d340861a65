/*
 * The stacks that one thread runs on, told apart by the addresses of their frames. Private to
 * calls.c.
 *
 * What is known of a stack is a stretch of addresses, from the top frame up to the base frame
 * (stacks grow down). An address belongs to the stack with the nearest top among those whose
 * stretch, widened by REACH_BELOW and REACH_ABOVE, holds it:
 *
 *     low                top frame            base frame               high
 *      |--- REACH_BELOW ---|====== frames ======|--- REACH_ABOVE ---|
 *
 * Coroutines' stacks often lie side by side, 64 KiB apart. A callee with a frame larger than
 * REACH_BELOW is taken for a new stack's first and loses its parent; were the reach larger, the
 * first frame of a new stack would be taken for a callee of its neighbour's and be closed with it,
 * which is worse. A thread's first stack, if its range is not known, has no such neighbours and
 * reaches farther.
 */
#ifndef SPOOR_TRACE_STACKS_H
#define SPOOR_TRACE_STACKS_H

#include "trace/calls.h"

enum {
    STACKS_MAX = 4096,
    REACH_BELOW = 32 * 1024,
    REACH_FIRST = 256 * 1024, /* instead, for at[0] */
    REACH_ABOVE = 4 * 1024,   /* callers that were not seen */
    SURE_BELOW = 4 * 1024,    /* an entry this close below the top frame needs no comparison */
    RECALL = 256
};

struct stack {
    struct call *frames; /* [count − 1] is the innermost */
    uint32_t count, room;
    uint32_t number;               /* as in struct call */
    uint64_t last_used;            /* by stacks.switches */
    uint32_t grown_from, grown_at; /* it goes on where another, at this index + 1, had so many
                                      frames; 0: where none had */
    uint32_t grown_to;             /* no other goes on where this has more frames than that */
};

struct stacks {
    struct stack *at;
    uint64_t *top, *base; /* of at[i]: the stack pointers of its innermost and outermost frame, or
                             of the last that it had; apart from it, because they are searched */
    uint32_t count, room, current;
    uint64_t native_low, native_size; /* at[0]'s addresses; size 0: not known */
    uint32_t next_number;
    uint64_t switches;
    uint64_t reach; /* below top frames, but for at[0] */
    struct {
        uint64_t page;
        uint32_t index;
    } recall[RECALL]; /* where a page of addresses was found last */
};

/* STACK_LOW and STACK_HIGH as in struct trace_thread. */
void stacks_init(struct stacks *s, uint64_t stack_low, uint64_t stack_high);
void stacks_done(struct stacks *s);
/* The stacks grow in pieces, any of which may lie near any other: each is a stack, and reaches no
 * farther than the page between two. */
void stacks_come_in_pieces(struct stacks *s);
/* The current stack has just been come to from the one at index FROM: if it has no frames, it goes
 * on where that has come to. */
void stacks_join(struct stacks *s, uint32_t from);
/* A stack with frames that goes on where the innermost frame of that at I is; UINT32_MAX: none. */
uint32_t stacks_piece_of(const struct stacks *s, uint32_t i);
void stacks_cut_pieces(struct stacks *s, uint32_t i);
/* The innermost frame of the stack at I ends: none goes on there any more. */
static inline void stacks_cut(struct stacks *s, uint32_t i) {
    if (s->at[i].grown_to >= s->at[i].count)
        stacks_cut_pieces(s, i);
}

/* Makes the stack of SP current, if any is near. False: none is, and stacks_add() is due. */
bool stacks_find(struct stacks *s, uint64_t sp, bool is_entry);
/* The stack whose place a new one takes, when there are too many; else UINT32_MAX. Its frames must
 * be closed before stacks_add(). */
uint32_t stacks_victim(const struct stacks *s);
/* A new stack around SP, current, in place of VICTIM if that is one. */
void stacks_add(struct stacks *s, uint64_t sp, uint32_t victim);

/* Whether SP is certainly of the current stack: the usual case. */
static inline bool stacks_sure(const struct stacks *s, uint64_t sp, bool is_entry) {
    if (s->native_size) {
        bool native = sp - s->native_low < s->native_size;
        if (native || !s->current)
            return native && !s->current;
    }
    return s->count && s->top[s->current] - sp <= (is_entry ? SURE_BELOW : 0);
}

#endif
