/*
 * Turns events into calls: opens and closes frames by stack pointer, never by name (DESIGN.md,
 * section 8). Used while recording (-D, -t), there of one thread, and by every analysis: of one
 * thread, or of all threads of a process that may run on each other's stacks, in order of time.
 *
 * Rules
 *  - entry at sp: frames of the same stack at or below sp (frame.sp <= sp) are gone without an exit
 *    that was seen: an exception or longjmp has unwound them, or their exit is not patched. That
 *    holds for a frame of the same function, too: jumps back to an entry make no event (plan/).
 *  - return or tail at sp: frames with frame.sp < sp were unwound; the frame with frame.sp == sp is
 *    closed, whatever its function; if there is none the event is stray and ignored.
 *  - control at sp: a catch, longjmp or stack switch goes on at sp; frames with frame.sp < sp were
 *    unwound.
 *  - frames at a time (struct trace_frames): open calls that are among them, each outside all
 * others, stay; all other open calls, of any stack that the thread was the last to run on, have
 * ended unseen; the rest is opened, as calls that have begun before.
 *  - each stack has its own frames: threads' native stacks (known ranges) and further ones
 *    (coroutines, signal stacks), told apart by their addresses. On those each thread may run: a
 *    call may begin in one and end in another. Where stacks grow in pieces each piece is one, and
 *    what stands on it ends with the frame that it has grown from at the latest.
 *  - the number of a chain (CHAIN_EVENT) is of the entry right behind it.
 *  - a stack that the program says it has moved (enum stack_event) takes its open calls along;
 * calls that are open on one that it frees were unwound.
 */
#pragma once

#include "trace/format.h"

enum call_end {
    CALL_RETURNED,
    CALL_TAIL,    /* replaced by a tail-called function */
    CALL_UNWOUND, /* exception, longjmp, or its exit is not patched (inferred) */
    CALL_MISSED,  /* it was open, and later it was not; how it ended was not recorded (inferred) */
    CALL_ENDED,   /* its thread has ended meanwhile: nothing has left it */
    CALL_OPEN     /* still open when the stream ended */
};

struct call {
    uint64_t sp;
    uint32_t id;          /* function */
    uint32_t depth;       /* 0: outermost of its stack */
    uint32_t stack;       /* 0: native stack; others numbered in order of appearance */
    uint32_t thread;      /* that it began in, as numbered by calls_add_thread(); 0: the first */
    uint32_t chain;       /* its callers, traced or not (format.h); CHAIN_NONE: not recorded */
    uint64_t start;       /* ticks */
    uint64_t end;         /* ticks; valid in on_close */
    enum call_end how;    /* valid in on_close */
    bool before;          /* it began before `start`, untraced */
    uint64_t child_ticks; /* time spent in direct children; valid in on_close */
    uint64_t user;        /* the callbacks' own; 0 in on_open, kept until on_close */
};

struct calls_ops {
    /* CALL is in the tree; PARENT NULL for a root. Either callback may be NULL. What they are given
     * stays in place only until they return (user moves along); they must not call back. */
    void (*on_open)(void *ctx, struct call *call, struct call *parent);
    void (*on_close)(void *ctx, struct call *call, struct call *parent);
};

struct calls;
/* Of THREAD only the stack's range is used. */
struct calls *calls_new(const struct trace_thread *thread, const struct calls_ops *ops, void *ctx);
/* A further thread of the same process, numbered from 1; before all events. Of THREAD only the
 * stack's range is used. */
void calls_add_thread(struct calls *c, const struct trace_thread *thread);
/* What follows is of THREAD; at first, of the first one. */
void calls_set_thread(struct calls *c, uint32_t thread);
void calls_event(struct calls *c, uint64_t ticks, uint32_t id, enum event_kind kind, uint64_t sp);
/* Events are missing: what comes next does not belong to what was last. */
void calls_gap(struct calls *c);
/* The program's stacks grow in pieces (-fsplit-stack): when a call is unwound, so is what has been
 * called from it on further pieces. Before the first event. */
void calls_expect_pieces(struct calls *c);
/* Of FRAMES the stream is not looked at. */
void calls_frames(struct calls *c, uint64_t ticks, const struct trace_frames *frames);
/* Closes what is open on the present thread's native stack, as calls_finish() does. */
void calls_finish_thread(struct calls *c, uint64_t ticks, bool thread_ended);
/* Closes everything that is open (how = CALL_OPEN, or CALL_ENDED if the threads have ended). */
void calls_finish(struct calls *c, uint64_t ticks, bool thread_ended);
uint64_t calls_strays(const struct calls *c);
void calls_free(struct calls *c);
