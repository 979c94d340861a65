/* Writes event stubs (stub.h), and returns the state of a thread at any instruction of one. */
#include "arch/arm/stub.h"

#include "arch/arm/capture.h"
#include "arch/arm/judge.h"
#include "arch/arm/reading.h"
#include "arch/arm/writer.h"

/* ---- the stub's parts ---- */

enum { PUSH = 0xe92d0000, POP = 0xe8bd0000 };

static uint32_t saved_bitmap(uint8_t variant) {
    return (UINT32_C(1) << arm_stub_saved(variant)) - 1;
}

static void save(struct writer *w, uint8_t variant) {
    if (stub_stores_values(variant)) {
        put_three(w, SUB_CONSTANT, ARM_SP, ARM_SP, ARM_LENGTHS_BYTES);
        w->state.skipped = true;
    }
    put_same(w, (uint32_t)PUSH | saved_bitmap(variant));
    w->state.pushed = (uint8_t)arm_stub_saved(variant);
    put(w, 0xe10f0000 | ARM_STUB_FLAGS << 12, 0xf3ef8000 | ARM_STUB_FLAGS << 8);
    w->state.displaced = true;
}

static void restore(struct writer *w, uint8_t variant) {
    put(w, 0xe128f000 | ARM_STUB_FLAGS, 0xf3808800 | ARM_STUB_FLAGS << 16);
    w->state.displaced = false;
    put_same(w, (uint32_t)POP | saved_bitmap(variant));
    w->state.pushed = 0;
    if (stub_stores_values(variant))
        put_three(w, ADD_CONSTANT, ARM_SP, ARM_SP, ARM_LENGTHS_BYTES);
}

/* Branches to `done` unless the return address is within S->caller. (The state's bit has no effect,
 * as instructions are at even addresses.) Returns the branch's offset. */
static size_t check_caller(struct writer *w, const struct stub_spec *s) {
    put_16(w, 0, arm_stub_frame(s->variant) + s->pops - (s->behind + 1U) * ARM_WORD, false);
    if (s->pops)
        put(w, 0xe79d0000, 0xf85d0000); /* ldr r0, [sp, r0] */
    else
        put(w, 0xe1a00000 | ARM_LR, 0xea4f0000 | ARM_LR); /* mov r0, lr */
    put_constant(w, 1, (uint32_t)s->caller.start);
    put_three(w, SUB, 0, 0, 1);
    put_constant(w, 1, (uint32_t)(s->caller.end - s->caller.start));
    put_compare(w, 0, 1);
    put_branch(w, ARM_HS, w->size);
    return w->size - A32_BYTES;
}

/* Loads the table's address into r5. */
static void find_table(struct writer *w) {
    int64_t table = w->agent - LANES_BYTES, behind = (int64_t)w->size + 2 * A32_BYTES;
    if (!w->t32) {
        put_constant(w, 5, (uint32_t)(table - (behind + A32_AHEAD)));
        put_three(w, ADD, 5, ARM_PC, 5);
        return;
    }
    /* adr counts from a multiple of four, as the agent's address is one. */
    int64_t here = ((behind + T32_PC - w->agent) & ~(int64_t)3) + w->agent;
    put_constant(w, 5, (uint32_t)(table - here));
    put(w, 0, 0xf20f0400); /* adr r4 */
    put_three(w, ADD, 5, 4, 5);
}

/* Loads the lane into r6. If the key is another thread's, the agent looks at the whole table. */
static void find_lane(struct writer *w) {
    find_table(w);
    put_same(w, 0xee1d1f70); /* mrc p15, 0, r1, c13, c0, 3 */
    put_bits(w, 2, 1, LANES_SHIFT, LANES_BITS);
    put_three_shifted(w, ADD, 2, 5, (struct arm_shifted){2, ARM_LSL, 4});
    put_load(w, 3, 2, 0);
    put_load(w, 6, 2, LANE_KEY_BYTES / 2);
    put_compare(w, 3, 1);
    size_t found = w->size;
    put_branch(w, ARM_EQ, 0);
    set_return(w, put_agent_call(w, AGENT_ENTRY_SEEK), w->size);
    set_branch_target(w, found, ARM_EQ);
}

/* Loads the head into r2 and r3, and branches if the ring is not full. Returns the branch's offset.
 */
static size_t compare_head(struct writer *w) {
    put_load_head(w);
    put_three(w, ADD_CONSTANT, 4, 6, LANE_LIMIT);
    put_load_exclusive(w, 0, 4);
    put_compare(w, 2, 0);
    put_three(w, SBCS, 0, 3, 1);
    put_branch(w, ARM_LO, 0);
    return w->size - A32_BYTES;
}

/* A control event has the stack pointer plus one; those of calls are even. Calls push nothing, so a
 * function called from there, which is gone now, had the same stack pointer at its entry. */
static void write_slot(struct writer *w, const struct stub_spec *s) {
    bool control = (s->site & 3) == EVENT_CONTROL;
    put_find_slot(w, 2, s->ring_bytes);
    put_same(w, 0xec532f1e); /* mrrc p15, 1, r2, r3, c14 */
    put_three_shifted(w, MOV, 3, 0, (struct arm_shifted){3, ARM_LSL, 16});
    put_three_shifted(w, ORR, 3, 3, (struct arm_shifted){2, ARM_LSR, 16});
    put_three_shifted(w, MOV, 2, 0, (struct arm_shifted){2, ARM_LSL, 16});
    w->site_at = (uint32_t)w->size;
    put_constant(w, 4, s->site);
    put_16(w, 5, ARM_STUB_FRAME + s->pops + (uint32_t)control, false);
    put_three(w, ADD, 5, ARM_SP, 5);
    put_same(w, 0xe881003c); /* stm r1, {r2-r5} */
    put_barrier(w);
}
_Static_assert(LANE_HEAD == 0, "spelt out in commit()");

/* Moves the head. A signal between the two accesses makes the second fail. OP: adds the slots'
 * bytes, which are LAST, to r2. */
static void commit(struct writer *w, struct operation op, uint32_t last) {
    size_t again = w->size;
    put_load_exclusive(w, 2, 6);
    put_three(w, op, 2, 2, last);
    put_three(w, ADC_CONSTANT, 3, 3, 0);
    put_store_exclusive(w, 6);
    w->state.unsure = w->state.ahead = true;
    put_compare_constant(w, 0, 0);
    put_branch(w, ARM_NE, again);
    w->state.unsure = w->state.ahead = false;
    w->state.committed = true;
}

static void event(struct writer *w, const struct stub_spec *s) {
    bool again = s->overflow != OVERFLOW_DROP;
    w->retry = (uint32_t)w->size;
    find_lane(w);
    size_t go = compare_head(w);
    struct agent_call full = put_agent_call(w, again ? AGENT_ENTRY_WAIT : AGENT_ENTRY_DROP);
    set_branch_target(w, go, ARM_LO);
    if (s->overflow == OVERFLOW_OVERWRITE)
        put_barrier(w);
    write_slot(w, s);
    commit(w, ADDS_CONSTANT, EVENT_BYTES);
    set_return(w, full, again ? w->retry : w->size);
}

/* Adds r4 / EVENT_BYTES to SLICE_SLOTS of the lane. */
static void count_slots(struct writer *w) {
    put_three(w, ADD_CONSTANT, 12, 6, LANE_SLICE_SLOTS);
    size_t again = w->size;
    put_load_exclusive(w, 2, 12);
    put_three_shifted(w, ADDS, 2, 2, (struct arm_shifted){4, ARM_LSR, 4});
    put_three(w, ADC_CONSTANT, 3, 3, 0);
    put_store_exclusive(w, 12);
    put_compare_constant(w, 0, 0);
    put_branch(w, ARM_NE, again);
}
_Static_assert(EVENT_BYTES == 1 << 4, "spelt out in count_slots()");

/* The event, and with it the slots before it: what the agent skips if there is no room. */
static void commit_capture(struct writer *w, const struct stub_spec *s) {
    bool control = (s->site & 3) == EVENT_CONTROL;
    put_find_slot(w, ARM_CAPTURE_HEAD, s->ring_bytes);
    w->site_at = (uint32_t)w->size;
    put_constant(w, 11, s->site);
    put_16(w, 12, ARM_CAPTURE_FRAME + s->pops + (uint32_t)control, false);
    put_three(w, ADD, 12, ARM_SP, 12);
    put_same(w, 0xe8811e00); /* stm r1, {r9-r12} */
    put_load(w, 2, 6, LANE_HEAD);
    put_three(w, SUB, 4, ARM_CAPTURE_HEAD, 2);
    if (s->overflow == OVERFLOW_OVERWRITE)
        count_slots(w);
    put_three(w, ADD_CONSTANT, 4, 4, EVENT_BYTES);
    put_barrier(w);
    commit(w, ADDS, 4);
}

static uint32_t commit_bytes(const struct writer *w, const struct stub_spec *s) {
    uint8_t scratch[STUB_MAX_BYTES];
    struct writer alone = {.t32 = w->t32, .out = scratch};
    commit_capture(&alone, s);
    return (uint32_t)alone.size;
}

static void captured_event(struct writer *w, const struct stub_spec *s) {
    w->retry = (uint32_t)w->size;
    find_lane(w);
    if (s->overflow == OVERFLOW_OVERWRITE)
        put_barrier(w);
    put_same(w, 0xec532f1e); /* mrrc p15, 1, r2, r3, c14 */
    put_three_shifted(w, MOV, 10, 0, (struct arm_shifted){3, ARM_LSL, 16});
    put_three_shifted(w, ORR, 10, 10, (struct arm_shifted){2, ARM_LSR, 16});
    put_three_shifted(w, MOV, 9, 0, (struct arm_shifted){2, ARM_LSL, 16});
    w->capture_at = (uint32_t)w->size;
    if (s->capture)
        arm_capture_emit(w, s, commit_bytes(w, s));
    commit_capture(w, s);
}

static void hook(struct writer *w, uint8_t variant) {
    w->retry = (uint32_t)w->size;
    find_table(w);
    struct agent_call call =
        put_agent_call(w, variant & STUB_GUARD ? AGENT_ENTRY_GUARD : AGENT_ENTRY_HOOK);
    set_return(w, call, w->size);
    w->state.committed = true; /* what follows is `done` */
}

static void slice(struct writer *w, const struct stub_spec *s) {
    w->retry = (uint32_t)w->size;
    find_lane(w);
    put_16(w, 4, s->overflow != OVERFLOW_DROP, false);
    set_return(w, put_agent_call(w, AGENT_ENTRY_SLICE), w->size);
    w->state.committed = true; /* what follows is `done` */
}

static uint32_t restore_bytes(const struct writer *now, uint8_t variant) {
    uint8_t scratch[STUB_MAX_BYTES];
    struct writer w = {.t32 = now->t32, .out = scratch};
    restore(&w, variant);
    return (uint32_t)w.size;
}

/* All but the last way out, which goes on to the event. */
static void judge(struct writer *w, const struct stub_spec *s) {
    const uint32_t way_out = restore_bytes(w, s->variant);
    w->retry = (uint32_t)w->size;
    find_lane(w);
    w->capture_at = (uint32_t)w->size;
    if (s->judged != JUDGED_ENTRY || s->predicate)
        arm_judge_emit(w, s, way_out + A32_BYTES);
    const struct stub_state saved = w->state;
    restore(w, s->variant);
    put_branch(w, ARM_ALWAYS, w->size + A32_BYTES + way_out + s->skip); /* behind the event */
    w->state = saved;
}

static void write_stub(struct writer *w, const struct stub_spec *s) {
    bool checks = s->variant & STUB_CALLER;
    save(w, s->variant);
    size_t other = checks ? check_caller(w, s) : 0;
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
    if (checks)
        set_branch_target(w, other, ARM_HS);
    restore(w, s->variant);
}

static size_t emit(bool t32, uint8_t *out, const struct stub_spec *spec) {
    struct writer w = {.t32 = t32, .out = out, .agent = spec->agent};
    write_stub(&w, spec);
    return w.size;
}
size_t a32_stub_emit(uint8_t *out, const struct stub_spec *spec) { return emit(false, out, spec); }
size_t t32_stub_emit(uint8_t *out, const struct stub_spec *spec) { return emit(true, out, spec); }

/* Writes a stub to a scratch buffer, for its layout. PLACES may be NULL. */
static struct writer lay_out(bool t32, uint8_t variant, enum overflow overflow,
                             struct place *places) {
    uint8_t scratch[STUB_MAX_BYTES];
    struct stub_spec spec = {.variant = variant, .ring_bytes = 4096, .overflow = overflow};
    struct writer w = {.t32 = t32, .out = scratch, .places = places};
    write_stub(&w, &spec);
    w.out = NULL;
    return w;
}

uint32_t a32_stub_size(uint8_t variant, enum overflow overflow) {
    return (uint32_t)lay_out(false, variant, overflow, NULL).size;
}
uint32_t t32_stub_size(uint8_t variant, enum overflow overflow) {
    return (uint32_t)lay_out(true, variant, overflow, NULL).size;
}

uint32_t a32_stub_retry(uint8_t variant) {
    return lay_out(false, variant, OVERFLOW_WAIT, NULL).retry;
}
uint32_t t32_stub_retry(uint8_t variant) {
    return lay_out(true, variant, OVERFLOW_WAIT, NULL).retry;
}

uint32_t a32_stub_capture_at(uint8_t variant, enum overflow overflow) {
    return lay_out(false, variant, overflow, NULL).capture_at;
}
uint32_t t32_stub_capture_at(uint8_t variant, enum overflow overflow) {
    return lay_out(true, variant, overflow, NULL).capture_at;
}

/* The code has the same size in all stubs. */
static uint32_t capture_bytes(bool t32, const struct capture *c) {
    uint8_t scratch[STUB_CAPTURE_BYTES];
    const struct stub_spec spec = {.variant = STUB_CAPTURE, .capture = c, .ring_bytes = 4096};
    struct writer w = {.t32 = t32, .out = scratch};
    return arm_capture_emit(&w, &spec, 0) ? (uint32_t)w.size : 0;
}
uint32_t a32_stub_capture_bytes(const struct capture *c) { return capture_bytes(false, c); }
uint32_t t32_stub_capture_bytes(const struct capture *c) { return capture_bytes(true, c); }

static uint32_t judge_bytes(bool t32, enum judged judged, const struct predicate *predicate) {
    uint8_t scratch[STUB_CAPTURE_BYTES];
    const struct stub_spec spec = {
        .variant = STUB_JUDGE, .judged = judged, .predicate = predicate, .ring_bytes = 4096};
    struct writer w = {.t32 = t32, .out = scratch};
    return (uint32_t)arm_judge_emit(&w, &spec, 0);
}
uint32_t a32_stub_judge_bytes(enum judged judged, const struct predicate *predicate) {
    return judge_bytes(false, judged, predicate);
}
uint32_t t32_stub_judge_bytes(enum judged judged, const struct predicate *predicate) {
    return judge_bytes(true, judged, predicate);
}

uint32_t a32_stub_read_switch(const uint8_t *stub, uint32_t at, uint8_t *ret_byte) {
    return arm_read_switch(false, stub, at, ret_byte);
}
uint32_t t32_stub_read_switch(const uint8_t *stub, uint32_t at, uint8_t *ret_byte) {
    return arm_read_switch(true, stub, at, ret_byte);
}

static uint32_t site_of(bool t32, const uint8_t *stub, uint32_t at) {
    return get_16(t32, stub + at) | get_16(t32, stub + at + A32_BYTES) << 16;
}
uint32_t a32_stub_site(const uint8_t *stub, uint8_t variant, enum overflow overflow) {
    return site_of(false, stub, lay_out(false, variant, overflow, NULL).site_at);
}
uint32_t t32_stub_site(const uint8_t *stub, uint8_t variant, enum overflow overflow) {
    return site_of(true, stub, lay_out(true, variant, overflow, NULL).site_at);
}

static bool state_at(bool t32, uint8_t variant, enum overflow overflow, uint32_t offset,
                     struct stub_state *ret) {
    struct place places[PLACES] = {0};
    struct writer w = lay_out(t32, variant, overflow, places);
    if (offset >= w.size || offset % T32_HALF || !places[offset / T32_HALF].begins)
        return false;
    *ret = places[offset / T32_HALF].state;
    return true;
}
bool a32_stub_state(uint8_t variant, enum overflow overflow, uint32_t offset,
                    struct stub_state *ret) {
    return state_at(false, variant, overflow, offset, ret);
}
bool t32_stub_state(uint8_t variant, enum overflow overflow, uint32_t offset,
                    struct stub_state *ret) {
    return state_at(true, variant, overflow, offset, ret);
}

bool arm_is_stub_code(bool t32, const uint8_t *code, size_t size) {
    const uint32_t table = 0xe08f5005, back = 0xe08f0000, adr = 0xf20f0000, distance = 0x040070ff;
    const uint32_t rd = 0x400; /* r4; else r0 */
    if (size < A32_BYTES)
        return false;
    uint32_t word = a32_word(code);
    if (!t32)
        return word == table || word == back || a32_classify(word).kind == INSN_EXCLUSIVE;
    return ((word << 16 | word >> 16) & ~(distance | rd)) == adr ||
           t32_classify(code, size).kind == INSN_EXCLUSIVE;
}

/* Whether CODE is the end of a stub of VARIANT. */
static bool is_end(bool t32, uint8_t variant, const uint8_t *code) {
    uint8_t end[2 * A32_BYTES] = {0};
    struct writer w = {.t32 = t32, .out = end};
    restore(&w, variant);
    return memcmp(code, end, sizeof end) == 0;
}

bool arm_find_stub_end(bool t32, const uint8_t *code, size_t size, size_t *ret) {
    for (size_t at = 0; at + 2 * A32_BYTES <= size; at += t32 ? T32_HALF : A32_BYTES)
        if (is_end(t32, 0, code + at) || is_end(t32, STUB_SLICE, code + at)) {
            *ret = at;
            return true;
        }
    return false;
}
