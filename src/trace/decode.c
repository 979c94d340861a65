/* decode_code() reads one code; common entries and returns are inline, others in decode_rare(). */
#include "trace/decode.h"

#include <string.h>

#include "base/mem.h"
#include "trace/varint.h"

enum { FIRST_FRAMES = 32 };

/* The state inside decode_items(), which the fast path keeps in registers. */
struct run {
    const uint8_t *code;
    struct decode_frame *top, *limit;
    uint64_t high; /* of the shadow */
};

enum decoded { DECODED_ITEM, DECODED_STATE /* the code made no item */, DECODED_DAMAGED };

static struct decode_frame *shadow_bottom(const struct decoder *d) {
    return d->shadows[d->current].frames;
}

static void shadow_leave(struct decoder *d, const struct run *run) {
    struct decode_shadow *s = &d->shadows[d->current];
    s->top = (size_t)(run->top - s->frames);
}

static void shadow_begin(struct decode_shadow *s) {
    if (!s->frames) {
        s->room = FIRST_FRAMES;
        s->frames = mem_resize(NULL, s->room, sizeof *s->frames);
    }
    s->top = 0;
    s->high = 0;
    s->frames[0] = (struct decode_frame){0};
}

static void shadow_enter(struct decoder *d, struct run *run, uint32_t to) {
    struct decode_shadow *s = &d->shadows[to];
    d->current = to;
    for (; d->used <= to; d->used++)
        shadow_begin(&d->shadows[d->used]);
    run->top = s->frames + s->top;
    run->limit = s->frames + s->room;
    run->high = s->high;
}

static __attribute__((noinline)) void shadow_grow(struct decoder *d, struct run *run) {
    struct decode_shadow *s = &d->shadows[d->current];
    shadow_leave(d, run);
    s->room *= 2;
    s->frames = mem_resize(s->frames, s->room, sizeof *s->frames);
    run->top = s->frames + s->top;
    run->limit = s->frames + s->room;
}

/* The next number of the extra column. The caller checks the column's end. */
static uint64_t next_extra(struct decoder *d) {
    return d->extra < d->extra_end ? varint_get(&d->extra) : (d->extra++, 0);
}

/* Reads a function and a stack pointer from the extra column into ITEM. *RET_DELTA: the stack
 * pointer's distance from the top frame. False: damaged. */
static bool function_and_sp(struct decoder *d, const struct run *run, struct trace_item *item,
                            uint32_t *ret_delta) {
    uint64_t number = next_extra(d);
    if (number >= d->functions)
        return false;
    int64_t delta = unzigzag(next_extra(d));
    *ret_delta = (uint32_t)delta;
    item->id = d->id[number + 1];
    item->number = (uint32_t)number + 1;
    bool has_value = is_value_event(item->id) && item->event == EVENT_CONTROL;
    item->sp = has_value ? (uint64_t)delta & DISK_SP_MAX
                         : run->high | (uint32_t)(run->top->sp + *ret_delta);
    return true;
}

static enum decoded decode_other_exit(struct decoder *d, struct run *run, struct trace_item *item) {
    uint32_t delta;
    if (!function_and_sp(d, run, item, &delta))
        return DECODED_DAMAGED;
    if (run->top == shadow_bottom(d))
        run->top->sp = (uint32_t)item->sp;
    else if (!delta)
        run->top--;
    return DECODED_ITEM;
}

/* Every code but entries and exits of the top frame. */
static __attribute__((noinline)) enum decoded decode_rare(struct decoder *d, struct run *run,
                                                          uint64_t code, struct trace_item *item) {
    uint64_t n;
    uint32_t delta;
    switch (code) {
    case CODE_OTHER_RETURN:
    case CODE_OTHER_TAIL:
        item->event = code == CODE_OTHER_TAIL ? EVENT_TAIL : EVENT_RETURN;
        return decode_other_exit(d, run, item);
    case CODE_SWITCH:
        n = next_extra(d);
        if (n >= DISK_SHADOWS)
            return DECODED_DAMAGED;
        shadow_leave(d, run);
        shadow_enter(d, run, (uint32_t)n);
        return DECODED_STATE;
    case CODE_POP:
        n = next_extra(d);
        if (n > (size_t)(run->top - shadow_bottom(d)))
            return DECODED_DAMAGED;
        run->top -= n;
        return DECODED_STATE;
    case CODE_LOST:
        *item = (struct trace_item){.kind = TRACE_LOST, .stream = d->stream, .lost = next_extra(d)};
        return DECODED_ITEM;
    case CODE_CONTROL:
        item->event = EVENT_CONTROL;
        return function_and_sp(d, run, item, &delta) ? DECODED_ITEM : DECODED_DAMAGED;
    case CODE_HIGH:
        n = next_extra(d);
        if (n > DISK_HIGH_MAX)
            return DECODED_DAMAGED;
        run->high = d->shadows[d->current].high = n << 32;
        return DECODED_STATE;
    default:
        *item = (struct trace_item){.kind = TRACE_THREAD_END, .stream = d->stream};
        return DECODED_ITEM;
    }
}

/* False: no such function. */
static inline bool decode_entry(struct decoder *d, struct run *run, uint64_t code,
                                struct trace_item *item) {
    uint64_t number = (code - CODE_ENTRY) / 2 + 1;
    if (number > d->functions)
        return false;
    uint32_t *step = &d->step[run->top->number];
    if (code & 1)
        *step -= (uint32_t)unzigzag(next_extra(d));
    uint32_t sp = run->top->sp - *step;
    item->id = d->id[number];
    item->number = (uint32_t)number;
    item->event = EVENT_ENTRY;
    item->sp = run->high | sp;
    if (++run->top == run->limit)
        shadow_grow(d, run);
    *run->top = (struct decode_frame){(uint32_t)number, sp};
    return true;
}

/* False: there is no frame. */
static inline bool decode_top_exit(struct decoder *d, struct run *run, uint64_t code,
                                   struct trace_item *item) {
    if (!run->top->number)
        return false;
    item->id = d->id[run->top->number];
    item->number = run->top->number;
    item->event = code == CODE_TAIL ? EVENT_TAIL : EVENT_RETURN;
    item->sp = run->high | run->top->sp;
    run->top--;
    return true;
}

/* Decodes one code. An item then lacks only its time. */
static inline enum decoded decode_code(struct decoder *d, struct run *run,
                                       struct trace_item *item) {
    uint64_t code = varint_get(&run->code);
    item->kind = TRACE_EVENT;
    item->stream = d->stream;
    item->lost = 0;
    if (code >= CODE_ENTRY)
        return decode_entry(d, run, code, item) ? DECODED_ITEM : DECODED_DAMAGED;
    if (varint_likely(code <= CODE_TAIL))
        return decode_top_exit(d, run, code, item) ? DECODED_ITEM : DECODED_DAMAGED;
    struct run copy = *run; /* so that *run itself can live in registers */
    enum decoded result = decode_rare(d, &copy, code, item);
    *run = copy;
    return result;
}

size_t decode_items(struct decoder *d, struct trace_item *items, size_t count) {
    struct decode_shadow *s = &d->shadows[d->current];
    struct run run = {d->code, s->frames + s->top, s->frames + s->room, s->high};
    const uint8_t *time = d->time;
    uint64_t ticks = d->ticks;
    size_t n = 0;
    if (count > d->items_left)
        count = d->items_left;
    if (d->damaged)
        count = 0;
    while (n < count && run.code < d->code_end) {
        enum decoded result = decode_code(d, &run, &items[n]);
        if (result == DECODED_STATE)
            continue;
        ticks += varint_get(&time);
        items[n].ticks = ticks;
        if (result == DECODED_DAMAGED || run.code > d->code_end || time > d->time_end ||
            d->extra > d->extra_end)
            break;
        n++;
    }
    d->damaged |= n < count;
    d->code = run.code;
    d->time = time;
    d->ticks = ticks;
    d->items_left -= (uint32_t)n;
    shadow_leave(d, &run);
    return n;
}

/* Reads the dictionary at P. False: it does not match HEAD. */
static bool dictionary_read(struct decoder *d, const struct disk_events *head, const uint8_t *p) {
    const uint8_t *end = p + head->dictionary_bytes;
    if (head->functions > DISK_BLOCK_ITEMS || head->functions > head->dictionary_bytes)
        return false;
    if (head->functions + 1 > d->functions_room) {
        d->functions_room = head->functions + 1;
        d->id = mem_resize(d->id, d->functions_room, sizeof *d->id);
        d->step = mem_resize(d->step, d->functions_room, sizeof *d->step);
    }
    d->functions = head->functions;
    memset(d->step, 0, (d->functions + 1) * sizeof *d->step);
    d->id[0] = 0;
    for (uint32_t i = 1; i <= d->functions; i++) {
        d->id[i] = (d->id[i - 1] + (uint32_t)unzigzag(varint_get(&p))) & DISK_ID_MAX;
        if (p > end)
            return false;
    }
    return p == end;
}

static void first_shadow(struct decoder *d) {
    struct run run = {0};
    d->used = 0;
    shadow_enter(d, &run, 0);
}

bool decode_begin(struct decoder *d, const struct disk_block *block, const uint8_t *raw) {
    struct disk_events head;
    if (block->raw < sizeof head || block->items > DISK_BLOCK_ITEMS)
        return false;
    memcpy(&head, raw, sizeof head);
    uint64_t sum = sizeof head + (uint64_t)head.dictionary_bytes + head.code_bytes +
                   head.time_bytes + head.extra_bytes;
    if (sum != block->raw || !dictionary_read(d, &head, raw + sizeof head))
        return false;
    d->code = raw + sizeof head + head.dictionary_bytes;
    d->code_end = d->time = d->code + head.code_bytes;
    d->time_end = d->extra = d->time + head.time_bytes;
    d->extra_end = d->extra + head.extra_bytes;
    d->ticks = block->first;
    d->items_left = block->items;
    d->stream = block->stream;
    d->damaged = false;
    first_shadow(d);
    return true;
}

void decode_done(struct decoder *d) {
    for (int i = 0; i < DISK_SHADOWS; i++)
        free(d->shadows[i].frames);
    free(d->id);
    free(d->step);
}
