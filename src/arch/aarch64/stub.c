/* Writes event stubs (stub.h), and returns the state of a thread at any instruction of one. */
#include "arch/aarch64/stub.h"

#include "arch/aarch64/capture.h"
#include "arch/aarch64/judge.h"
#include "arch/aarch64/writer.h"

static uint32_t pair(uint32_t word, uint32_t rt, uint32_t rt2, int32_t offset) {
    return word | ((uint32_t)(offset / 8) & 0x7f) << 15 | rt2 << 10 | A64_SP << 5 | rt;
}

/* ---- the stub's parts ---- */

static void save(struct writer *w, uint8_t variant) {
    int32_t frame = (int32_t)a64_stub_frame(variant);
    put(w, pair(0xa9800000, 0, 1, -frame)); /* stp x0, x1, [sp, #-frame]! */
    for (uint32_t n = 2; n < a64_stub_saved(variant); n += 2) {
        w->state.pushed = (uint8_t)n;
        put(w, pair(0xa9000000, n, n + 1, (int32_t)n * 8));
    }
    w->state.pushed = (uint8_t)a64_stub_saved(variant);
}

enum { LOADS_MOST = 8 };
/* The instructions that restore registers; returns their number. */
static uint32_t loads(uint8_t variant, uint32_t ret[LOADS_MOST]) {
    uint32_t frame = a64_stub_frame(variant), count = 0;
    for (uint32_t n = a64_stub_saved(variant) - 2; n > 0; n -= 2)
        ret[count++] = pair(0xa9400000, n, n + 1, (int32_t)n * 8);
    ret[count++] = pair(0xa8c00000, 0, 1, (int32_t)frame);
    return count;
}

static void restore(struct writer *w, uint8_t variant) {
    uint32_t words[LOADS_MOST], count = loads(variant, words);
    for (uint32_t i = 0; i < count; i++) {
        put(w, words[i]);
        w->state.pushed = (uint8_t)(2 * (count - 1 - i));
    }
}

/* Leaves the stub unless the return address is within CALLER. xpaclri removes a signature from x30;
 * it is a nop on processors without signatures. */
static void check_caller(struct writer *w, const struct span *caller, size_t leaves[2]) {
    put(w, move(1, A64_LR));
    put(w, 0xd50320ff); /* xpaclri */
    w->state.displaced = true;
    put(w, move(2, A64_LR));
    put(w, move(A64_LR, 1));
    w->state.displaced = false;
    put_constant(w, 1, caller->start, 3);
    put(w, sub(2, 2, 1));
    leaves[0] = w->size;
    put(w, branch_by_sign(2, true));
    put_constant(w, 1, caller->end - caller->start, 2);
    put(w, sub(2, 2, 1));
    leaves[1] = w->size;
    put(w, branch_by_sign(2, false));
}

/* Loads the lane into x3. If the key is another thread's, the agent looks at the whole table. */
static void find_lane(struct writer *w, size_t retry) {
    uint64_t here = w->size - (uint64_t)w->agent, lanes = -(uint64_t)LANES_BYTES;
    put(w, 0xd53bd041); /* mrs x1, tpidr_el0 */
    put(w, bits(2, 1, LANES_SHIFT, LANES_BITS));
    here += 2 * A64_BYTES;
    uint32_t pages = (uint32_t)((lanes >> 12) - (here >> 12));
    put(w, 0x90000000 | (pages & 3) << 29 | (pages >> 2 & 0x7ffff) << 5 | 3); /* adrp x3 */
    put(w, add_constant(3, 3, (uint32_t)lanes & (A64_PAGE - 1)));
    put(w, shifted_left(add(3, 3, 2), 4));
    put(w, 0xa9400c62); /* ldp x2, x3, [x3] */
    put(w, sub(2, 2, 1));
    put(w, skipping(branch_by_value(2, false), 2));
    put(w, over(adr(0), (int64_t)retry - (int64_t)w->size));
    put_agent(w, AGENT_ENTRY_SEEK);
}

/* Reserves a slot; x1 is the head before. A signal between the two accesses makes the second fail.
 */
static void reserve(struct writer *w) {
    put(w, 0xc85f7c61);                      /* ldxr x1, [x3] */
    put(w, add_constant(2, 1, EVENT_BYTES)); /* add x2, x1, #16 */
    put(w, 0xc800fc62);                      /* stlxr w0, x2, [x3] */
    w->state.unsure = true;
    put(w, 0x35000000 | (0x7ffff & (uint32_t)-3) << 5); /* cbnz w0, ldxr */
    w->state.unsure = false;
    w->state.reserved = true;
}

/* A control event has the stack pointer plus one; those of calls are even. Calls push nothing, so a
 * function called from there, which is gone now, had the same stack pointer at its entry. */
static void put_value(struct writer *w, uint8_t variant, enum event_kind kind, uint32_t to) {
    if (variant & STUB_GO_FIRST)
        put(w, ldr(to, A64_SP, 0));
    else if (variant & STUB_GO_SECOND)
        put(w, ldr(to, A64_SP, 8));
    else
        put(w, add_constant(to, A64_SP, a64_stub_frame(variant) + (kind == EVENT_CONTROL)));
}

static void event(struct writer *w, const struct stub_spec *s) {
    size_t retry = w->size;
    w->retry = (uint32_t)retry;
    find_lane(w, retry);
    reserve(w);
    put(w, ldr(2, 3, LANE_LIMIT));
    put(w, sub(2, 1, 2));
    put(w, skipping(branch_by_sign(2, true), 2));
    bool again = s->overflow != OVERFLOW_DROP;
    size_t full = w->size;
    put(w, adr(0));
    put_agent(w, again ? AGENT_ENTRY_WAIT : AGENT_ENTRY_DROP);
    if (s->overflow == OVERFLOW_OVERWRITE)
        put(w, 0xd5033abf); /* dmb ishst */
    put(w, read_clock(0));
    put(w, within_ring(1, 1, s->ring_bytes));
    put(w, add(3, 3, 1));
    put(w, add_pages(3, 3, LANE_RING / A64_PAGE));
    put_value(w, s->variant, s->site & 3, 1);
    w->site_at = (uint32_t)w->size;
    put_constant(w, 2, s->site, 2);
    put(w, 0x29000000 | EVENT_SITE / 4 << 15 | 0x462); /* stp w2, w1, [x3, #8] */
    put(w, bits(1, 1, 32, 16));
    put(w, shifted_left(orr(0, 1, 0), 16));
    put(w, 0xc89ffc60); /* stlr x0, [x3] */
    w->state.reserved = false;
    w->state.committed = true;
    set_target(w, full, (int64_t)(again ? retry : w->size));
}
_Static_assert(EVENT_SP_LOW == EVENT_SITE + 4, "spelt out in event()");
_Static_assert(EVENT_CLOCK_SP == 0, "spelt out in event()");
_Static_assert(LANE_HEAD == 0, "spelt out in reserve()");

/* The event, and with it the slots before it: what the agent skips if there is no room. */
static void commit(struct writer *w, const struct stub_spec *s) {
    put_find_slot(w, 5, s->ring_bytes);
    put_value(w, s->variant, s->site & 3, 6);
    w->site_at = (uint32_t)w->size;
    put_constant(w, 2, s->site, 2);
    put(w, with_registers(0x29000000 | EVENT_SITE / 4 << 15 | 6 << 10, 2, 1, 0)); /* stp */
    put(w, bits(6, 6, 32, 16));
    put(w, orr(6, 6, 4));
    put(w, str(6, 1, EVENT_CLOCK_SP));
    if (s->overflow == OVERFLOW_OVERWRITE) {
        put(w, ldr(6, 3, LANE_HEAD));
        put(w, sub(6, 5, 6));
        put(w, ldr(2, 3, LANE_SLICE_SLOTS));
        put(w, shifted_right(add(2, 2, 6), 4));
        put(w, str(2, 3, LANE_SLICE_SLOTS));
    }
    put(w, add_constant(5, 5, EVENT_BYTES));
    put(w, 0xc89ffc65); /* stlr x5, [x3] */
    w->state.committed = true;
}

static uint32_t commit_bytes(const struct stub_spec *s) {
    uint8_t scratch[STUB_MAX_BYTES];
    struct writer w = {.out = scratch};
    commit(&w, s);
    return (uint32_t)w.size;
}

static void captured_event(struct writer *w, const struct stub_spec *s) {
    size_t retry = w->size;
    w->retry = (uint32_t)retry;
    find_lane(w, retry);
    if (s->overflow == OVERFLOW_OVERWRITE)
        put(w, 0xd5033abf); /* dmb ishst */
    put(w, read_clock(4));
    put(w, shifted_left(orr(4, A64_ZERO, 4), 16));
    w->capture_at = (uint32_t)w->size;
    if (s->capture)
        a64_capture_emit(w, s, commit_bytes(s));
    commit(w, s);
}

static void hook(struct writer *w, uint8_t variant) {
    w->retry = (uint32_t)w->size;
    put(w, skipping(adr(0), 1));
    put_agent(w, variant & STUB_GUARD ? AGENT_ENTRY_GUARD : AGENT_ENTRY_HOOK);
    w->state.committed = true; /* what follows is `done` */
}

static void slice(struct writer *w, const struct stub_spec *s) {
    size_t retry = w->size;
    w->retry = (uint32_t)retry;
    find_lane(w, retry);
    put(w, read_clock(4));
    put(w, shifted_left(orr(4, A64_ZERO, 4), 16));
    put(w, add_constant(1, A64_SP, a64_stub_frame(s->variant)));
    put_constant(w, 2, s->overflow != OVERFLOW_DROP, 1);
    put(w, skipping(adr(0), 1));
    put_agent(w, AGENT_ENTRY_SLICE);
    w->state.committed = true; /* what follows is `done` */
}

/* All but the last way out, which goes on to the event. */
static void judge(struct writer *w, const struct stub_spec *s) {
    uint32_t words[LOADS_MOST];
    const uint32_t way_out = loads(s->variant, words) * A64_BYTES;
    w->retry = (uint32_t)w->size;
    find_lane(w, w->retry);
    w->capture_at = (uint32_t)w->size;
    if (s->judged != JUDGED_ENTRY || s->predicate)
        a64_judge_emit(w, s, way_out + A64_BYTES);
    const struct stub_state saved = w->state;
    restore(w, s->variant);
    put(w, over(branch(), A64_BYTES + way_out + s->skip)); /* behind the event */
    w->state = saved;
}

static void write_stub(struct writer *w, const struct stub_spec *s) {
    size_t leaves[2] = {0};
    save(w, s->variant);
    if (s->variant & STUB_CALLER)
        check_caller(w, &s->caller, leaves);
    if (s->variant & STUB_HOOK)
        hook(w, s->variant);
    else if (stub_judges(s->variant))
        judge(w, s);
    else if (stub_slices(s->variant))
        slice(w, s);
    else if (stub_captures(s->variant))
        captured_event(w, s);
    else
        event(w, s);
    for (int i = 0; i < 2 && leaves[i]; i++)
        set_target(w, leaves[i], (int64_t)w->size);
    restore(w, s->variant);
}

size_t a64_stub_emit(uint8_t *out, const struct stub_spec *spec) {
    struct writer w = {.out = out, .agent = spec->agent};
    write_stub(&w, spec);
    return w.size;
}

/* Writes a stub to a scratch buffer, for its layout. STATES may be NULL. */
static struct writer lay_out(uint8_t variant, enum overflow overflow, struct stub_state *states) {
    uint8_t scratch[STUB_MAX_BYTES];
    struct stub_spec spec = {.variant = variant, .ring_bytes = 4096, .overflow = overflow};
    struct writer w = {.out = scratch, .states = states};
    write_stub(&w, &spec);
    w.out = NULL;
    return w;
}

uint32_t a64_stub_size(uint8_t variant, enum overflow overflow) {
    return (uint32_t)lay_out(variant, overflow, NULL).size;
}

uint32_t a64_stub_retry(uint8_t variant) { return lay_out(variant, OVERFLOW_WAIT, NULL).retry; }

uint32_t a64_stub_capture_at(uint8_t variant, enum overflow overflow) {
    return lay_out(variant, overflow, NULL).capture_at;
}

/* The code has the same size in all stubs. */
uint32_t a64_stub_capture_bytes(const struct capture *c) {
    uint8_t scratch[STUB_CAPTURE_BYTES];
    const struct stub_spec spec = {.variant = STUB_CAPTURE, .capture = c, .ring_bytes = 4096};
    struct writer w = {.out = scratch};
    return (uint32_t)a64_capture_emit(&w, &spec, 0);
}

uint32_t a64_stub_judge_bytes(enum judged judged, const struct predicate *predicate) {
    uint8_t scratch[STUB_CAPTURE_BYTES];
    const struct stub_spec spec = {
        .variant = STUB_JUDGE, .judged = judged, .predicate = predicate, .ring_bytes = 4096};
    struct writer w = {.out = scratch};
    return (uint32_t)a64_judge_emit(&w, &spec, 0);
}

uint32_t a64_stub_site(const uint8_t *stub, uint8_t variant, enum overflow overflow) {
    uint32_t at = lay_out(variant, overflow, NULL).site_at, site = 0;
    for (uint32_t i = 0; i < 2; i++)
        site |= a64_bits(a64_word(stub + at + i * A64_BYTES), 5, 16) << 16 * i;
    return site;
}

bool a64_is_stub_code(const uint8_t *code, size_t size) {
    if (size < A64_BYTES)
        return false;
    struct a64_insn first = a64_classify(a64_word(code));
    return first.kind == INSN_EXCLUSIVE || first.form == A64_ADR;
}

static bool restores_registers(const uint8_t *code, size_t size, uint8_t variant) {
    uint32_t words[LOADS_MOST], count = loads(variant, words);
    return size >= count * sizeof *words && memcmp(code, words, count * sizeof *words) == 0;
}

bool a64_find_stub_end(const uint8_t *code, size_t size, size_t *ret) {
    for (size_t at = 0; at + A64_BYTES <= size; at += A64_BYTES)
        if (restores_registers(code + at, size - at, 0) ||
            restores_registers(code + at, size - at, STUB_SLICE) ||
            restores_registers(code + at, size - at, STUB_CAPTURE)) {
            *ret = at;
            return true;
        }
    return false;
}

bool a64_stub_state(uint8_t variant, enum overflow overflow, uint32_t offset,
                    struct stub_state *ret) {
    struct stub_state states[STUB_MAX_BYTES / A64_BYTES];
    struct writer w = lay_out(variant, overflow, states);
    if (offset >= w.size || offset % A64_BYTES)
        return false;
    *ret = states[offset / A64_BYTES];
    return true;
}
