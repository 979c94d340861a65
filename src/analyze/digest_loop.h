/*
 * The loop that makes a digest (digest.h), for inlining: a file for each kind of sums has hooks.
 *
 * The frames of calls that began in the block are a stack of its own. Its lowest frame stands for
 * all that is open further out: its `sp` is above the highest stack pointer for which it is known
 * that an entry there ends none of those calls.
 */
#pragma once

#include "analyze/digest.h"
#include "analyze/names.h"
#include "trace/layout.h"

struct digest_frame {
    uint64_t sp, start_ns;
    uint64_t callees_ns;     /* of ended callees */
    uint64_t start, callees; /* the same in ticks */
    uint32_t number;         /* of its id in the block */
    uint32_t value;          /* for hooks */
};

struct digest_reader {
    const struct names *names;
    struct trace_block *block;
    struct trace_scale scale;
    uint64_t low, bytes;         /* the thread's own stack */
    const uint32_t *ids;         /* by number */
    ARRAY(uint32_t) functions;   /* the same, as names.h numbers them */
    struct digest_frame *frames; /* room for a block of entries */
    struct digest_frame *top;
    uint64_t ticks; /* of the last item, or the present one */
    bool plain;     /* false: all further items are steps */
    bool in_calls;  /* the last step is a STEP_CALLS that goes on */
    bool in_whole;  /* no call is clipped, so nobody asks for ticks of callees */
    struct digest *to;
};

/* F is a frame whose call has ended. */
struct digest_hooks {
    void (*exits)(void *ctx, enum event_kind kind); /* the next close() is by this event; or NULL */
    uint32_t (*open)(void *ctx, uint32_t function, const struct digest_frame *caller);
    void (*close)(void *ctx, uint32_t function, const struct digest_frame *f, uint64_t ns);
    void (*unwind)(void *ctx, uint32_t function, const struct digest_frame *f); /* after close() */
    /* F's call stays open: a step opens it. */
    void (*leave)(void *ctx, uint32_t function, const struct digest_frame *f);
    void (*sum_up)(void *ctx, struct digest *to); /* moves all sums of a STEP_CALLS there */
    bool ticks; /* of callees are counted; else those of frames and steps are 0 */
    bool marks; /* are passed on */
};

#define DIGEST_INLINE static inline __attribute__((always_inline))

DIGEST_INLINE void digest_push(struct digest_reader *r, const struct digest_hooks *hooks, void *ctx,
                               const struct trace_item *item, uint64_t ns) {
    struct digest_frame *caller = r->top++;
    *r->top = (struct digest_frame){item->sp, ns, 0, r->ticks, 0, item->number, 0};
    r->top->value = hooks->open(ctx, r->functions.at[item->number], caller);
}

DIGEST_INLINE void digest_pop(struct digest_reader *r, const struct digest_hooks *hooks, void *ctx,
                              uint64_t ns) {
    struct digest_frame *f = r->top--;
    uint64_t duration = ns - f->start_ns;
    r->top->callees_ns += duration;
    if (hooks->ticks)
        r->top->callees += r->ticks - f->start;
    hooks->close(ctx, r->functions.at[f->number], f, duration);
}

DIGEST_INLINE void digest_exit(struct digest_reader *r, const struct digest_hooks *hooks, void *ctx,
                               enum event_kind kind, uint64_t ns) {
    if (hooks->exits)
        hooks->exits(ctx, kind);
    digest_pop(r, hooks, ctx, ns);
}

/* ---- what is rare ---- */

DIGEST_INLINE void digest_end_calls(struct digest_reader *r, const struct digest_hooks *hooks,
                                    void *ctx) {
    struct digest *d = r->to;
    if (!r->in_calls)
        return;
    struct digest_step *step = &d->steps.at[d->steps.count - 1];
    step->first = d->sums.count;
    step->first_call = step->end_call;
    step->first_level = step->end_level;
    hooks->sum_up(ctx, d);
    step->end = d->sums.count;
    step->end_call = (uint32_t)d->calls.count;
    step->end_level = (uint32_t)d->levels.count;
    step->callees_ns = r->frames->callees_ns;
    step->callees = r->frames->callees;
    r->frames->sp = 0;
    r->in_calls = false;
}

/* A call is entered at SP, outside all calls of the block that are open. */
DIGEST_INLINE void digest_begin_calls(struct digest_reader *r, const struct digest_hooks *hooks,
                                      void *ctx, uint64_t ns, uint64_t sp) {
    digest_end_calls(r, hooks, ctx);
    ARRAY_PUSH(&r->to->steps, ((struct digest_step){.kind = STEP_CALLS,
                                                    .ns = ns,
                                                    .ticks = r->ticks,
                                                    .sp = sp,
                                                    .end_call = (uint32_t)r->to->calls.count,
                                                    .end_level = (uint32_t)r->to->levels.count}));
    *r->frames = (struct digest_frame){.sp = sp + 1};
    r->in_calls = true;
}

/* Makes steps of all open calls. */
DIGEST_INLINE void digest_flush(struct digest_reader *r, const struct digest_hooks *hooks,
                                void *ctx) {
    digest_end_calls(r, hooks, ctx);
    for (const struct digest_frame *f = r->frames + 1; f <= r->top; f++) {
        struct trace_item item = {
            .kind = TRACE_EVENT, .event = EVENT_ENTRY, .id = r->ids[f->number], .sp = f->sp};
        ARRAY_PUSH(&r->to->steps, ((struct digest_step){STEP_OPEN, f->start_ns, f->start,
                                                        f->callees_ns, f->callees, .item = item}));
        hooks->leave(ctx, r->functions.at[f->number], f);
    }
    r->top = r->frames;
}

/* Ends calls below SP. */
DIGEST_INLINE void digest_unwind(struct digest_reader *r, const struct digest_hooks *hooks,
                                 void *ctx, uint64_t ns, uint64_t sp) {
    while (r->top != r->frames && r->top->sp < sp) {
        const struct digest_frame *f = r->top;
        digest_pop(r, hooks, ctx, ns);
        hooks->unwind(ctx, r->functions.at[f->number], f);
    }
}

/* A control event that ends no call. */
DIGEST_INLINE void digest_mark(struct digest_reader *r, const struct digest_hooks *hooks,
                               const struct trace_item *item, uint64_t ns) {
    uint32_t function = r->functions.at[item->number];
    if (hooks->marks && names_is_mark(r->names, function))
        ARRAY_PUSH(&r->to->marks, ((struct digest_mark){ns, function}));
}

/* The rules of trace/calls.h. False: ITEM has to be a step. */
DIGEST_INLINE bool digest_rare(struct digest_reader *r, const struct digest_hooks *hooks, void *ctx,
                               const struct trace_item *item, uint64_t ns) {
    if (item->kind != TRACE_EVENT || !r->plain)
        return false;
    if (item->event == EVENT_CONTROL && item->id == CHAIN_EVENT)
        return r->in_calls; /* views that show chains need no digests */
    if (item->sp - r->low - 1 >= r->bytes ||
        (item->event == EVENT_CONTROL && item->id >= OWN_EVENTS))
        return false;
    if (item->event == EVENT_CONTROL) {
        if (r->top == r->frames || r->top->sp < item->sp)
            return false;
        digest_mark(r, hooks, item, ns);
        return true;
    }
    if (item->event == EVENT_ENTRY) {
        digest_unwind(r, hooks, ctx, ns, item->sp + 1);
        if (r->top == r->frames && r->top->sp <= item->sp)
            digest_begin_calls(r, hooks, ctx, ns, item->sp);
        digest_push(r, hooks, ctx, item, ns);
        return true;
    }
    digest_unwind(r, hooks, ctx, ns, item->sp);
    if (r->top == r->frames)
        return false;
    if (r->top->sp == item->sp)
        digest_exit(r, hooks, ctx, item->event, ns);
    return true;
}

DIGEST_INLINE void digest_rest(struct digest_reader *r, const struct digest_hooks *hooks, void *ctx,
                               const struct trace_item *item) {
    uint64_t ns = trace_scale_ns(&r->scale, item->ticks);
    bool changes_stacks =
        item->kind == TRACE_EVENT && item->event == EVENT_CONTROL && item->id >= STACK_EVENTS;
    r->plain &= item->ticks >= r->ticks && !changes_stacks;
    r->ticks = item->ticks;
    if (digest_rare(r, hooks, ctx, item, ns))
        return;
    digest_flush(r, hooks, ctx);
    ARRAY_PUSH(&r->to->steps, ((struct digest_step){STEP_ITEM, ns, item->ticks, .item = *item}));
}

/* ---- the loop ---- */

/* Entries and exits that are nested as they ought to be. Returns the first other item, or END. */
DIGEST_INLINE const struct trace_item *digest_usual(struct digest_reader *r,
                                                    const struct digest_hooks *hooks, void *ctx,
                                                    const struct trace_item *item,
                                                    const struct trace_item *end) {
    struct digest_reader l = *r; /* in registers */
    for (; item < end; item++) {
        if (item->ticks < l.ticks || item->sp - l.low - 1 >= l.bytes || item->kind != TRACE_EVENT)
            break;
        uint64_t ns = trace_scale_ns(&l.scale, item->ticks), before = l.ticks;
        l.ticks = item->ticks;
        if (item->event == EVENT_ENTRY && item->sp < l.top->sp)
            digest_push(&l, hooks, ctx, item, ns);
        else if (item->event - 1u < 2 && item->sp == l.top->sp && l.top != l.frames)
            digest_exit(&l, hooks, ctx, item->event, ns);
        else {
            l.ticks = before;
            break;
        }
    }
    r->top = l.top;
    r->ticks = l.ticks;
    return item;
}

/* R has an open block, and its stack's range. Empties and fills *TO. */
DIGEST_INLINE void digest_read(struct digest_reader *r, const struct digest_hooks *hooks, void *ctx,
                               struct digest *to) {
    const struct trace_item *item;
    for (size_t n; (n = trace_block_batch(r->block, &item)) > 0; to->items += (uint32_t)n)
        for (const struct trace_item *end = item + n; item < end; item++) {
            if (r->plain)
                item = digest_usual(r, hooks, ctx, item, end);
            if (item == end)
                break;
            digest_rest(r, hooks, ctx, item);
        }
    digest_flush(r, hooks, ctx);
    to->damaged = trace_block_left(r->block);
    to->last = r->ticks;
    to->last_ns = trace_scale_ns(&r->scale, r->ticks);
}
