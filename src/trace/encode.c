/*
 * encode() has the fast path: predicted entries and returns. unpredicted() writes codes and
 * corrections for all other events.
 */
#include "trace/encode.h"

#include "base/mem.h"
#include "trace/dictionary.h"
#include "trace/varint.h"

enum {
    RUN = 256,        /* events between two checks for room */
    CODE_BYTES = 16,  /* of one event in the code column, at most: switch, high, pop and code */
    EXTRA_BYTES = 32, /* of one event in the extra column, at most */
    NEAR = 64 * 1024, /* a stack pointer this close to a shadow's top belongs to it */
    LEFT = 256,       /* frames that were left without an exit and are remembered */
    NO_FRAME = 3      /* in the low half of a key: the frame at the bottom, which is no event */
};

struct frame {
    uint64_t key; /* low half: site of the entry; high half: bits 0 … 31 of the stack pointer */
    uint32_t number;
};

struct shadow {
    struct frame *frames; /* [0] is below all frames: it keeps the latest stack pointer */
    size_t top, room;
    uint32_t high; /* bits 32 … 47 of the stack pointer written last */
};

struct encoder {
    struct bytes code, time, extra;
    struct dictionary dictionary;
    struct shadow *shadows;
    uint32_t shadow_count, shadow_room, current, victim;
    uint64_t first, last; /* ticks */
    uint32_t items, entries, exits, controls;
    uint64_t lost;
    struct trace_totals taken;   /* in earlier blocks */
    uint64_t own_low, own_bytes; /* the thread's own stack; 0: unknown */
    uint64_t left[LEFT];         /* keys of such frames, by left_place() */
    bool met_inner;              /* see encoder_met_inner() */
};

/* The state inside a run, which the fast path keeps in registers. */
struct run {
    uint8_t *code, *extra;
    struct frame *top;
};

static uint64_t event_key(const struct trace_event *event) { return event->sp << 32 | event->site; }
static uint32_t event_high(const struct trace_event *event) { return (uint32_t)(event->sp >> 32); }

static uint32_t key_sp(uint64_t key) { return (uint32_t)(key >> 32); }
static uint32_t key_id(uint64_t key) { return (uint32_t)key >> 2; }

static uint32_t left_place(uint64_t key) { return key_sp(key) / 16 % LEFT; }
static bool is_own(const struct encoder *e, uint64_t sp) { return sp - e->own_low < e->own_bytes; }

static struct frame *shadow_bottom(const struct encoder *e) {
    return e->shadows[e->current].frames;
}

/* Returns the top frame with room for a run of pushes above it. */
static struct frame *shadow_reserve(struct shadow *s) {
    if (s->room < s->top + RUN + 1) {
        s->room = s->top * 2 + RUN + 1;
        s->frames = mem_resize(s->frames, s->room, sizeof *s->frames);
    }
    return s->frames + s->top;
}

static void shadow_begin(struct shadow *s) {
    s->top = s->high = 0;
    shadow_reserve(s);
    s->frames[0] = (struct frame){.key = NO_FRAME};
}

static void shadow_add(struct encoder *e) {
    if (e->shadow_count == e->shadow_room) {
        size_t room = e->shadow_room ? e->shadow_room * 2 : 1;
        e->shadows = mem_resize(e->shadows, room, sizeof *e->shadows);
        memset(e->shadows + e->shadow_room, 0, (room - e->shadow_room) * sizeof *e->shadows);
        e->shadow_room = (uint32_t)room;
    }
    shadow_begin(&e->shadows[e->shadow_count++]);
}

/* How far SP is from the top frame of S. */
static uint64_t distance(const struct shadow *s, uint64_t sp) {
    uint64_t top = (uint64_t)s->high << 32 | key_sp(s->frames[s->top].key);
    return top < sp ? sp - top : top - sp;
}

/* The shadow whose top is closest to SP; the current one wins a tie. -1: none is near. */
static int shadow_nearest(const struct encoder *e, uint64_t sp) {
    uint64_t best = NEAR;
    int found = -1;
    for (uint32_t i = 0; i < e->shadow_count; i++) {
        uint64_t d = distance(&e->shadows[i], sp);
        if (d < best || (d == best && i == e->current)) {
            best = d;
            found = (int)i;
        }
    }
    return found;
}

static void pop(struct encoder *e, struct run *run, uint32_t sp, bool inclusive) {
    const struct frame *bottom = shadow_bottom(e), *old = run->top;
    while (run->top > bottom && (int32_t)(key_sp(run->top->key) - sp) < (inclusive ? 1 : 0)) {
        e->left[left_place(run->top->key)] = run->top->key;
        run->top--;
    }
    if (run->top == old)
        return;
    *run->code++ = CODE_POP;
    run->extra = varint_put(run->extra, (uint64_t)(old - run->top));
}

static void shadow_switch(struct encoder *e, struct run *run, uint32_t to) {
    e->current = to;
    run->top = shadow_reserve(&e->shadows[to]);
    *run->code++ = CODE_SWITCH;
    run->extra = varint_put(run->extra, to);
}

/* The next event is on another shadow, at SP. If that is above calls that are still open on the
 * same stack, the event may have left them, and they may return. */
static void note_switch(struct encoder *e, const struct shadow *now, uint64_t sp) {
    uint64_t top = (uint64_t)now->high << 32 | key_sp(now->frames[now->top].key);
    e->met_inner |= now->top && sp > top && is_own(e, top) && is_own(e, sp);
}

/* Makes the shadow of SP current. */
static void shadow_select(struct encoder *e, struct run *run, uint64_t sp) {
    struct shadow *now = &e->shadows[e->current];
    now->top = (size_t)(run->top - now->frames);
    bool unused = run->top->key == NO_FRAME;
    if (unused || (e->shadow_count == 1 && distance(now, sp) < NEAR))
        return;
    int found = shadow_nearest(e, sp);
    if (found == (int)e->current)
        return;
    note_switch(e, now, sp);
    if (found < 0 && e->shadow_count < DISK_SHADOWS) {
        found = (int)e->shadow_count;
        shadow_add(e);
    }
    if (found >= 0) {
        shadow_switch(e, run, (uint32_t)found);
        return;
    }
    e->victim = (e->victim + 1) % DISK_SHADOWS;
    if (e->victim != e->current)
        shadow_switch(e, run, e->victim);
    pop(e, run, key_sp(run->top->key) + 0x7fffffff, true);
}

static void unpredicted_entry(struct encoder *e, struct run *run, uint64_t key) {
    uint32_t sp = key_sp(key), number = dictionary_number(&e->dictionary, key_id(key));
    pop(e, run, sp, true);
    uint32_t *step = &e->dictionary.step[run->top->number];
    uint32_t top_sp = key_sp(run->top->key), predicted = top_sp - *step;
    uint64_t code = CODE_ENTRY + 2 * (uint64_t)(number - 1);
    if (predicted != sp) {
        code++;
        run->extra = varint_put(run->extra, zigzag((int32_t)(sp - predicted)));
        *step = top_sp - sp;
    }
    run->code = varint_put(run->code, code);
    *++run->top = (struct frame){.key = key, .number = number};
}

static void unpredicted_exit(struct encoder *e, struct run *run, uint64_t key) {
    uint32_t sp = key_sp(key), kind = (uint32_t)key & 3;
    pop(e, run, sp, false);
    if (run->top->key == (key & ~(uint64_t)3)) {
        *run->code++ = kind == EVENT_TAIL ? CODE_TAIL : CODE_RETURN;
        run->top--;
        return;
    }
    if (e->left[left_place(key)] == (key & ~(uint64_t)3))
        e->met_inner |= is_own(e, (uint64_t)e->shadows[e->current].high << 32 | sp);
    uint32_t top_sp = key_sp(run->top->key);
    *run->code++ = kind == EVENT_TAIL ? CODE_OTHER_TAIL : CODE_OTHER_RETURN;
    run->extra = varint_put(run->extra, dictionary_number(&e->dictionary, key_id(key)) - 1);
    run->extra = varint_put(run->extra, zigzag((int32_t)(sp - top_sp)));
    if (run->top == shadow_bottom(e))
        run->top->key = (uint64_t)sp << 32 | NO_FRAME;
    else if (sp == top_sp)
        run->top--;
}

static void encode_control(struct encoder *e, struct run *run, uint64_t key) {
    uint32_t sp = key_sp(key);
    pop(e, run, sp, false);
    *run->code++ = CODE_CONTROL;
    run->extra = varint_put(run->extra, dictionary_number(&e->dictionary, key_id(key)) - 1);
    run->extra = varint_put(run->extra, zigzag((int32_t)(sp - key_sp(run->top->key))));
    e->controls++;
}

/* An event with a value, which is no stack pointer: it changes no prediction. */
static void encode_value(struct encoder *e, struct run *run, const struct trace_event *event) {
    *run->code++ = CODE_CONTROL;
    run->extra = varint_put(run->extra, dictionary_number(&e->dictionary, event->site >> 2) - 1);
    run->extra = varint_put(run->extra, zigzag((int64_t)event->sp));
    e->controls++;
}

/* Encodes an event that the fast path could not predict. */
static __attribute__((noinline)) void unpredicted(struct encoder *e, struct run *run,
                                                  const struct trace_event *event) {
    uint64_t key = event_key(event);
    if (is_value_event(event->site >> 2) && (event->site & 3) == EVENT_CONTROL) {
        encode_value(e, run, event);
        return;
    }
    shadow_select(e, run, event->sp);
    if (e->shadows[e->current].high != event_high(event)) {
        e->shadows[e->current].high = event_high(event);
        *run->code++ = CODE_HIGH;
        run->extra = varint_put(run->extra, event_high(event));
    }
    if ((key & 3) == EVENT_ENTRY)
        unpredicted_entry(e, run, key);
    else if ((key & 3) == EVENT_CONTROL)
        encode_control(e, run, key);
    else
        unpredicted_exit(e, run, key);
}

/* Encodes COUNT events, at most RUN. The columns have room for them. */
static void encode(struct encoder *e, const struct trace_event *events, size_t count) {
    uint8_t *code = e->code.at + e->code.count, *time = e->time.at + e->time.count;
    struct shadow *shadow = &e->shadows[e->current];
    struct frame *top = shadow->frames + shadow->top;
    uint64_t last = e->last;
    uint32_t entries = 0, high = shadow->high;
    for (const struct trace_event *end = events + count; events < end; events++) {
        uint64_t key = event_key(events);
        uint64_t step = events->ticks > last ? events->ticks - last : 0;
        last += step;
        time = varint_put(time, step);
        unsigned kind = key & 3;
        bool same = event_high(events) == high;
        if (kind == EVENT_ENTRY) {
            entries++;
            uint32_t number = dictionary_number(&e->dictionary, key_id(key));
            uint32_t predicted = key_sp(top->key) - e->dictionary.step[top->number];
            if (varint_likely((predicted == key_sp(key)) & same)) {
                code = varint_put(code, CODE_ENTRY + 2 * (uint64_t)(number - 1));
                *++top = (struct frame){.key = key, .number = number};
                continue;
            }
        } else if (varint_likely((top->key == key - kind) & (kind <= EVENT_TAIL) & same)) {
            *code++ = (uint8_t)(kind - 1);
            top--;
            continue;
        }
        struct run run = {code, e->extra.at + e->extra.count, top};
        unpredicted(e, &run, events);
        high = e->shadows[e->current].high;
        code = run.code;
        top = run.top;
        e->extra.count = (size_t)(run.extra - e->extra.at);
    }
    e->code.count = (size_t)(code - e->code.at);
    e->time.count = (size_t)(time - e->time.at);
    shadow = &e->shadows[e->current];
    shadow->top = (size_t)(top - shadow->frames);
    e->last = last;
    e->entries += entries;
}

/* Makes room for COUNT items. TICKS is the time of the first one. */
static void begin_items(struct encoder *e, uint64_t ticks, size_t count) {
    bytes_reserve(&e->code, count * CODE_BYTES);
    bytes_reserve(&e->time, count * VARINT_MAX_BYTES);
    bytes_reserve(&e->extra, count * EXTRA_BYTES);
    shadow_reserve(&e->shadows[e->current]);
    if (e->items)
        return;
    if (ticks > e->last)
        e->last = ticks;
    e->first = e->last;
}

size_t encoder_events(struct encoder *e, const struct trace_event *events, size_t count) {
    size_t done = 0;
    while (done < count && !encoder_full(e)) {
        size_t n = count - done < RUN ? count - done : RUN;
        if (n > DISK_BLOCK_ITEMS - e->items)
            n = DISK_BLOCK_ITEMS - e->items;
        begin_items(e, events[done].ticks, n);
        uint32_t non_exits = e->entries + e->controls;
        encode(e, events + done, n);
        e->exits += (uint32_t)n - (e->entries + e->controls - non_exits);
        e->items += (uint32_t)n;
        done += n;
    }
    return done;
}

static void item(struct encoder *e, uint64_t ticks, enum disk_code code) {
    begin_items(e, ticks, 1);
    uint64_t step = ticks > e->last ? ticks - e->last : 0;
    e->last += step;
    bytes_put_varint(&e->time, step);
    bytes_put_varint(&e->code, code);
    e->items++;
}

void encoder_lost(struct encoder *e, uint64_t ticks, uint64_t count) {
    item(e, ticks, CODE_LOST);
    bytes_put_varint(&e->extra, count);
    e->lost += count;
}

void encoder_thread_end(struct encoder *e, uint64_t ticks) { item(e, ticks, CODE_THREAD_END); }

bool encoder_full(const struct encoder *e) {
    size_t raw = e->code.count + e->time.count + e->extra.count;
    return e->items >= DISK_BLOCK_ITEMS || raw >= DISK_RAW_TARGET;
}

struct trace_totals encoder_totals(const struct encoder *e) {
    return (struct trace_totals){
        .entries = e->taken.entries + e->entries,
        .exits = e->taken.exits + e->exits,
        .lost = e->taken.lost + e->lost,
    };
}

/* Begins a new block. The buffers of the columns now belong to the block that was taken. */
static void restart(struct encoder *e) {
    e->code = e->time = e->extra = (struct bytes){0};
    dictionary_clear(&e->dictionary);
    e->shadow_count = e->current = 0;
    shadow_add(e);
    e->taken = encoder_totals(e);
    e->items = e->entries = e->exits = e->controls = 0;
    e->lost = 0;
}

struct block *encoder_take(struct encoder *e, uint32_t stream) {
    if (!e->items)
        return NULL;
    struct block *block = block_new(DISK_EVENTS);
    struct disk_events head = {
        .functions = e->dictionary.count - 1,
        .code_bytes = (uint32_t)e->code.count,
        .time_bytes = (uint32_t)e->time.count,
        .extra_bytes = (uint32_t)e->extra.count,
    };
    bytes_put(&block->parts[0], &head, sizeof head);
    uint32_t before = 0;
    for (uint32_t i = 1; i < e->dictionary.count; before = e->dictionary.id[i++])
        bytes_put_varint(&block->parts[0], zigzag((int64_t)e->dictionary.id[i] - before));
    head.dictionary_bytes = (uint32_t)(block->parts[0].count - sizeof head);
    memcpy(block->parts[0].at, &head, sizeof head);
    block->parts[1] = e->code;
    block->parts[2] = e->time;
    block->parts[3] = e->extra;
    block->head.stream = stream;
    block->head.items = e->items;
    block->head.first = e->first;
    block->head.last = e->last;
    block->head.entries = e->entries;
    block->head.exits = e->exits;
    block->head.lost = e->lost;
    restart(e);
    return block;
}

bool encoder_met_inner(const struct encoder *e) { return e->met_inner; }

struct encoder *encoder_new(uint64_t own_low, uint64_t own_bytes) {
    struct encoder *e = mem_alloc(sizeof *e);
    e->own_low = own_low;
    e->own_bytes = own_bytes;
    restart(e);
    return e;
}

void encoder_free(struct encoder *e) {
    if (!e)
        return;
    free(e->code.at);
    free(e->time.at);
    free(e->extra.at);
    for (uint32_t i = 0; i < e->shadow_room; i++)
        free(e->shadows[i].frames);
    free(e->shadows);
    dictionary_done(&e->dictionary);
    free(e);
}
