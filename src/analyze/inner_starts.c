/* See inner_starts.h: remembers which calls an event has left, until it is clear that they ended.
 */
#include "analyze/inner_starts.h"

#include <stdlib.h>

#include "base/mem.h"
#include "trace/calls.h"

enum {
    MOST_DOUBTS = 64, /* later ones replace the oldest */
    LEAST_ABOVE = 256 /* a stack begins so far above the calls that led to it, at least */
};

/* An event that may have been the first on an inner stack, and the calls that it seemed to leave.
 */
struct doubt {
    uint64_t number, sp;      /* of the event */
    uint32_t count;           /* frames of the thread's own stack above it */
    size_t next, left_count;  /* left[next …] have not certainly ended */
    struct trace_frame *left; /* the innermost first */
};

struct search {
    struct calls *calls;
    uint64_t low, bytes;            /* the thread's own stack */
    uint64_t number;                /* of the present event */
    uint32_t open;                  /* frames on that stack */
    bool stray;                     /* the present event is an exit without a call */
    ARRAY(struct trace_frame) left; /* by the present event */
    ARRAY(struct doubt) doubts;     /* the newest last */
    ARRAY(uint64_t) found;
};

static void on_open(void *ctx, struct call *call, struct call *parent) {
    (void)parent;
    struct search *s = ctx;
    s->open += !call->stack;
}

static void on_close(void *ctx, struct call *call, struct call *parent) {
    (void)parent;
    struct search *s = ctx;
    if (call->stack)
        return;
    s->open--;
    if (call->how == CALL_UNWOUND)
        ARRAY_PUSH(&s->left, ((struct trace_frame){call->id, call->sp}));
}

static void on_stray(void *ctx, const struct trace_frame *frame, uint32_t stack) {
    (void)frame;
    (void)stack;
    ((struct search *)ctx)->stray = true;
}

/* ---- doubts ---- */

static void drop_newest(struct search *s) { free(s->doubts.at[--s->doubts.count].left); }

static void forget_doubts(struct search *s) {
    while (s->doubts.count)
        drop_newest(s);
}

static void add_doubt(struct search *s, uint64_t sp, bool is_entry) {
    if (s->left.at[s->left.count - 1].sp + LEAST_ABOVE >= sp)
        return;
    if (s->doubts.count == MOST_DOUBTS) {
        free(s->doubts.at[0].left);
        for (size_t i = 1; i < s->doubts.count; i++)
            s->doubts.at[i - 1] = s->doubts.at[i];
        s->doubts.count--;
    }
    struct doubt d = {.number = s->number, .sp = sp, .count = s->open - is_entry};
    d.left_count = s->left.count;
    d.left = mem_resize(NULL, d.left_count, sizeof *d.left);
    for (size_t i = 0; i < d.left_count; i++)
        d.left[i] = s->left.at[i];
    ARRAY_PUSH(&s->doubts, d);
}

/* Drops doubts about calls that have certainly ended. The call with the stack's variable may have
 * ended, too. */
static void prune_doubts(struct search *s) {
    size_t kept = 0;
    for (size_t i = 0; i < s->doubts.count; i++) {
        struct doubt d = s->doubts.at[i];
        if (d.count <= s->open && d.next < d.left_count)
            s->doubts.at[kept++] = d;
        else
            free(d.left);
    }
    s->doubts.count = kept;
}

/* A call at SP has begun: calls that were there before have ended. */
static void settle_doubts(struct search *s, uint64_t sp) {
    for (size_t i = 0; i < s->doubts.count; i++) {
        struct doubt *d = &s->doubts.at[i];
        if (sp > d->left[d->left_count - 1].sp)
            continue;
        while (d->next < d->left_count && d->left[d->next].sp <= sp)
            d->next++;
    }
}

/* An exit (EXACTLY) or a control event at SP may be in one of D's left calls. Then: how many of
 * them have stack pointers of SP or more; else 0. */
static size_t alive(const struct doubt *d, uint64_t sp, bool exactly) {
    size_t i = d->next;
    if (i == d->left_count || (!exactly && d->left[i].sp > sp) || sp >= d->sp)
        return 0;
    while (i < d->left_count && d->left[i].sp < sp)
        i++;
    bool found = i < d->left_count && (!exactly || d->left[i].sp == sp);
    return found ? d->left_count - i : 0;
}

/* D's event was the first on an inner stack. The innermost of ALIVE calls has just ended if
 * HAS_ENDED. */
static void resolve(struct search *s, const struct doubt *d, size_t alive, bool has_ended) {
    struct trace_frame *kept = mem_alloc(alive * sizeof *kept);
    for (size_t i = 0; i < alive; i++)
        kept[i] = d->left[d->left_count - 1 - i];
    ARRAY_PUSH(&s->found, d->number);
    calls_split(s->calls, d->count, kept, (uint32_t)(alive - has_ended));
    s->open = d->count + (uint32_t)(alive - has_ended);
    free(kept);
}

/* Whether the event at SP shows that a doubted call goes on. */
static bool goes_on(struct search *s, uint64_t sp, bool is_exit) {
    for (size_t i = s->doubts.count; i-- > 0;) {
        size_t count = alive(&s->doubts.at[i], sp, is_exit);
        if (!count)
            continue;
        resolve(s, &s->doubts.at[i], count, is_exit);
        while (s->doubts.count > i)
            drop_newest(s);
        return true;
    }
    return false;
}

/* ---- events ---- */

static void take_event(struct search *s, const struct trace_item *item) {
    bool is_entry = item->event == EVENT_ENTRY, control = item->event == EVENT_CONTROL;
    s->number++;
    if (item->id >= OWN_EVENTS || item->sp - s->low - 1 >= s->bytes)
        return;
    s->left.count = 0;
    s->stray = false;
    calls_event(s->calls, item->ticks, item->id, item->event, item->sp);
    if (is_entry)
        settle_doubts(s, item->sp);
    prune_doubts(s);
    if ((control || s->stray) && goes_on(s, item->sp, !control))
        return;
    if (s->left.count && (is_entry || control || s->stray))
        add_doubt(s, item->sp, is_entry);
}

static void take_item(struct search *s, const struct trace_item *item) {
    if (item->kind == TRACE_EVENT) {
        take_event(s, item);
    } else if (item->kind == TRACE_FRAMES) {
        forget_doubts(s);
        calls_frames(s->calls, item->ticks, item->frames);
    } else if (item->kind == TRACE_LOST) {
        forget_doubts(s);
        calls_gap(s->calls, item->ticks);
    }
}

static int compare_numbers(const void *a, const void *b) {
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

uint64_t *inner_starts_find(struct trace_reader *r, uint32_t stream, size_t *ret_count) {
    static const struct calls_ops ops = {on_open, on_close, on_stray, NULL};
    const struct trace_thread *t = trace_reader_thread(r, stream);
    struct search s = {.low = t->stack_low, .bytes = t->stack_high - t->stack_low};
    struct trace_cursor *cursor;
    const struct trace_item *items;
    struct err err;
    *ret_count = 0;
    if (!trace_reader_has_inner_stacks(r, stream) ||
        trace_cursor_open(r, stream, &cursor, NULL) < 0)
        return NULL;
    s.calls = calls_new(t, &ops, &s);
    for (ptrdiff_t n; (n = trace_cursor_batch(cursor, &items, &err)) != 0;)
        for (ptrdiff_t i = 0; i < n; i++)
            take_item(&s, &items[i]);
    trace_cursor_free(cursor);
    calls_free(s.calls);
    forget_doubts(&s);
    ARRAY_FREE(&s.doubts);
    ARRAY_FREE(&s.left);
    if (s.found.count)
        qsort(s.found.at, s.found.count, sizeof *s.found.at, compare_numbers);
    *ret_count = s.found.count;
    return s.found.at;
}
