/*
 * Turns events into calls: opens and closes frames by stack pointer, never by name
 * (doc/ARCHITECTURE.md, "Calls"). The recorder (-D, -t) feeds one thread's events. An analysis
 * feeds one thread's, or those of all threads that run on each other's stacks, in order of time.
 *
 * Rules
 *  - entry at sp: frames of the same stack with frame.sp <= sp have ended without an exit event.
 *    An exception or longjmp has unwound them, or their exit is not patched. This includes a frame
 *    of the same function: jumps back to an entry make no event (src/plan).
 *  - return or tail at sp: frames with frame.sp < sp were unwound. The frame with frame.sp == sp is
 *    closed, whatever its function. If there is none, the event is stray and ignored.
 *  - control at sp: a catch, longjmp or stack switch continues at sp. Frames with frame.sp < sp
 *    were unwound.
 *  - struct trace_frames: an open call stays if it and all its callers are in the list. The other
 *    open calls end as CALL_MISSED, on each stack that this thread was the last to run on. Frames
 *    of the list that are not open are opened with `before` set.
 *  - each stack has its own frames. Threads' native stacks have known ranges. Others (coroutines,
 *    signal stacks) are told apart by address; a call there may begin in one thread and end in
 *    another. With -fsplit-stack each segment is a stack; its calls end with the frame that it
 *    continues, or before.
 *  - a gap (lost events): the open calls of the thread end as CALL_CUT. Nothing is paired across
 * it.
 *  - a pause (PAUSE_EVENT) counts for the calls that are open on the thread's own stack, and on the
 *    stack that it runs on.
 *  - the number of a chain (CHAIN_EVENT) belongs to the entry right behind it.
 *  - a stack that the program moves (enum stack_event) keeps its open calls. Calls that are open
 *    on a stack that the program frees were unwound.
 */
#pragma once

#include "trace/format.h"

enum call_end {
    CALL_RETURNED,
    CALL_TAIL,    /* replaced by a tail-called function */
    CALL_UNWOUND, /* exception, longjmp, or its exit is not patched (inferred) */
    CALL_MISSED,  /* a later trace_frames does not list it; its end was not recorded (inferred) */
    CALL_THREAD_ENDED, /* its thread ended during the call */
    CALL_OPEN,         /* still open when the stream ended */
    CALL_CUT           /* events were lost during the call: its end is not known */
};

/* Whether a call that ended so lasted as long as it is shown. */
static inline bool call_is_measured(enum call_end how) {
    return how != CALL_CUT && how != CALL_OPEN;
}

struct call {
    uint64_t sp;
    uint32_t id;          /* function */
    uint32_t depth;       /* 0: outermost of its stack */
    uint32_t stack;       /* 0: native stack; others numbered in order of appearance */
    uint32_t thread;      /* in which it began, as numbered by calls_add_thread(); 0: the first */
    uint32_t chain;       /* its callers, traced or not (format.h); CHAIN_NONE: not recorded */
    enum call_end how;    /* valid in on_close */
    bool before;          /* it began before `start`, when it was not traced */
    bool doubtful;        /* calls_doubt() was called while it was open */
    uint64_t start;       /* ticks */
    uint64_t end;         /* ticks; valid in on_close */
    uint64_t paused;      /* ticks of pauses during the call, not part of it; valid in on_close */
    uint64_t late;        /* ticks of pauses that had begun when the call was found open */
    uint64_t child_ticks; /* time spent in direct children, without pauses; valid in on_close */
    uint64_t user;        /* for the callbacks' use; 0 in on_open, kept until on_close */
};

/* The call's length in ticks, without pauses. Valid in on_close. */
static inline uint64_t call_ticks(const struct call *call) {
    return call->end - call->start - call->paused;
}

struct calls_ops {
    /* PARENT is NULL for a root. Either callback may be NULL. The pointers are valid until the
     * callback returns. A callback must not call functions of this file. */
    void (*on_open)(void *ctx, struct call *call, struct call *parent);
    void (*on_close)(void *ctx, struct call *call, struct call *parent);
    /* An exit of FRAME's function without an open call; STACK as in struct call. */
    void (*on_stray)(void *ctx, const struct trace_frame *frame, uint32_t stack);
    void (*on_doubt)(void *ctx, struct call *call); /* see calls_doubt() */
};

struct calls;
/* Uses only the stack's range of THREAD. */
struct calls *calls_new(const struct trace_thread *thread, const struct calls_ops *ops, void *ctx);
/* Adds a thread of the same process, numbered from 1. Call it before all events. Uses only the
 * stack's range of THREAD. */
void calls_add_thread(struct calls *c, const struct trace_thread *thread);
/* The following events are of THREAD. Until the first call they are of thread 0. */
void calls_set_thread(struct calls *c, uint32_t thread);
/* plain_calls.h has a faster way for most events. */
void calls_event(struct calls *c, uint64_t ticks, uint32_t id, enum event_kind kind, uint64_t sp);
/* What an entry at SP does before its call opens: ends calls. Returns the innermost call that is
 * left on its stack, or NULL. The caller may add to its child_ticks. */
struct call *calls_reach(struct calls *c, uint64_t ticks, uint64_t sp);
/* The next event, on the present thread's own stack, is the first of a stack inside it: a
 * coroutine's that lies in the variables of a call. Calls below go on, and what is open on the
 * inner stack ends with that call. */
void calls_begin_inner(struct calls *c);
/* The same, learned late: stacks_split(). */
void calls_split(struct calls *c, uint32_t count, const struct trace_frame *kept,
                 uint32_t kept_count);
/* Events of the present thread were lost here: ends the calls on the stacks that it was the last to
 * run on (how = CALL_CUT). */
void calls_gap(struct calls *c, uint64_t ticks);
/* The same, but the outermost KEPT calls of the thread's own stack go on. */
void calls_cut(struct calls *c, uint64_t ticks, uint32_t kept);
/* The same, but all calls stay open and are doubtful: on_doubt gets each of them. A doubtful call
 * is unwound when another function returns on its stack pointer. */
void calls_doubt(struct calls *c);
/* The thread stood still for LENGTH ticks until TICKS, for the tool's sake. Calls that began in
 * this time (a record of frames) are paused for the rest of it. */
void calls_pause(struct calls *c, uint64_t ticks, uint64_t length);
/* The program's stacks consist of segments (-fsplit-stack). When a call is unwound, so are its
 * callees on other segments. Call it before the first event. */
void calls_expect_split_stacks(struct calls *c);
/* Leaves out events of the present thread, which has a known range and was on its own stack only:
 * CALLS, the outermost first, are open there now. The first KEPT of them are open here, too, and
 * stay; the others that are open are forgotten, without on_close. PAUSED: ticks of pauses
 * meanwhile. Of a new call `paused` says how long it has been paused so far; of the kept ones only
 * child_ticks of the innermost is used. */
void calls_resume(struct calls *c, uint32_t kept, uint64_t paused, const struct call *calls,
                  uint32_t count);
/* The open calls with which a thread begins that goes on with a copy of THREAD's stack; ALL: its
 * memory is a copy, so that suspended coroutines are in it, too. The caller frees *ret. */
uint32_t calls_copied(struct calls *c, uint32_t thread, bool all, struct trace_frame **ret);
/* Ignores the stream of FRAMES. */
void calls_frames(struct calls *c, uint64_t ticks, const struct trace_frames *frames);
/* A copy of FRAMES; its list is to be freed. */
struct trace_frames calls_frames_copy(const struct trace_frames *frames);
/* As calls_finish(), but only for the present thread's native stack. */
void calls_finish_thread(struct calls *c, uint64_t ticks, bool thread_ended);
/* Closes all open calls (how = CALL_OPEN, or CALL_THREAD_ENDED if the threads have ended). */
void calls_finish(struct calls *c, uint64_t ticks, bool thread_ended);
/* Calls VISIT for each open call, in no order. PAUSED: ticks of pauses during the call so far. */
typedef void calls_visit(void *ctx, struct call *call, struct call *parent, uint64_t paused);
void calls_each_open(struct calls *c, calls_visit *visit);
uint64_t calls_strays(const struct calls *c);
void calls_free(struct calls *c);
