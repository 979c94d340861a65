/*
 * encode() has the fast path: predicted entries and returns, read where the ring has them.
 * unpredicted.c writes codes and corrections for all other events.
 */
#include "trace/encode.h"

#include <string.h>

#include "base/mem.h"
#include "trace/encoder.h"
#include "trace/open_calls.h"
#include "trace/varint.h"

/* Events between the present one and the one that is fetched from memory. It is fetched for once: a
 * line of the ring that stays in this processor's caches holds up the thread that writes there
 * next. The processor's own fetching must not come first. */
enum { AHEAD = 128 };
/* If clocks are no further apart, their lower 48 bits show the difference. */
static const uint64_t NEAR_TICKS = UINT64_C(1) << 46;
/* The sum of so short steps in a run has 48 bits. */
static const uint64_t SHORT_TICKS = UINT64_C(1) << 39;

/* Where encode() stands in a block; it keeps all this in registers. */
struct columns {
    uint8_t *code, *time;
    struct frame *top, *bottom;
    uint64_t last;     /* ticks of the latest rare event, or of the item before the run */
    uint64_t expected; /* clock_sp of the latest event; bits 32 … 47 of the stack pointer are the
                          shadow's */
    uint32_t low, extent; /* `extent` stack pointers from `low` on (bits 0 … 31) are noted */
    uint32_t rare;        /* number of rare events */
    ptrdiff_t climbed;    /* predicted entries minus predicted ends until TOP was at FROM */
    struct frame *from;
    const struct dictionary *dictionary;
};

struct source {      /* of events */
    uint64_t latest; /* ticks; all were written until then */
    bool is_ring;
};

/* Which stack pointers of the present shadow are noted already. */
static void take_extent(struct columns *c, const struct encoder_facts *facts, uint64_t high) {
    uint64_t low = facts->low > high ? facts->low : high, top = high | UINT32_MAX;
    top = facts->high < top ? facts->high : top;
    c->low = (uint32_t)low;
    c->extent = low > top ? 0 : top - low == UINT32_MAX ? UINT32_MAX : (uint32_t)(top - low) + 1;
}

/* What rare events change. */
static void columns_take(struct columns *c, const struct encoder *e) {
    const struct shadow *shadow = &e->shadows[e->current];
    c->bottom = shadow->frames;
    c->expected = c->last << 16 | shadow->high;
    take_extent(c, &e->facts, (uint64_t)shadow->high << 32);
}

static struct columns columns_begin(const struct encoder *e) {
    const struct shadow *shadow = &e->shadows[e->current];
    struct columns c = {.code = e->code.at + e->code.count,
                        .time = e->time.at + e->time.count,
                        .top = shadow->frames + shadow->top,
                        .from = shadow->frames + shadow->top,
                        .last = e->last,
                        .dictionary = &e->dictionary};
    columns_take(&c, e);
    return c;
}

/* Ticks of the latest event. */
static uint64_t columns_last(const struct columns *c) {
    return c->last + (((c->expected >> 16) - c->last) & EVENT_CLOCK_MASK);
}

/* N events were encoded. */
static void columns_end(struct encoder *e, const struct columns *c, uint32_t n) {
    struct shadow *shadow = &e->shadows[e->current];
    ptrdiff_t predicted = n - c->rare;
    uint32_t ends = (uint32_t)((predicted - c->climbed - (c->top - c->from)) / 2);
    e->code.count = (size_t)(c->code - e->code.at);
    e->time.count = (size_t)(c->time - e->time.at);
    shadow->top = (size_t)(c->top - shadow->frames);
    e->last = columns_last(c);
    e->entries += (uint32_t)predicted - ends;
    e->exits += ends;
    e->items += n;
}

/* Encodes EVENT, for which the fast path is not enough. */
static __attribute__((noinline)) struct columns
encode_rare(struct encoder *e, struct columns c, const struct event *event, uint64_t latest) {
    uint64_t ticks = event_ticks(event, latest), last = columns_last(&c);
    c.last = ticks > last ? ticks : last;
    c.climbed += c.top - c.from;
    if (ticks < last)
        e->block.complex = true;
    uint32_t high = (uint32_t)(event->clock_sp & 0xffff);
    struct run run = {c.code, e->extra.at + e->extra.count, c.top, c.last, c.last << 16 | high};
    c.time = varint_put(c.time, c.last - last);
    encode_unpredicted(e, &run, event_key(event), high);
    e->extra.count = (size_t)(run.extra - e->extra.at);
    c.code = run.code;
    c.top = c.from = run.top;
    c.rare++;
    columns_take(&c, e);
    return c;
}

/* An event for the reader of the ring, which the trace does not have. */
static inline bool is_of_ring(uint64_t key) {
    return (key & 3) == EVENT_CONTROL && (key_id(key) == WAIT_EVENT || is_part_event(key_id(key)));
}

/* Pushes the call whose entry is AT if it is predicted. */
static inline bool push_predicted(struct columns *c, const struct event *at) {
    const struct dictionary *d = c->dictionary;
    uint32_t tag = at->site | 1;
    const struct dictionary_slot *slot = &d->slots[dictionary_place(tag, d->mask)];
    if (!varint_likely(slot->tag == tag) && !(slot = dictionary_find(d, tag)))
        return false;
    uint32_t number = slot->number;
    bool predicted = (uint32_t)(key_sp(c->top->key) - at->sp_low) == d->step[c->top->number];
    if (!varint_likely(predicted) || !varint_likely(at->sp_low - c->low < c->extent))
        return false;
    c->code = varint_put(c->code, CODE_ENTRY - 2 + 2 * (uint64_t)number);
    uint64_t clock = at->clock_sp;
    c->top->callees -= clock;
    struct frame *frame = ++c->top;
    frame->key = event_key(at);
    frame->number = number;
    frame->start = clock;
    frame->callees = 0;
    return true;
}

/* Pops the top call if KEY is of its end. */
static inline bool pop_predicted(struct columns *c, uint64_t key, uint64_t clock) {
    uint64_t kind = key - c->top->key; /* both have the same site but for the kind */
    if (kind - EVENT_RETURN > EVENT_TAIL - EVENT_RETURN || c->top == c->bottom)
        return false;
    *c->code++ = (uint8_t)(kind - 1);
    c->top--;
    c->top->callees += clock;
    return true;
}

/* Encodes events from AT on, at most ENCODE_RUN, in a ring up to an event for its reader. The
 * columns have room for them. Returns how many were encoded. */
static size_t encode(struct encoder *e, const struct event *at, size_t count,
                     const struct source *source) {
    uint64_t latest = source->latest;
    const struct event *begin = at, *end = at + count;
    struct columns c = columns_begin(e);
    bool near = latest >= e->last && latest - e->last < NEAR_TICKS;
    uint64_t unusual = near ? ~((SHORT_TICKS << 16) - 1) | 0xffff : UINT64_MAX;
    for (; at < end; at++) {
        uint64_t key = event_key(at), step = at->clock_sp - c.expected;
        __builtin_prefetch(at + AHEAD, 0, 0);
        if (varint_likely(!(step & unusual)) &&
            (pop_predicted(&c, key, at->clock_sp) || (!(key & 3) && push_predicted(&c, at)))) {
            c.expected = at->clock_sp;
            c.time = varint_put(c.time, step >> 16);
            continue;
        }
        if (source->is_ring && is_of_ring(key))
            break;
        c = encode_rare(e, c, at, latest);
    }
    columns_end(e, &c, (uint32_t)(at - begin));
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

static size_t encode_runs(struct encoder *e, const struct event *at, size_t count,
                          const struct source *source) {
    size_t done = 0;
    for (size_t n = 0, wanted = 0; n == wanted && done < count && !encoder_full(e); done += n) {
        wanted = count - done < ENCODE_RUN ? count - done : ENCODE_RUN;
        if (wanted > DISK_BLOCK_ITEMS - e->items)
            wanted = DISK_BLOCK_ITEMS - e->items;
        begin_items(e, event_ticks(&at[done], source->latest), wanted);
        n = encode(e, at + done, wanted, source);
    }
    return done;
}

size_t encoder_ring(struct encoder *e, const struct event *at, size_t count, uint64_t latest) {
    return encode_runs(e, at, count, &(struct source){.latest = latest, .is_ring = true});
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
        struct source source = {0};
        wanted = pack(events + done, count - done < ENCODE_RUN ? count - done : ENCODE_RUN, packed,
                      &source.latest);
        n = encode_runs(e, packed, wanted, &source);
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
    e->block.lost = true;
}

void encoder_thread_end(struct encoder *e, uint64_t ticks) { item(e, ticks, CODE_THREAD_END); }

bool encoder_empty(const struct encoder *e) { return !e->items; }

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
    e->shadow_count = e->current = e->bottom_step = 0;
    shadow_add(e);
    e->taken = encoder_totals(e);
    e->items = e->entries = e->exits = 0;
    e->lost = 0;
    e->block.raises.count = e->block.pauses.count = 0;
    e->block.reach = 0;
    e->block.complex = e->block.lost = false;
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
    if (e->calls)
        open_calls_take(e->calls, e, block);
    restart(e);
    return block;
}

const struct encoder_facts *encoder_facts(const struct encoder *e) { return &e->facts; }

uint64_t encoder_first(const struct encoder *e) { return e->first; }
uint32_t encoder_items(const struct encoder *e) { return e->items; }
uint64_t encoder_last(const struct encoder *e) { return e->last; }

void encoder_follow(struct encoder *e, struct open_calls *calls) { e->calls = calls; }

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
    ARRAY_FREE(&e->block.raises);
    ARRAY_FREE(&e->block.pauses);
    dictionary_done(&e->dictionary);
    free(e);
}
