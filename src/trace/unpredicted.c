/* Codes and corrections for events that the shadow of the stack does not predict. */
#include <string.h>

#include "base/mem.h"
#include "trace/encoder.h"
#include "trace/open_calls.h"
#include "trace/varint.h"

enum { NEAR = 64 * 1024 }; /* a stack pointer this close to a shadow's top belongs to it */

static uint32_t left_place(uint64_t key) { return key_sp(key) / 16 % ENCODE_LEFT; }
static bool is_own(const struct encoder *e, uint64_t sp) { return sp - e->own_low < e->own_bytes; }

static struct frame *shadow_bottom(const struct encoder *e) {
    return e->shadows[e->current].frames;
}

struct frame *shadow_reserve(struct shadow *s) {
    if (s->room < s->top + ENCODE_RUN + 1) {
        s->room = s->top * 2 + ENCODE_RUN + 1;
        s->frames = mem_resize(s->frames, s->room, sizeof *s->frames);
    }
    return s->frames + s->top;
}

static void shadow_begin(struct shadow *s) {
    s->top = s->high = 0;
    shadow_reserve(s);
    s->frames[0] = (struct frame){.key = ENCODE_NO_FRAME};
}

void shadow_add(struct encoder *e) {
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
        run->top->callees += run->clock;
    }
    if (run->top == old)
        return;
    *run->code++ = CODE_POP;
    run->extra = varint_put(run->extra, (uint64_t)(old - run->top));
}

static void shadow_switch(struct encoder *e, struct run *run, uint32_t to) {
    e->current = to;
    e->block.complex = true;
    run->top = shadow_reserve(&e->shadows[to]);
    *run->code++ = CODE_SWITCH;
    run->extra = varint_put(run->extra, to);
}

/* The next event is on another shadow, at SP. If that is above calls that are still open on the
 * same stack, the event may have left them, and they may return. */
static void note_switch(struct encoder *e, const struct shadow *now, uint64_t sp) {
    uint64_t top = (uint64_t)now->high << 32 | key_sp(now->frames[now->top].key);
    e->facts.met_inner |= now->top && sp > top && is_own(e, top) && is_own(e, sp);
}

/* Makes the shadow of SP current. */
static void shadow_select(struct encoder *e, struct run *run, uint64_t sp) {
    struct shadow *now = &e->shadows[e->current];
    now->top = (size_t)(run->top - now->frames);
    bool unused = run->top->key == ENCODE_NO_FRAME;
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

/* ---- calls from before the block ---- */

static uint64_t whole_sp(const struct encoder *e, uint32_t sp) {
    return (uint64_t)e->shadows[e->current].high << 32 | sp;
}

/* If no call of the block is open: those of before at SP and below have ended. */
static __attribute__((noinline)) void add_raise(struct encoder *e, const struct run *run,
                                                uint64_t sp) {
    struct block_calls *b = &e->block;
    ARRAY_PUSH(&b->raises,
               ((struct raise){sp, run->ticks, run->top->callees >> 16, b->pauses.count}));
    b->reach = sp;
    run->top->callees = 0;
}

static inline void note_reach(struct encoder *e, const struct run *run, uint64_t sp) {
    if (!run->top->number && sp > e->block.reach)
        add_raise(e, run, sp);
}

/* Whether function ID has a call at SP that was open before the block, and still is. */
static bool is_older_call(const struct encoder *e, const struct run *run, uint64_t sp,
                          uint32_t id) {
    return !run->top->number && sp > e->block.reach && e->calls && open_calls_has(e->calls, sp, id);
}

/* Lets the fast path predict entries from the bottom, or not. */
static void predict_at_bottom(struct encoder *e, bool may) {
    e->dictionary.step[0] = may ? e->bottom_step : DICTIONARY_NO_STEP;
}

/* All open calls stood still for LENGTH ticks. */
static void note_pause(struct encoder *e, const struct run *run, uint64_t length) {
    for (struct frame *f = shadow_bottom(e); f < run->top; f++) {
        uint64_t lasted = (run->ticks - (f[1].start >> 16)) & EVENT_CLOCK_MASK;
        f->callees -= (lasted < length ? lasted : length) << 16;
    }
    ARRAY_PUSH(&e->block.pauses, ((struct trace_pause){run->ticks, length}));
}

/* ---- events ---- */

static uint32_t step_of(const struct encoder *e, uint32_t number) {
    uint64_t step = e->dictionary.step[number];
    return !number ? e->bottom_step : step == DICTIONARY_NO_STEP ? 0 : (uint32_t)step;
}

static void set_step(struct encoder *e, uint32_t number, uint32_t step) {
    e->dictionary.step[number] = step;
    if (!number)
        e->bottom_step = step;
}

static void unpredicted_entry(struct encoder *e, struct run *run, uint64_t key) {
    uint32_t sp = key_sp(key), number = dictionary_number(&e->dictionary, key_id(key));
    e->entries++;
    pop(e, run, sp, true);
    note_reach(e, run, whole_sp(e, sp));
    uint32_t top_sp = key_sp(run->top->key), predicted = top_sp - step_of(e, run->top->number);
    uint64_t code = CODE_ENTRY + 2 * (uint64_t)(number - 1);
    if (predicted != sp) {
        code++;
        run->extra = varint_put(run->extra, zigzag((int32_t)(sp - predicted)));
        set_step(e, run->top->number, top_sp - sp);
    }
    if (!run->top->number) /* now it was noted where such entries are */
        predict_at_bottom(e, true);
    run->code = varint_put(run->code, code);
    run->top->callees -= run->clock;
    *++run->top = (struct frame){.key = key, .number = number, .start = run->clock};
}

static void pop_ended(struct run *run) {
    run->top--;
    run->top->callees += run->clock;
}

static void unpredicted_exit(struct encoder *e, struct run *run, uint64_t key) {
    uint32_t sp = key_sp(key), kind = (uint32_t)key & 3;
    e->exits++;
    pop(e, run, sp, false);
    if (run->top->key == (key & ~(uint64_t)3)) {
        *run->code++ = kind == EVENT_TAIL ? CODE_TAIL : CODE_RETURN;
        pop_ended(run);
        return;
    }
    bool is_older = is_older_call(e, run, whole_sp(e, sp), key_id(key));
    note_reach(e, run, whole_sp(e, sp));
    if (!is_older && e->left[left_place(key)] == (key & ~(uint64_t)3))
        e->facts.met_inner |= is_own(e, whole_sp(e, sp));
    uint32_t top_sp = key_sp(run->top->key);
    *run->code++ = kind == EVENT_TAIL ? CODE_OTHER_TAIL : CODE_OTHER_RETURN;
    run->extra = varint_put(run->extra, dictionary_number(&e->dictionary, key_id(key)) - 1);
    run->extra = varint_put(run->extra, zigzag((int32_t)(sp - top_sp)));
    if (run->top == shadow_bottom(e)) {
        run->top->key = (uint64_t)sp << 32 | ENCODE_NO_FRAME;
        predict_at_bottom(e, (int32_t)e->bottom_step >= 0);
    } else if (sp == top_sp) {
        pop_ended(run);
    }
}

static void encode_control(struct encoder *e, struct run *run, uint64_t key) {
    uint32_t sp = key_sp(key);
    e->facts.controls++;
    pop(e, run, sp, false);
    note_reach(e, run, whole_sp(e, sp) - 1);
    *run->code++ = CODE_CONTROL;
    run->extra = varint_put(run->extra, dictionary_number(&e->dictionary, key_id(key)) - 1);
    run->extra = varint_put(run->extra, zigzag((int32_t)(sp - key_sp(run->top->key))));
}

/* An event with a value, which is no stack pointer: it changes no prediction. */
static void encode_value(struct encoder *e, struct run *run, uint32_t id, uint64_t value) {
    *run->code++ = CODE_CONTROL;
    run->extra = varint_put(run->extra, dictionary_number(&e->dictionary, id) - 1);
    run->extra = varint_put(run->extra, zigzag((int64_t)value));
    e->facts.missed += id == CHAIN_EVENT && value == CHAIN_MISSED;
    e->block.complex |= id == CHAIN_EVENT;
    if (!is_pause_event(id))
        return;
    trace_pauses_add(&e->facts.pauses, id, value);
    if (!(id & PAUSE_IN_CALL))
        note_pause(e, run, value);
}

/* Events that describe stacks tell of stack pointers that other events do not have. */
static void note_extent(struct encoder_facts *facts, uint32_t id, uint64_t sp) {
    bool anywhere = id >= STACK_EVENTS;
    uint64_t low = anywhere ? 0 : sp, high = anywhere ? UINT64_MAX : sp;
    facts->low = low < facts->low ? low : facts->low;
    facts->high = high > facts->high ? high : facts->high;
}

void encode_unpredicted(struct encoder *e, struct run *run, uint64_t key, uint32_t high) {
    uint64_t sp = (uint64_t)high << 32 | key_sp(key);
    unsigned kind = key & 3;
    if (kind == EVENT_CONTROL && is_value_event(key_id(key))) {
        encode_value(e, run, key_id(key), sp);
        return;
    }
    note_extent(&e->facts, key_id(key), sp);
    shadow_select(e, run, sp);
    if (e->shadows[e->current].high != high) {
        e->block.complex |= run->top->key != ENCODE_NO_FRAME;
        e->shadows[e->current].high = high;
        *run->code++ = CODE_HIGH;
        run->extra = varint_put(run->extra, high);
    }
    if (kind == EVENT_ENTRY)
        unpredicted_entry(e, run, key);
    else if (kind == EVENT_CONTROL)
        encode_control(e, run, key);
    else
        unpredicted_exit(e, run, key);
}
