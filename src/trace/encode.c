/*
 * encode() has the fast path: predicted entries and returns, read where the ring has them.
 * unpredicted.c writes codes and corrections for all other events.
 */
#include "trace/encode.h"

#include <string.h>

#include "base/mem.h"
#include "trace/encoder.h"
#include "trace/varint.h"

enum { AHEAD = 32 }; /* events between the present one and the one that is fetched from memory */
/* If clocks are no further apart, their lower 48 bits show the difference. */
static const uint64_t NEAR_TICKS = UINT64_C(1) << 46;

/* Where encode() stands in a block; it keeps all this in registers. */
struct columns {
    uint8_t *code, *time;
    struct frame *top;
    uint64_t last;      /* ticks */
    uint64_t expected;  /* clock_sp of an event at `last` whose stack pointer's upper part is that
                           of the shadow */
    uint32_t low, high; /* of predicted entries: bits 0 … 31 of their stack pointers */
    uint32_t entries;
};

static struct columns columns_begin(const struct encoder *e) {
    const struct shadow *shadow = &e->shadows[e->current];
    return (struct columns){.code = e->code.at + e->code.count,
                            .time = e->time.at + e->time.count,
                            .top = shadow->frames + shadow->top,
                            .last = e->last,
                            .expected = e->last << 16 | shadow->high,
                            .low = UINT32_MAX};
}

/* Notes the stack pointers of predicted entries, which are on the present shadow. */
static void note_predicted(struct encoder *e, const struct columns *c) {
    uint64_t high = (uint64_t)e->shadows[e->current].high << 32;
    if (c->low > c->high)
        return;
    e->facts.low = (high | c->low) < e->facts.low ? high | c->low : e->facts.low;
    e->facts.high = (high | c->high) > e->facts.high ? high | c->high : e->facts.high;
}

static void columns_end(struct encoder *e, const struct columns *c) {
    struct shadow *shadow = &e->shadows[e->current];
    note_predicted(e, c);
    e->code.count = (size_t)(c->code - e->code.at);
    e->time.count = (size_t)(c->time - e->time.at);
    shadow->top = (size_t)(c->top - shadow->frames);
    e->last = c->last;
    e->entries += c->entries;
}

/* Encodes the code of EVENT, which the shadow does not predict; its time is written. */
static __attribute__((noinline)) struct columns
unpredicted(struct encoder *e, struct columns c, const struct event *event, uint64_t key) {
    struct run run = {c.code, e->extra.at + e->extra.count, c.top};
    note_predicted(e, &c);
    encode_unpredicted(e, &run, key, (uint32_t)(event->clock_sp & 0xffff));
    e->extra.count = (size_t)(run.extra - e->extra.at);
    c.code = run.code;
    c.top = run.top;
    c.expected = c.last << 16 | e->shadows[e->current].high;
    c.low = UINT32_MAX;
    c.high = 0;
    return c;
}

/* An event for the reader of the ring, which the trace does not have. */
static inline bool is_of_ring(uint64_t key) {
    return (key & 3) == EVENT_CONTROL && (key_id(key) == WAIT_EVENT || is_slice_event(key_id(key)));
}

static inline void put_time(struct columns *c, const struct event *event, uint64_t latest) {
    uint64_t ticks = event_ticks(event, latest), step = ticks > c->last ? ticks - c->last : 0;
    c->last += step;
    c->expected = c->last << 16 | (c->expected & 0xffff);
    c->time = varint_put(c->time, step);
}

/* Encodes events from AT on, at most ENCODE_RUN, up to an event of the ring. The columns have room
 * for them. Returns how many were encoded. */
static size_t encode(struct encoder *e, const struct event *at, size_t count, uint64_t latest) {
    const struct event *begin = at, *end = at + count;
    struct columns c = columns_begin(e);
    bool near = latest >= c.last && latest - c.last < NEAR_TICKS;
    for (; at < end; at++) {
        uint64_t key, step = at->clock_sp - c.expected;
        memcpy(&key, &at->site, sizeof key);
        __builtin_prefetch(at + AHEAD);
        if (!varint_likely(!is_of_ring(key)))
            break;
        bool same = true;
        if (varint_likely(near & !(step & 0xffff) & ((int64_t)step >= 0))) {
            c.last += step >> 16;
            c.expected = at->clock_sp;
            c.time = varint_put(c.time, step >> 16);
        } else {
            same = !((at->clock_sp ^ c.expected) & 0xffff);
            put_time(&c, at, latest);
        }
        unsigned kind = key & 3;
        if (kind == EVENT_ENTRY) {
            c.entries++;
            uint32_t number = dictionary_number(&e->dictionary, key_id(key)), sp = key_sp(key);
            uint32_t predicted = key_sp(c.top->key) - e->dictionary.step[c.top->number];
            if (varint_likely((predicted == sp) & same)) {
                c.low = sp < c.low ? sp : c.low;
                c.high = sp > c.high ? sp : c.high;
                c.code = varint_put(c.code, CODE_ENTRY + 2 * (uint64_t)(number - 1));
                *++c.top = (struct frame){.key = key, .number = number};
                continue;
            }
        } else if (varint_likely((c.top->key == key - kind) & (kind <= EVENT_TAIL) & same)) {
            *c.code++ = (uint8_t)(kind - 1);
            c.top--;
            continue;
        }
        c = unpredicted(e, c, at, key);
    }
    columns_end(e, &c);
    return (size_t)(at - begin);
}

/* Makes room for COUNT items. TICKS is the time of the first one. */
static void begin_items(struct encoder *e, uint64_t ticks, size_t count) {
    bytes_reserve(&e->code, count * ENCODE_CODE_BYTES);
    bytes_reserve(&e->time, count * VARINT_MAX_BYTES);
    bytes_reserve(&e->extra, count * ENCODE_EXTRA_BYTES);
    shadow_reserve(&e->shadows[e->current]);
    if (e->items)
        return;
    if (ticks > e->last)
        e->last = ticks;
    e->first = e->last;
}

size_t encoder_ring(struct encoder *e, const struct event *at, size_t count, uint64_t latest) {
    size_t done = 0;
    for (size_t n = 0, wanted = 0; n == wanted && done < count && !encoder_full(e); done += n) {
        wanted = count - done < ENCODE_RUN ? count - done : ENCODE_RUN;
        if (wanted > DISK_BLOCK_ITEMS - e->items)
            wanted = DISK_BLOCK_ITEMS - e->items;
        begin_items(e, event_ticks(&at[done], latest), wanted);
        uint32_t non_exits = e->entries + e->controls;
        n = encode(e, at + done, wanted, latest);
        e->exits += (uint32_t)n - (e->entries + e->controls - non_exits);
        e->items += (uint32_t)n;
    }
    return done;
}

static uint64_t between(uint64_t a, uint64_t b) { return a < b ? b - a : a - b; }

/* Packs up to COUNT events, which are near to each other in time, as a ring has them. Returns how
 * many. */
static size_t pack(const struct trace_event *events, size_t count, struct event *ret,
                   uint64_t *ret_latest) {
    uint64_t first = events->ticks, latest = first;
    size_t n = 0;
    for (; n < count && between(first, events[n].ticks) < NEAR_TICKS; n++) {
        latest = events[n].ticks > latest ? events[n].ticks : latest;
        ret[n] = event_make(events[n].ticks, events[n].site, events[n].sp);
    }
    *ret_latest = latest;
    return n;
}

size_t encoder_events(struct encoder *e, const struct trace_event *events, size_t count) {
    struct event packed[ENCODE_RUN];
    size_t done = 0;
    for (size_t n = 0, wanted = 0; n == wanted && done < count && !encoder_full(e); done += n) {
        uint64_t latest;
        wanted = pack(events + done, count - done < ENCODE_RUN ? count - done : ENCODE_RUN, packed,
                      &latest);
        n = encoder_ring(e, packed, wanted, latest);
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

const struct encoder_facts *encoder_facts(const struct encoder *e) { return &e->facts; }

uint64_t encoder_last(const struct encoder *e) { return e->last; }

struct encoder *encoder_new(uint64_t own_low, uint64_t own_bytes) {
    struct encoder *e = mem_alloc(sizeof *e);
    e->own_low = own_low;
    e->own_bytes = own_bytes;
    e->facts.low = UINT64_MAX;
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
