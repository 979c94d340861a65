/* Writes event stubs (stub.h), and returns the state of a thread at any instruction of one. */
#include "arch/arm/stub.h"

#include "arch/arm/a32.h"
#include "arch/arm/t32.h"

enum { PLACES = STUB_MAX_BYTES / T32_HALF, THUMB = 1 /* the state's bit */ };

/* A halfword of a stub. */
struct place {
    bool begins; /* an instruction begins here */
    struct stub_state state;
};

struct writer {
    bool t32;
    uint8_t *out;
    size_t size;
    int64_t agent;           /* relative to out */
    struct stub_state state; /* before the instruction that is written next */
    struct place *places;    /* of all halfwords; NULL: not wanted */
    uint32_t retry, site_at; /* offsets */
};

static void note_place(struct writer *w) {
    if (w->places)
        w->places[w->size / T32_HALF] = (struct place){true, w->state};
}

static void put_half(struct writer *w, uint32_t half) {
    uint16_t bytes = (uint16_t)half;
    memcpy(w->out + w->size, &bytes, sizeof bytes);
    w->size += sizeof bytes;
}

/* An instruction of four bytes in both states. T32: its first halfword is the upper half. */
static void put(struct writer *w, uint32_t a32, uint32_t t32) {
    uint32_t word = w->t32 ? t32 << 16 | t32 >> 16 : a32;
    note_place(w);
    memcpy(w->out + w->size, &word, sizeof word);
    w->size += sizeof word;
}

/* An instruction with the same encoding in both states. */
static void put_same(struct writer *w, uint32_t word) { put(w, word, word); }

/* ---- instructions, by their registers and constants ---- */

static void put_16(struct writer *w, uint32_t rd, uint32_t value, bool upper) {
    uint32_t a32 = upper ? 0xe3400000 : 0xe3000000, t32 = upper ? 0xf2c00000 : 0xf2400000;
    put(w, a32 | arm_bits(value, 12, 4) << 16 | rd << 12 | arm_bits(value, 0, 12),
        t32 | arm_bits(value, 11, 1) << 26 | arm_bits(value, 12, 4) << 16 |
            arm_bits(value, 8, 3) << 12 | rd << 8 | arm_bits(value, 0, 8));
}
static uint32_t get_16(bool t32, const uint8_t *at) {
    uint32_t word = a32_word(at);
    if (t32)
        return t32_immediate_16(word << 16 | word >> 16);
    return arm_bits(word, 16, 4) << 12 | arm_bits(word, 0, 12);
}

/* rd = VALUE, always by two instructions. */
static void put_constant(struct writer *w, uint32_t rd, uint32_t value) {
    put_16(w, rd, value & 0xffff, false);
    put_16(w, rd, value >> 16, true);
}

/* An instruction of data processing in both states, without its registers. */
struct operation {
    uint32_t a32, t32;
};
static const struct operation ADD = {0xe0800000, 0xeb000000}, SUB = {0xe0400000, 0xeba00000},
                              SBCS = {0xe0d00000, 0xeb700000},
                              ADD_CONSTANT = {0xe2800000, 0xf1000000},
                              ADDS_CONSTANT = {0xe2900000, 0xf1100000},
                              ADC_CONSTANT = {0xe2a00000, 0xf1400000};

/* LAST: a register, or for _CONSTANT operations a number less than 256. */
static void put_three(struct writer *w, struct operation op, uint32_t rd, uint32_t rn,
                      uint32_t last) {
    put(w, op.a32 | rn << 16 | rd << 12 | last, op.t32 | rn << 16 | rd << 8 | last);
}
static void put_compare(struct writer *w, uint32_t rn, uint32_t rm) {
    put(w, 0xe1500000 | rn << 16 | rm, 0xebb00f00 | rn << 16 | rm);
}
static void put_load(struct writer *w, uint32_t rt, uint32_t rn, uint32_t offset) {
    put(w, 0xe5900000 | rn << 16 | rt << 12 | offset, 0xf8d00000 | rn << 16 | rt << 12 | offset);
}

/* rd = COUNT bits of rn from LOW on. */
static void put_bits(struct writer *w, uint32_t rd, uint32_t rn, uint32_t low, uint32_t count) {
    put(w, 0xe7e00050 | (count - 1) << 16 | rd << 12 | low << 7 | rn,
        0xf3c00000 | rn << 16 | (low >> 2) << 12 | rd << 8 | (low & 3) << 6 | (count - 1));
}

/* An exclusive load of rt and the register behind it; rt is even. */
static void put_load_exclusive(struct writer *w, uint32_t rt, uint32_t rn) {
    put(w, 0xe1b00f9f | rn << 16 | rt << 12, 0xe8d0007f | rn << 16 | rt << 12 | (rt + 1) << 8);
}

static void put_barrier(struct writer *w) { put(w, 0xf57ff05a, 0xf3bf8f5a); } /* dmb ishst */

static void put_branch(struct writer *w, uint32_t condition, size_t to) {
    uint32_t distance = (uint32_t)to - (uint32_t)w->size - (w->t32 ? T32_PC : A32_AHEAD);
    put(w, condition << 28 | 0x0a000000 | arm_bits(distance, 2, 24),
        0xf0008000 | distance >> 31 << 26 | condition << 22 | arm_bits(distance, 12, 6) << 16 |
            arm_bits(distance, 18, 1) << 13 | arm_bits(distance, 19, 1) << 11 |
            arm_bits(distance, 1, 11));
}

/* Makes the branch at AT, which is already written, lead to here. */
static void set_branch_target(const struct writer *w, size_t at, uint32_t condition) {
    struct writer patched = *w;
    patched.places = NULL;
    patched.size = at;
    put_branch(&patched, condition, w->size);
}

/* ---- the stub's parts ---- */

enum { PUSH = 0xe92d0000, POP = 0xe8bd0000 };

static uint32_t frame_of(uint8_t variant) {
    return variant & STUB_SLICE ? ARM_SLICE_FRAME : ARM_STUB_FRAME;
}

/* Bitmap of the saved registers: those from r0 on that fill the frame. */
static uint32_t saved(uint8_t variant) { return (UINT32_C(1) << frame_of(variant) / ARM_WORD) - 1; }

static void save(struct writer *w, uint8_t variant) {
    put_same(w, (uint32_t)PUSH | saved(variant));
    w->state.pushed = (uint8_t)(frame_of(variant) / ARM_WORD);
    put(w, 0xe10f0000 | ARM_STUB_FLAGS << 12, 0xf3ef8000 | ARM_STUB_FLAGS << 8);
    w->state.displaced = true;
}

static void restore(struct writer *w, uint8_t variant) {
    put(w, 0xe128f000 | ARM_STUB_FLAGS, 0xf3808800 | ARM_STUB_FLAGS << 16);
    w->state.displaced = false;
    put_same(w, (uint32_t)POP | saved(variant));
}

/* Branches to `done` unless the return address is within S->caller. (The state's bit has no effect,
 * as instructions are at even addresses.) Returns the branch's offset. */
static size_t check_caller(struct writer *w, const struct stub_spec *s) {
    put_16(w, 0, frame_of(s->variant) + s->pops - (s->behind + 1U) * ARM_WORD, false);
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

/* Jumps to the agent's ENTRY, which returns to BACK. */
static void put_agent(struct writer *w, uint32_t entry, size_t back) {
    int64_t distance = (int64_t)back - (w->agent - LANES_BYTES);
    put_constant(w, 0, (uint32_t)distance + (w->t32 ? THUMB : 0));
    put_three(w, ADD, 0, 0, 5);
    put_16(w, 1, LANES_BYTES + entry, false);
    put_three(w, ADD, 1, 1, 5);
    if (!w->t32) {
        put(w, 0xe12fff11, 0); /* bx r1 */
        return;
    }
    note_place(w);
    put_half(w, 0x4708);
}

/* A put_agent() whose BACK is not known yet; set_return() writes it again. */
struct agent_call {
    size_t at;
    uint32_t entry;
};
static void set_return(const struct writer *w, struct agent_call call, size_t back) {
    struct writer patched = *w;
    patched.places = NULL;
    patched.size = call.at;
    put_agent(&patched, call.entry, back);
}
static struct agent_call put_agent_call(struct writer *w, uint32_t entry) {
    struct agent_call call = {w->size, entry};
    put_agent(w, entry, 0);
    return call;
}

/* Loads the lane into r6. If the key is another thread's, the agent looks at the whole table. */
static void find_lane(struct writer *w) {
    find_table(w);
    put_same(w, 0xee1d1f70); /* mrc p15, 0, r1, c13, c0, 3 */
    put_bits(w, 2, 1, LANES_SHIFT, LANES_BITS);
    put(w, 0xe0852202, 0xeb051202); /* add r2, r5, r2, lsl #4 */
    put_load(w, 3, 2, 0);
    put_load(w, 6, 2, LANE_KEY_BYTES / 2);
    put_compare(w, 3, 1);
    size_t found = w->size;
    put_branch(w, ARM_EQ, 0);
    set_return(w, put_agent_call(w, ARM_AGENT_SEEK), w->size);
    set_branch_target(w, found, ARM_EQ);
}

/* Loads the head into r2 and r3, and branches if the ring is not full. Returns the branch's offset.
 */
static size_t compare_head(struct writer *w) {
    put(w, 0xe1c620d0, 0xe9d62300); /* ldrd r2, r3, [r6] */
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
    put_bits(w, 0, 2, 0, (uint32_t)__builtin_ctz(s->ring_bytes));
    put_three(w, ADD, 1, 6, 0);
    put(w, 0xe2811a01, 0xf5015180); /* add r1, r1, #RING */
    put_same(w, 0xec532f1e);        /* mrrc p15, 1, r2, r3, c14 */
    put(w, 0xe1a03803, 0xea4f4303); /* lsl r3, r3, #16 */
    put(w, 0xe1833822, 0xea434312); /* orr r3, r3, r2, lsr #16 */
    put(w, 0xe1a02802, 0xea4f4202); /* lsl r2, r2, #16 */
    w->site_at = (uint32_t)w->size;
    put_constant(w, 4, s->site);
    put_16(w, 5, ARM_STUB_FRAME + s->pops + (uint32_t)control, false);
    put_three(w, ADD, 5, ARM_SP, 5);
    put_same(w, 0xe881003c); /* stm r1, {r2-r5} */
    put_barrier(w);
}
_Static_assert(EVENT_CLOCK_SP == 0 && EVENT_SITE == 8 && EVENT_SP_LOW == 12, "stored at once");
_Static_assert(LANE_RING == 0x1000, "spelt out in write_slot()");
_Static_assert(LANE_HEAD == 0, "spelt out in compare_head() and commit()");

/* A signal between the two accesses makes the second fail. */
static void commit(struct writer *w) {
    size_t again = w->size;
    put_load_exclusive(w, 2, 6);
    put_three(w, ADDS_CONSTANT, 2, 2, EVENT_BYTES);
    put_three(w, ADC_CONSTANT, 3, 3, 0);
    put(w, 0xe1a60f92, 0xe8c62370); /* strexd r0, r2, r3, [r6] */
    w->state.unsure = w->state.ahead = true;
    put(w, 0xe3500000, 0xf1b00f00); /* cmp r0, #0 */
    put_branch(w, ARM_NE, again);
    w->state.unsure = w->state.ahead = false;
    w->state.committed = true;
}

static void event(struct writer *w, const struct stub_spec *s) {
    bool again = s->overflow != OVERFLOW_DROP;
    w->retry = (uint32_t)w->size;
    find_lane(w);
    size_t go = compare_head(w);
    struct agent_call full = put_agent_call(w, again ? ARM_AGENT_WAIT : ARM_AGENT_DROP);
    set_branch_target(w, go, ARM_LO);
    if (s->overflow == OVERFLOW_OVERWRITE)
        put_barrier(w);
    write_slot(w, s);
    commit(w);
    set_return(w, full, again ? w->retry : w->size);
}

static void hook(struct writer *w, uint8_t variant) {
    w->retry = (uint32_t)w->size;
    find_table(w);
    struct agent_call call =
        put_agent_call(w, variant & STUB_GUARD ? ARM_AGENT_GUARD : ARM_AGENT_HOOK);
    set_return(w, call, w->size);
    w->state.committed = true; /* what follows is `done` */
}

static void slice(struct writer *w, const struct stub_spec *s) {
    w->retry = (uint32_t)w->size;
    find_lane(w);
    put_16(w, 4, s->overflow != OVERFLOW_DROP, false);
    set_return(w, put_agent_call(w, ARM_AGENT_SLICE), w->size);
    w->state.committed = true; /* what follows is `done` */
}

static void write_stub(struct writer *w, const struct stub_spec *s) {
    bool checks = s->variant & STUB_CALLER;
    save(w, s->variant);
    size_t other = checks ? check_caller(w, s) : 0;
    if (s->variant & STUB_HOOK)
        hook(w, s->variant);
    else if (s->variant & STUB_SLICE)
        slice(w, s);
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
    const uint32_t add = 0xe08f5005, adr = 0xf20f0400;
    if (size < A32_BYTES)
        return false;
    uint32_t word = a32_word(code);
    if (!t32)
        return word == add || a32_classify(word).kind == INSN_EXCLUSIVE;
    return (word << 16 | word >> 16) == adr || t32_classify(code, size).kind == INSN_EXCLUSIVE;
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
