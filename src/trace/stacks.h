/*
 * The stacks that the threads of a process run on, told apart by the addresses of their frames.
 * Private to calls.c.
 *
 * A thread's own (native) stack is known by its range, and stays with it. All others belong to the
 * process: whichever thread runs on them.
 *
 * Of some the program's runtime has told the bounds (enum stack_event): an address belongs to the
 * one that it lies in, however closely they stand together. Of the rest a stretch of addresses is
 * known, from the top frame up to the base frame (stacks grow down). An address belongs to the
 * stack with the nearest top among those whose stretch, widened by REACH_BELOW and REACH_ABOVE,
 * holds it:
 *
 *     low                top frame            base frame               high
 *      |--- REACH_BELOW ---|====== frames ======|--- REACH_ABOVE ---|
 *
 * Coroutines' stacks often lie side by side, 64 KiB apart. A callee with a frame larger than
 * REACH_BELOW is taken for a new stack's first and loses its parent; were the reach larger, the
 * first frame of a new stack would be taken for a callee of its neighbour's and be closed with it,
 * which is worse; where another thread ran on that neighbour last, the reach is SURE_BELOW, since
 * threads' signal stacks are smaller than coroutines'. A thread's first stack, if its range is not
 * known, has no such neighbours and reaches farther.
 */
#pragma once

#include "base/mem.h"
#include "trace/calls.h"
#include "trace/stack_map.h"

enum {
    STACKS_MAX = 4096, /* of unknown bounds */
    REACH_BELOW = 32 * 1024,
    REACH_FIRST = 256 * 1024, /* instead, for the first stack of an only thread */
    REACH_ABOVE = 4 * 1024,   /* callers that were not seen */
    SURE_BELOW = 4 * 1024,    /* an entry this close below the top frame needs no comparison */
    RECALL = 256
};
enum { NO_STACK = UINT32_MAX };

struct stack {
    struct call *frames; /* [count − 1] is the innermost */
    uint32_t count, room;
    uint32_t number;               /* as in struct call */
    uint32_t thread;               /* that ran on it last */
    uint64_t last_used;            /* by stacks.switches */
    struct span bounds;            /* as far as they are known; else 0, 0 */
    uint32_t grown_from, grown_at; /* it goes on where another, at this index + 1, had so many
                                      frames; 0: where none had */
    uint32_t grown_to;             /* no other goes on where this has more frames than that */
};

struct native {         /* a thread's own stack */
    uint64_t low, size; /* stack pointers on it, from that to its upper end; size 0: not known */
    uint32_t index, current;
};

struct stacks {
    struct stack *at;
    uint64_t *top, *base; /* sp of each one's innermost and outermost frame, or where its latest
                             event was; apart, because they are searched */
    uint32_t count, room, current;
    uint64_t native_low, native_size; /* of the present thread; size 0: not known */
    uint32_t native;                  /* its index; NO_STACK: it has none */
    struct native *threads;           /* all of them; what is of the present one is above */
    uint32_t thread_count, thread;
    uint32_t natives; /* how many of the first stacks are threads' own */
    uint32_t next_number;
    uint64_t switches;
    uint64_t reach;       /* below top frames, but for a first stack */
    struct stack_map map; /* where bounds are known */
    uint32_t bounded;     /* how many are */
    ARRAY(uint32_t) idle; /* had bounds, and were freed */
    struct {
        uint64_t page;
        uint32_t index;
    } recall[RECALL]; /* where a page of addresses was found last */
};

void stacks_init(struct stacks *s);
void stacks_done(struct stacks *s);

/* The stacks grow in pieces, any of which may lie near any other: each is a stack, and reaches no
 * farther than the page between two. */
void stacks_come_in_pieces(struct stacks *s);
/* The current stack has just been come to from the one at index FROM: if it has no frames, it goes
 * on where that has come to. */
void stacks_join(struct stacks *s, uint32_t from);
/* A stack with frames that goes on where the innermost frame of that at I is; NO_STACK: none. */
uint32_t stacks_piece_of(const struct stacks *s, uint32_t i);
void stacks_cut_pieces(struct stacks *s, uint32_t i);
/* The innermost frame of the stack at I ends: none goes on there any more. */
static inline void stacks_cut(struct stacks *s, uint32_t i) {
    if (s->at[i].grown_to >= s->at[i].count)
        stacks_cut_pieces(s, i);
}

/* A thread more, before the first event; LOW and HIGH as in struct trace_thread. The first is the
 * present one. */
void stacks_add_thread(struct stacks *s, uint64_t low, uint64_t high);
/* What follows is of THREAD. */
void stacks_set_thread(struct stacks *s, uint32_t thread);

/* Makes the stack of SP current, if any is near. False: none is, and stacks_add() is due. */
bool stacks_find(struct stacks *s, uint64_t sp, bool is_entry);
/* The stack whose place a new one takes, when there are too many; else NO_STACK. Its frames must be
 * closed before stacks_add(). */
uint32_t stacks_victim(const struct stacks *s);
/* A new stack around SP, current, in place of VICTIM if that is one. */
void stacks_add(struct stacks *s, uint64_t sp, uint32_t victim);

/* A stack with known bounds that has an address in BOUNDS, or NO_STACK. */
uint32_t stacks_overlapping(const struct stacks *s, struct span bounds);
/* The stack with just these bounds; or one of unknown bounds all of whose frames, and nobody
 * else's, lie there; or NO_STACK. */
uint32_t stacks_in(const struct stacks *s, struct span bounds);
/* There is a stack in BOUNDS, which no other's overlap. Its addresses are no thread's own stack any
 * more. */
void stacks_make(struct stacks *s, struct span bounds);
/* Stack INDEX, which has no frames, is no more. */
void stacks_forget(struct stacks *s, uint32_t index);
/* Stack INDEX now has BOUNDS, which no other's overlap; what was at the end of its old ones, FROM,
 * is at the end of these. */
void stacks_move(struct stacks *s, uint32_t index, struct span from, struct span bounds);

/* Whether SP is certainly of the current stack: the usual case. */
static inline bool stacks_sure(const struct stacks *s, uint64_t sp, bool is_entry) {
    if (s->native_size) {
        bool native = sp - s->native_low < s->native_size;
        if (native || s->current == s->native)
            return native && s->current == s->native;
    }
    if (s->bounded)
        return false;
    return s->current < s->count && s->top[s->current] - sp <= (is_entry ? SURE_BELOW : 0);
}
