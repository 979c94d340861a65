/*
 * Thins a thread's events out by depth and duration.
 *
 * Plain events (trace/plain_calls.h) on stacks that stay in this thread are taken in a loop of
 * their own. A call that opens there gets no record: the newest calls of the present stack, up to
 * the first one with a record, are the *plain* ones. list_plain() gives them records before
 * anything else happens. So nearly all calls cost no more than their place in struct calls.
 */
#include "ring/thin.h"

#include <string.h>

#include "base/mem.h"
#include "trace/plain_calls.h"

enum { BATCH = 4096, MOST_PAUSES = 4096 };

struct record { /* an open call that is not too deep; call.user is its index + 1 */
    uint64_t start, sp;
    uint64_t paused; /* thin.paused when it began */
    uint32_t id, chain;
    bool written; /* its entry is in the trace */
    bool ended;   /* closed, but younger calls (of other stacks) are still open */
};

struct kept { /* a kept event, or a gap */
    struct trace_event event;
    uint64_t lost;
    bool is_gap;
};

struct thin {
    struct thin_options options;
    struct calls *calls;
    uint32_t stream;
    uint64_t stack_low,
        stack_bytes;    /* the thread's own stack: its stack pointers are above stack_low */
    bool shared;        /* other stacks may go on in other threads */
    bool has_gap;       /* events were lost */
    bool inherits;      /* it has begun with calls that are not known here */
    uint64_t inherited; /* those on its own stack are at this address or above */
    const struct trace_event *event; /* the present one */
    uint32_t chain;                  /* of the next event */
    uint64_t paused;                 /* ticks of all pauses that do not count for calls */
    ARRAY(struct record) open;       /* in order of opening */
    size_t settled;                  /* records below this one are written or ended */
    struct call *listed;             /* the innermost call that is not plain; NULL: none is plain */
    struct call *written;            /* from there on down to this one they are written */
    uint64_t low, size;              /* only stack pointers in this range are of plain events */
    struct trace_event batch[BATCH];
    size_t count;
    ARRAY(struct trace_event) pauses;  /* not written yet, in order of time */
    ARRAY(struct trace_frames) frames; /* not due yet, in order of time; owns their lists */
    bool holds;
    ARRAY(struct kept) kept;
};

static void flush(struct thin *t) {
    if (t->count)
        trace_writer_events(t->options.writer, t->stream, t->batch, t->count);
    t->count = 0;
}

static void put_in_batch(struct thin *t, const struct trace_event *e) {
    t->batch[t->count++] = *e;
    if (t->count == BATCH)
        flush(t);
}

/* Writes the pauses up to TICKS. */
static void put_pauses(struct thin *t, uint64_t ticks) {
    size_t n = 0;
    while (n < t->pauses.count && t->pauses.at[n].ticks <= ticks)
        put_in_batch(t, &t->pauses.at[n++]);
    if (!n)
        return;
    t->pauses.count -= n;
    memmove(t->pauses.at, t->pauses.at + n, t->pauses.count * sizeof *t->pauses.at);
}

static inline void put_event(struct thin *t, const struct trace_event *e) {
    if (t->pauses.count)
        put_pauses(t, e->ticks);
    put_in_batch(t, e);
}

static void put_record(struct thin *t, uint64_t ticks, const struct record *r,
                       enum event_kind kind) {
    put_event(t, &(struct trace_event){ticks, r->id << 2 | kind, r->sp});
}

static void put_chain(struct thin *t, uint64_t ticks, uint32_t chain) {
    put_event(t, &(struct trace_event){ticks, (uint32_t)CHAIN_EVENT << 2 | EVENT_CONTROL, chain});
}

/* Writes a control event that shows that the call is left: the event that has shown it may be left
 * out. */
static void put_unwound(struct thin *t, uint64_t ticks, const struct record *r) {
    struct record above = {.id = r->id, .sp = r->sp + 1};
    put_record(t, ticks, &above, EVENT_CONTROL);
}

static void put_entry(struct thin *t, const struct record *r) {
    if (r->chain)
        put_chain(t, r->start, r->chain);
    put_record(t, r->start, r, EVENT_ENTRY);
}

static void write_first_listed(struct thin *t) {
    struct record *r = &t->open.at[t->settled++];
    if (!r->ended && !r->written) {
        put_entry(t, r);
        r->written = true;
    }
}

/* Writes the unwritten entries of all calls with records. Those younger than the call that needs
 * this belong to other stacks. */
static void write_listed(struct thin *t) {
    while (t->settled < t->open.count)
        write_first_listed(t);
}

static bool is_too_deep(const struct thin *t, const struct call *call) {
    return call->depth >= t->options.depth;
}

static struct record record_of(const struct call *call) {
    return (struct record){
        .start = call->start, .sp = call->sp, .id = call->id, .chain = call->chain};
}

/* No pause has come since CALL has begun: it would have been given a record before. */
static void list(struct thin *t, struct call *call, bool written) {
    struct record r = record_of(call);
    r.written = written;
    r.paused = t->paused;
    if (written && t->settled == t->open.count)
        t->settled++;
    ARRAY_PUSH(&t->open, r);
    call->user = t->open.count;
}

static __attribute__((noinline)) void list_each_plain(struct thin *t) {
    struct call *last = calls_plain_top(t->calls);
    for (struct call *call = t->listed + 1; call <= last && !is_too_deep(t, call); call++)
        list(t, call, call <= t->written);
}

/* Gives the plain calls records, unless they are too deep. */
static inline void list_plain(struct thin *t) {
    if (t->listed && t->listed != calls_plain_top(t->calls))
        list_each_plain(t);
    t->listed = NULL;
}

/* Writes the unwritten entries of all open calls. */
static void write_open(struct thin *t) {
    list_plain(t);
    write_listed(t);
}

/* Whether SP is on a stack on which another thread may run, before or later. */
static bool may_change_thread(const struct thin *t, uint64_t sp) {
    return t->shared && sp - t->stack_low - 1 >= t->stack_bytes;
}

static void on_open(void *ctx, struct call *call, struct call *parent) {
    (void)parent;
    struct thin *t = ctx;
    if (is_too_deep(t, call) && !may_change_thread(t, call->sp))
        return;
    list(t, call, call->before); /* `before`: by a record of frames */
    if (!t->options.threshold_ticks)
        write_listed(t);
}

static void on_close(void *ctx, struct call *call, struct call *parent) {
    (void)parent;
    struct thin *t = ctx;
    if (!call->user)
        return;
    struct record *r = &t->open.at[call->user - 1];
    if (r->written || call_ticks(call) >= t->options.threshold_ticks)
        write_listed(t);
    r->sp = call->sp; /* its stack may have moved meanwhile */
    if (r->written && (call->how == CALL_RETURNED || call->how == CALL_TAIL))
        put_record(t, call->end, r, call->how == CALL_TAIL ? EVENT_TAIL : EVENT_RETURN);
    if (r->written && call->how == CALL_UNWOUND)
        put_unwound(t, call->end, r);
    r->ended = true;
    while (t->open.count && t->open.at[t->open.count - 1].ended)
        t->open.count--;
    if (t->settled > t->open.count)
        t->settled = t->open.count;
}

/* ---- plain events ---- */

static void put_plain_entry(struct thin *t, const struct call *call) {
    struct record r = record_of(call);
    put_entry(t, &r);
}

static inline void open_plain(struct thin *t, struct call *call) {
    if (!t->options.threshold_ticks && !is_too_deep(t, call)) {
        put_plain_entry(t, call); /* and so were all its callers */
        t->written = call;
    }
}

/* CALL, the innermost plain call, has ended, and was long. Writes the entries of it and of its
 * callers. */
static __attribute__((noinline)) void write_plain(struct thin *t, const struct call *call) {
    write_listed(t);
    for (const struct call *c = t->written + 1; c <= call; c++)
        put_plain_entry(t, c);
}

/* CALL has just ended by an event of KIND. */
static inline void close_plain(struct thin *t, struct call *call, enum event_kind kind) {
    if (call <= t->listed) {
        if (call->user)
            on_close(t, call, NULL);
        t->listed = t->written = call - 1;
        return;
    }
    if (is_too_deep(t, call))
        return;
    bool written = call <= t->written;
    if (written || call_ticks(call) >= t->options.threshold_ticks) {
        if (!written)
            write_plain(t, call);
        put_event(t, &(struct trace_event){call->end, call->id << 2 | kind, call->sp});
        t->written = call - 1;
    }
}

/* Finds out which stack pointers are of plain events: those for which take() would do no more than
 * calls_event(). */
static void set_plain_range(struct thin *t) {
    t->low = t->shared ? t->stack_low + 1 : 0;
    t->size = t->shared ? t->stack_bytes : UINT64_MAX;
    uint64_t inherited = t->inherited > t->low ? t->inherited - t->low : 0;
    if (t->inherits && t->size > inherited)
        t->size = inherited;
    if (t->chain || t->frames.count)
        t->size = 0;
}

/* Takes plain events up to the first one that is not. Returns how many. */
static size_t take_plain(struct thin *t, const struct trace_event *events, size_t count) {
    size_t i = 0;
    set_plain_range(t);
    if (!t->listed)
        t->listed = t->written = calls_plain_top(t->calls);
    for (; i < count; i++) {
        const struct trace_event *e = &events[i];
        uint32_t id = e->site >> 2;
        enum event_kind kind = (enum event_kind)(e->site & 3);
        if (e->sp - t->low >= t->size || kind == EVENT_CONTROL || id >= OWN_EVENTS)
            break;
        struct call *call = kind == EVENT_ENTRY ? calls_enter(t->calls, e->ticks, id, e->sp)
                                                : calls_leave(t->calls, e->ticks, kind, e->sp);
        if (!call)
            break;
        if (kind == EVENT_ENTRY)
            open_plain(t, call);
        else
            close_plain(t, call, kind);
    }
    return i;
}

/* This may be the return of a call that was open before a gap, or when the process was forked:
 * views decide. */
static void on_stray(void *ctx, const struct trace_frame *frame, uint32_t stack) {
    (void)frame;
    (void)stack;
    struct thin *t = ctx;
    if (t->inherits)
        write_open(t);
    if (t->has_gap || t->inherits)
        put_event(t, t->event);
}

struct thin *thin_new(const struct thin_options *options, const struct trace_thread *thread) {
    static const struct calls_ops ops = {on_open, on_close, .on_stray = on_stray};
    struct thin *t = mem_alloc(sizeof *t);
    t->options = *options;
    t->options.depth = options->depth ? options->depth : UINT32_MAX;
    t->stream = thread->stream;
    t->stack_low = thread->stack_low;
    t->stack_bytes = thread->stack_high - thread->stack_low;
    t->inherits = thread->maker;
    t->calls = calls_new(thread, &ops, t);
    return t;
}

/* Whether the entry of F, which is open, is in the trace. *NEXT: where to look for its record
 * first. */
static bool is_written(const struct thin *t, const struct trace_frame *f, size_t *next) {
    for (size_t tried = 0; tried < t->open.count; tried++) {
        size_t i = (*next + tried) % t->open.count;
        const struct record *r = &t->open.at[i];
        if (r->ended || r->sp != f->sp || r->id != f->id)
            continue;
        *next = i + 1;
        return r->written;
    }
    return false;
}

static void apply_frames(struct thin *t, const struct trace_frames *frames) {
    list_plain(t);
    struct trace_frame *still_open = mem_alloc(frames->count * sizeof *still_open);
    struct trace_frames written = {t->stream, frames->ticks, 0, still_open};
    calls_frames(t->calls, frames->ticks, frames);
    write_open(t);
    flush(t);
    size_t next = 0;
    for (uint32_t i = 0; i < frames->count; i++)
        if (is_written(t, &frames->frames[i], &next))
            still_open[written.count++] = frames->frames[i];
    trace_writer_frames(t->options.writer, &written);
    free(still_open);
}

/* Applies the records of frames up to TICKS. */
static void apply_due_frames(struct thin *t, uint64_t ticks) {
    size_t due = 0;
    for (; due < t->frames.count && t->frames.at[due].ticks <= ticks; due++) {
        apply_frames(t, &t->frames.at[due]);
        free((void *)t->frames.at[due].frames);
    }
    if (!due)
        return;
    t->frames.count -= due;
    memmove(t->frames.at, t->frames.at + due, t->frames.count * sizeof *t->frames.at);
}

/* Keeps a pause until no earlier entry can be written. */
static void take_pause(struct thin *t, const struct trace_event *e) {
    ARRAY_PUSH(&t->pauses, *e);
    if (!(e->site >> 2 & PAUSE_IN_CALL)) {
        calls_pause(t->calls, e->ticks, e->sp);
        t->paused += e->sp;
    }
    if (t->pauses.count > MOST_PAUSES)
        write_open(t);
    put_pauses(t, t->settled < t->open.count ? t->open.at[t->settled].start : e->ticks);
}

/* Writes a control event: at SP there is no call of the present stack any more. */
static void put_control(struct thin *t, const struct trace_event *e, uint64_t sp) {
    calls_event(t->calls, e->ticks, e->site >> 2, EVENT_CONTROL, sp);
    write_open(t);
    put_event(t, &(struct trace_event){e->ticks, e->site | EVENT_CONTROL, sp});
}

/* An event of a process that was forked: writes what ends calls with which it has begun. CHAIN: of
 * an entry. */
static void take_inheriting(struct thin *t, const struct trace_event *e, uint32_t chain) {
    enum event_kind kind = (enum event_kind)(e->site & 3);
    bool own = e->sp - t->stack_low - 1 < t->stack_bytes, deep = own && e->sp < t->inherited;
    if (own && !deep)
        t->inherited = e->sp + (kind != EVENT_CONTROL);
    if (kind == EVENT_CONTROL && !deep) {
        put_control(t, e, e->sp);
        return;
    }
    if (kind == EVENT_ENTRY && own && !deep)
        put_control(t, e, e->sp + 1);
    if (chain)
        calls_event(t->calls, e->ticks, CHAIN_EVENT, EVENT_CONTROL, chain);
    calls_event(t->calls, e->ticks, e->site >> 2, kind, e->sp);
}

static void take(struct thin *t, const struct trace_event *e) {
    list_plain(t);
    if (t->frames.count && t->frames.at[0].ticks <= e->ticks)
        apply_due_frames(t, e->ticks);
    t->event = e;
    if (is_pause_event(e->site >> 2)) {
        take_pause(t, e);
        return;
    }
    bool of_stacks = e->site >> 2 >= STACK_EVENTS,
         changes_thread = !of_stacks && may_change_thread(t, e->sp);
    uint32_t chain = t->chain;
    t->chain = e->site >> 2 == CHAIN_EVENT ? (uint32_t)e->sp : CHAIN_NONE;
    if (t->chain)
        return;
    if (e->site >> 2 == FORK_EVENT) { /* the child's calls are found in this stream */
        write_open(t);
        return;
    }
    if (of_stacks || changes_thread)
        write_open(t);
    if (changes_thread && chain)
        put_chain(t, e->ticks, chain);
    else if (chain && !t->inherits)
        calls_event(t->calls, e->ticks, CHAIN_EVENT, EVENT_CONTROL, chain);
    if (!changes_thread && t->inherits && e->site >> 2 < OWN_EVENTS)
        take_inheriting(t, e, chain);
    else if (!changes_thread)
        calls_event(t->calls, e->ticks, e->site >> 2, (enum event_kind)(e->site & 3), e->sp);
    if (of_stacks || changes_thread)
        put_event(t, e);
}

void thin_share(struct thin *t) {
    if (!t->shared)
        write_open(t);
    t->shared = true;
}

void thin_events(struct thin *t, const struct trace_event *events, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (t->holds) {
            ARRAY_PUSH(&t->kept, ((struct kept){.event = events[i]}));
            continue;
        }
        i += take_plain(t, events + i, count - i);
        if (i < count)
            take(t, &events[i]);
    }
    flush(t);
}

/* Whether a call that began at START is surely too long to be left out. PAUSED: as in its record.
 */
static bool is_due(const struct thin *t, uint64_t start, uint64_t paused, uint64_t ticks) {
    uint64_t out = t->options.threshold_ticks + (t->paused - paused);
    return ticks >= start && ticks - start >= out;
}

void thin_pass(struct thin *t, uint64_t ticks) {
    if (t->holds || t->frames.count)
        return;
    const struct call *plain = t->listed ? t->written + 1 : NULL;
    if (plain && plain <= calls_plain_top(t->calls) && is_due(t, plain->start, t->paused, ticks))
        list_plain(t);
    while (t->settled < t->open.count) {
        const struct record *r = &t->open.at[t->settled];
        if (!r->ended && !r->written && !is_due(t, r->start, r->paused, ticks))
            break;
        write_first_listed(t);
    }
    flush(t);
}

/* The ends of open calls may be missing, so all of them are written before. */
static void put_gap(struct thin *t, uint64_t ticks, uint64_t count) {
    write_open(t);
    t->has_gap = true;
    calls_gap(t->calls, ticks);
    put_pauses(t, ticks);
    flush(t);
    trace_writer_lost(t->options.writer, t->stream, ticks, count);
}

void thin_lost(struct thin *t, uint64_t ticks, uint64_t count) {
    if (t->holds)
        ARRAY_PUSH(&t->kept, ((struct kept){{.ticks = ticks}, count, true}));
    else
        put_gap(t, ticks, count);
}

void thin_hold(struct thin *t) { t->holds = true; }
bool thin_holds(const struct thin *t) { return t->holds; }

static void release(struct thin *t) {
    t->holds = false;
    for (size_t i = 0; i < t->kept.count; i++) {
        const struct kept *h = &t->kept.at[i];
        if (h->is_gap)
            put_gap(t, h->event.ticks, h->lost);
        else
            take(t, &h->event);
    }
    flush(t);
    ARRAY_FREE(&t->kept);
}

void thin_frames(struct thin *t, const struct trace_frames *frames) {
    struct trace_frames copy = *frames;
    struct trace_frame *list = mem_alloc(frames->count * sizeof *list);
    if (frames->count)
        memcpy(list, frames->frames, frames->count * sizeof *list);
    copy.frames = list;
    ARRAY_PUSH(&t->frames, copy);
    if (!t->holds)
        return;
    apply_due_frames(t, frames->ticks);
    release(t);
}

void thin_free(struct thin *t, uint64_t ticks) {
    if (!t)
        return;
    release(t);
    apply_due_frames(t, UINT64_MAX);
    list_plain(t);
    calls_finish(t->calls, ticks, true);
    put_pauses(t, UINT64_MAX);
    flush(t);
    calls_free(t->calls);
    ARRAY_FREE(&t->open);
    ARRAY_FREE(&t->frames);
    ARRAY_FREE(&t->pauses);
    free(t);
}
