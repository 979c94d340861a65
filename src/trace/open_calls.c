/* See open_calls.h: from the encoder's notes, or from the decoded block. */
#include "trace/open_calls.h"

#include "base/search.h"
#include "trace/calls.h"
#include "trace/decode.h"
#include "trace/encoder.h"

void open_calls_init(struct open_calls *o, uint64_t low, uint64_t high) {
    *o = (struct open_calls){.known = high > low, .low = low, .high = high};
}

static void drop_frames(struct open_calls *o, size_t count) {
    for (size_t i = 0; i < count; i++)
        free((void *)o->frames.at[i].frames);
    for (size_t i = count; i < o->frames.count; i++)
        o->frames.at[i - count] = o->frames.at[i];
    o->frames.count -= count;
}

void open_calls_done(struct open_calls *o) {
    drop_frames(o, o->frames.count);
    ARRAY_FREE(&o->frames);
    ARRAY_FREE(&o->list);
    ARRAY_FREE(&o->news);
}

void open_calls_forget(struct open_calls *o) {
    o->known = false;
    o->list.count = 0;
    drop_frames(o, o->frames.count);
}

bool open_calls_has(const struct open_calls *o, uint64_t sp, uint32_t id) {
    size_t i = SEARCH(k, o->list.count, o->list.at[k].sp > sp);
    return i < o->list.count && o->list.at[i].sp == sp && o->list.at[i].id == id;
}

void open_calls_frames(struct open_calls *o, const struct trace_frames *frames) {
    size_t count = o->frames.count;
    bool late = (o->blocks && frames->ticks <= o->last) || frames->count > DISK_FRAMES_MAX ||
                (count && frames->ticks < o->frames.at[count - 1].ticks);
    if (late)
        open_calls_forget(o);
    if (!o->known)
        return;
    ARRAY_PUSH(&o->frames, calls_frames_copy(frames));
}

/* ---- from the encoder's notes ---- */

/* How much of pause P counts for a call that began at START. */
static uint64_t pause_in(const struct trace_pause *p, uint64_t start) {
    if (start >= p->ticks)
        return 0;
    uint64_t lasted = p->ticks - start;
    return lasted < p->length ? lasted : p->length;
}

static void end_innermost(struct open_calls *o, uint64_t ticks) {
    struct open_call *call = &o->list.at[--o->list.count];
    uint64_t length = ticks > call->start ? ticks - call->start : 0;
    uint64_t paused = o->paused - call->paused;
    if (o->list.count)
        call[-1].callees += length - (paused < length ? paused : length);
}

static void add_callees(struct open_calls *o, uint64_t ticks) {
    if (o->list.count)
        o->list.at[o->list.count - 1].callees += ticks;
}

static void take_raises(struct open_calls *o, const struct block_calls *b) {
    size_t pause = 0;
    for (const struct raise *r = b->raises.at; r < b->raises.at + b->raises.count; r++) {
        for (; pause < r->pauses; pause++)
            o->paused += b->pauses.at[pause].length;
        add_callees(o, r->callees);
        while (o->list.count && o->list.at[o->list.count - 1].sp <= r->sp)
            end_innermost(o, r->ticks);
        if (o->unchanged > o->list.count)
            o->unchanged = o->list.count;
    }
    for (; pause < b->pauses.count; pause++)
        o->paused += b->pauses.at[pause].length;
}

static uint64_t frame_start(const struct encoder *e, const struct frame *f) {
    return e->last - ((e->last - (f->start >> 16)) & EVENT_CLOCK_MASK);
}

/* Ticks of pauses since START, in this block. */
static uint64_t paused_since(const struct block_calls *b, uint64_t start) {
    uint64_t sum = 0;
    for (size_t i = 0; i < b->pauses.count; i++)
        sum += pause_in(&b->pauses.at[i], start);
    return sum;
}

/* Ticks of F's ended callees, where TOP is the innermost frame. F's sum has the start and the
 * pauses of the callee that is open, too. */
static uint64_t callees_of(const struct encoder *e, const struct frame *f,
                           const struct frame *top) {
    if (f == top)
        return f->callees >> 16;
    uint64_t paused = paused_since(&e->block, frame_start(e, f + 1));
    return (f->callees + f[1].start + (paused << 16)) >> 16;
}

static void push_frames(struct open_calls *o, const struct encoder *e) {
    const struct shadow *shadow = &e->shadows[e->current];
    const struct frame *bottom = shadow->frames, *top = bottom + shadow->top;
    add_callees(o, callees_of(e, bottom, top));
    for (const struct frame *f = bottom + 1; f <= top; f++) {
        struct open_call call = {.sp = (uint64_t)shadow->high << 32 | key_sp(f->key),
                                 .start = frame_start(e, f),
                                 .callees = callees_of(e, f, top),
                                 .id = key_id(f->key)};
        call.paused = o->paused - paused_since(&e->block, call.start);
        ARRAY_PUSH(&o->list, call);
    }
}

/* ---- from the block's events ---- */

static void add_open(void *ctx, struct call *call, struct call *parent, uint64_t paused) {
    struct open_calls *o = ctx;
    (void)parent;
    ARRAY_PUSH(&o->list, ((struct open_call){.sp = call->sp,
                                             .start = call->start,
                                             .callees = call->child_ticks,
                                             .paused = o->paused - paused,
                                             .id = call->id,
                                             .chain = call->chain,
                                             .before = call->before}));
}

static struct calls *begin_calls(struct open_calls *o) {
    const struct trace_thread thread = {.stack_low = o->low, .stack_high = o->high};
    struct calls *calls = calls_new(&thread, &(struct calls_ops){0}, o);
    struct call *list = mem_alloc(o->list.count * sizeof *list + 1);
    for (size_t i = 0; i < o->list.count; i++) {
        const struct open_call *from = &o->list.at[i];
        list[i] = (struct call){.sp = from->sp,
                                .id = from->id,
                                .chain = from->chain,
                                .before = from->before,
                                .start = from->start,
                                .child_ticks = from->callees,
                                .paused = o->paused - from->paused};
    }
    calls_resume(calls, 0, o->paused, list, (uint32_t)o->list.count);
    free(list);
    return calls;
}

static void take_item(struct open_calls *o, struct calls *calls, const struct trace_item *item) {
    for (; o->frames.count && o->frames.at[0].ticks <= item->ticks; drop_frames(o, 1))
        calls_frames(calls, o->frames.at[0].ticks, &o->frames.at[0]);
    if (item->kind != TRACE_EVENT)
        return;
    bool is_pause = item->event == EVENT_CONTROL && is_pause_event(item->id);
    if (!is_pause)
        calls_event(calls, item->ticks, item->id, item->event, item->sp);
    if (!is_pause || item->id & PAUSE_IN_CALL)
        return;
    calls_pause(calls, item->ticks, item->sp);
    o->paused += item->sp;
}

/* Replaces the list by what is open in CALLS. */
static void end_calls(struct open_calls *o, struct calls *calls) {
    size_t same = 0, before = o->list.count;
    struct open_call *old = o->list.at;
    memset(&o->list, 0, sizeof o->list);
    calls_each_open(calls, add_open);
    for (; same < before && same < o->list.count; same++)
        if (old[same].sp != o->list.at[same].sp || old[same].id != o->list.at[same].id ||
            old[same].start != o->list.at[same].start)
            break;
    if (o->unchanged > same)
        o->unchanged = same;
    free(old);
    calls_free(calls);
}

static void take_events(struct open_calls *o, const struct block *block) {
    struct disk_block head = block->head;
    struct bytes raw = {0};
    struct decoder d = {0};
    struct trace_item items[256];
    for (int i = 0; i < BLOCK_PARTS; i++)
        bytes_put(&raw, block->parts[i].at, block->parts[i].count);
    head.raw = (uint32_t)raw.count;
    memset(bytes_reserve(&raw, DECODE_PADDING), 0, DECODE_PADDING);
    struct calls *calls = begin_calls(o);
    if (decode_begin(&d, &head, raw.at))
        for (size_t n; (n = decode_items(&d, items, sizeof items / sizeof *items)) > 0;)
            for (size_t i = 0; i < n; i++)
                take_item(o, calls, &items[i]);
    end_calls(o, calls);
    decode_done(&d);
    free(raw.at);
}

/* ---- both ---- */

static bool is_unknown(const struct open_calls *o, const struct encoder *e) {
    bool elsewhere =
        e->facts.low <= e->facts.high && (e->facts.low <= o->low || e->facts.high > o->high);
    return e->block.lost || elsewhere || e->facts.met_inner;
}

void open_calls_take(struct open_calls *o, const struct encoder *e, const struct block *block) {
    if (o->known && is_unknown(o, e))
        open_calls_forget(o);
    if (!o->known)
        return;
    const struct block_calls *b = &e->block;
    if (b->complex || (o->frames.count && o->frames.at[0].ticks <= block->head.last)) {
        take_events(o, block);
    } else {
        take_raises(o, b);
        push_frames(o, e);
    }
    for (size_t i = 0; i < b->pauses.count; i++)
        ARRAY_PUSH(&o->news, b->pauses.at[i]);
    o->blocks++;
    o->last = block->head.last;
    o->raw_bytes += block_raw_bytes(block);
}
