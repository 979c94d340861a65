/* Writes the instructions of stubs, each in both states. Private to stub.c, reading.c, capture.c
 * and judge.c. */
#pragma once

#include "arch/arm/a32.h"
#include "arch/arm/frame.h"
#include "arch/arm/t32.h"
#include "arch/arm_agent.h"

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
    int64_t agent;                       /* relative to out */
    struct stub_state state;             /* before the instruction that is written next */
    struct place *places;                /* of all halfwords; NULL: not wanted */
    uint32_t retry, site_at, capture_at; /* offsets */
};

static inline void note_place(struct writer *w) {
    if (w->places)
        w->places[w->size / T32_HALF] = (struct place){true, w->state};
}

static inline void put_half(struct writer *w, uint32_t half) {
    uint16_t bytes = (uint16_t)half;
    memcpy(w->out + w->size, &bytes, sizeof bytes);
    w->size += sizeof bytes;
}

/* An instruction of four bytes in both states. T32: its first halfword is the upper half. */
static inline void put(struct writer *w, uint32_t a32, uint32_t t32) {
    uint32_t word = w->t32 ? t32 << 16 | t32 >> 16 : a32;
    note_place(w);
    memcpy(w->out + w->size, &word, sizeof word);
    w->size += sizeof word;
}

/* An instruction with the same encoding in both states. */
static inline void put_same(struct writer *w, uint32_t word) { put(w, word, word); }

/* ---- instructions, by their registers and constants ---- */

static inline void put_16(struct writer *w, uint32_t rd, uint32_t value, bool upper) {
    uint32_t a32 = upper ? 0xe3400000 : 0xe3000000, t32 = upper ? 0xf2c00000 : 0xf2400000;
    put(w, a32 | arm_bits(value, 12, 4) << 16 | rd << 12 | arm_bits(value, 0, 12),
        t32 | arm_bits(value, 11, 1) << 26 | arm_bits(value, 12, 4) << 16 |
            arm_bits(value, 8, 3) << 12 | rd << 8 | arm_bits(value, 0, 8));
}
static inline uint32_t get_16(bool t32, const uint8_t *at) {
    uint32_t word = a32_word(at);
    if (t32)
        return t32_immediate_16(word << 16 | word >> 16);
    return arm_bits(word, 16, 4) << 12 | arm_bits(word, 0, 12);
}

/* rd = VALUE, always by two instructions. */
static inline void put_constant(struct writer *w, uint32_t rd, uint32_t value) {
    put_16(w, rd, value & 0xffff, false);
    put_16(w, rd, value >> 16, true);
}

/* An instruction of data processing in both states, without its registers. */
struct operation {
    uint32_t a32, t32;
};
static const struct operation ADD = {0xe0800000, 0xeb000000}, SUB = {0xe0400000, 0xeba00000},
                              SBCS = {0xe0d00000, 0xeb700000}, ADDS = {0xe0900000, 0xeb100000},
                              ORR = {0xe1800000, 0xea400000},
                              ADD_CONSTANT = {0xe2800000, 0xf1000000},
                              ADDS_CONSTANT = {0xe2900000, 0xf1100000},
                              ADC_CONSTANT = {0xe2a00000, 0xf1400000},
                              SUB_CONSTANT = {0xe2400000, 0xf1a00000},
                              AND = {0xe0000000, 0xea000000}, EOR = {0xe0200000, 0xea800000},
                              ORRS = {0xe1900000, 0xea500000},
                              MOV = {0xe1a00000, 0xea4f0000}; /* rn: 0 */

/* LAST: a register, or for _CONSTANT operations a number less than 256. */
static inline void put_three(struct writer *w, struct operation op, uint32_t rd, uint32_t rn,
                             uint32_t last) {
    put(w, op.a32 | rn << 16 | rd << 12 | last, op.t32 | rn << 16 | rd << 8 | last);
}
/* The last register is shifted. */
enum arm_shift { ARM_LSL, ARM_LSR, ARM_ASR };
struct arm_shifted {
    uint32_t rm;
    enum arm_shift how;
    uint32_t bits;
};
static inline void put_three_shifted(struct writer *w, struct operation op, uint32_t rd,
                                     uint32_t rn, struct arm_shifted last) {
    const uint32_t low = (last.bits & 3) << 6, high = last.bits >> 2 << 12;
    put(w, op.a32 | rn << 16 | rd << 12 | last.bits << 7 | last.how << 5 | last.rm,
        op.t32 | rn << 16 | high | rd << 8 | low | last.how << 4 | last.rm);
}
static inline void put_compare(struct writer *w, uint32_t rn, uint32_t rm) {
    put(w, 0xe1500000 | rn << 16 | rm, 0xebb00f00 | rn << 16 | rm);
}
static inline void put_compare_constant(struct writer *w, uint32_t rn, uint32_t value) {
    put(w, 0xe3500000 | rn << 16 | value, 0xf1b00f00 | rn << 16 | value);
}
static inline void put_move(struct writer *w, uint32_t rd, uint32_t rm) {
    put(w, 0xe1a00000 | rd << 12 | rm, 0xea4f0000 | rd << 8 | rm);
}
static inline void put_load(struct writer *w, uint32_t rt, uint32_t rn, uint32_t offset) {
    put(w, 0xe5900000 | rn << 16 | rt << 12 | offset, 0xf8d00000 | rn << 16 | rt << 12 | offset);
}

/* rd = COUNT bits of rn from LOW on. */
static inline void put_bits(struct writer *w, uint32_t rd, uint32_t rn, uint32_t low,
                            uint32_t count) {
    put(w, 0xe7e00050 | (count - 1) << 16 | rd << 12 | low << 7 | rn,
        0xf3c00000 | rn << 16 | (low >> 2) << 12 | rd << 8 | (low & 3) << 6 | (count - 1));
}
/* The same; they are a signed number. */
static inline void put_signed_bits(struct writer *w, uint32_t rd, uint32_t rn, uint32_t low,
                                   uint32_t count) {
    put(w, 0xe7a00050 | (count - 1) << 16 | rd << 12 | low << 7 | rn,
        0xf3400000 | rn << 16 | (low >> 2) << 12 | rd << 8 | (low & 3) << 6 | (count - 1));
}

static inline void put_store(struct writer *w, uint32_t rt, uint32_t rn, uint32_t offset) {
    put(w, 0xe5800000 | rn << 16 | rt << 12 | offset, 0xf8c00000 | rn << 16 | rt << 12 | offset);
}
static inline void put_zero(struct writer *w, uint32_t rd) {
    put(w, 0xe3a00000 | rd << 12, 0xf04f0000 | rd << 8);
}

/* rd = ~rm. */
static inline void put_invert(struct writer *w, uint32_t rd, uint32_t rm) {
    put(w, 0xe1e00000 | rd << 12 | rm, 0xea6f0000 | rd << 8 | rm);
}

/* An exclusive load of rt and the register behind it; rt is even. */
static inline void put_load_exclusive(struct writer *w, uint32_t rt, uint32_t rn) {
    put(w, 0xe1b00f9f | rn << 16 | rt << 12, 0xe8d0007f | rn << 16 | rt << 12 | (rt + 1) << 8);
}

/* r0 is 0 if r2 and r3 are stored at rn. */
static inline void put_store_exclusive(struct writer *w, uint32_t rn) {
    put(w, 0xe1a00f92 | rn << 16, 0xe8c02370 | rn << 16);
}

static inline void put_barrier(struct writer *w) { put(w, 0xf57ff05a, 0xf3bf8f5a); } /* dmb ishst */

/* Within 1 MB. */
static inline void put_branch(struct writer *w, uint32_t condition, size_t to) {
    uint32_t distance = (uint32_t)to - (uint32_t)w->size - (w->t32 ? T32_PC : A32_AHEAD);
    uint32_t t32 = distance >> 31 << 26 | arm_bits(distance, 1, 11);
    if (condition == ARM_ALWAYS)
        t32 |= 0xf000b800 | arm_bits(distance, 12, 10) << 16;
    else
        t32 |= 0xf0008000 | condition << 22 | arm_bits(distance, 12, 6) << 16 |
               arm_bits(distance, 18, 1) << 13 | arm_bits(distance, 19, 1) << 11;
    put(w, condition << 28 | 0x0a000000 | arm_bits(distance, 2, 24), t32);
}

/* Makes the branch at AT, which is already written, lead to here. */
static inline void set_branch_target(const struct writer *w, size_t at, uint32_t condition) {
    struct writer patched = *w;
    patched.places = NULL;
    patched.size = at;
    put_branch(&patched, condition, w->size);
}

/* Jumps to the agent's ENTRY. */
static inline void put_jump(struct writer *w, uint32_t entry) {
    put_16(w, 1, LANES_BYTES + entry, false);
    put_three(w, ADD, 1, 1, 5);
    if (!w->t32) {
        put(w, 0xe12fff11, 0); /* bx r1 */
        return;
    }
    note_place(w);
    put_half(w, 0x4708);
}

/* The same; the agent returns to BACK. */
static inline void put_agent(struct writer *w, uint32_t entry, size_t back) {
    int64_t distance = (int64_t)back - (w->agent - LANES_BYTES);
    put_constant(w, 0, (uint32_t)distance + (w->t32 ? THUMB : 0));
    put_three(w, ADD, 0, 0, 5);
    put_jump(w, entry);
}

/* A put_agent() whose BACK is not known yet; set_return() writes it again. */
struct agent_call {
    size_t at;
    uint32_t entry;
};
static inline void set_return(const struct writer *w, struct agent_call call, size_t back) {
    struct writer patched = *w;
    patched.places = NULL;
    patched.size = call.at;
    put_agent(&patched, call.entry, back);
}
static inline struct agent_call put_agent_call(struct writer *w, uint32_t entry) {
    struct agent_call call = {w->size, entry};
    put_agent(w, entry, 0);
    return call;
}

/* ---- slots ---- */

/* r2, r3 = the lane's head. */
static inline void put_load_head(struct writer *w) { put(w, 0xe1c620d0, 0xe9d62300); }

/* r1 = the slot at the head whose lower word is in the register HEAD. */
static inline void put_find_slot(struct writer *w, uint32_t head, uint32_t ring_bytes) {
    put_bits(w, 1, head, 0, (uint32_t)__builtin_ctz(ring_bytes));
    put_three(w, ADD, 1, 6, 1);
    put(w, 0xe2811a01, 0xf5015180); /* add r1, r1, #RING */
}
_Static_assert(LANE_HEAD == 0, "spelt out in put_load_head()");
_Static_assert(LANE_RING == 0x1000, "spelt out in put_find_slot()");
_Static_assert(EVENT_CLOCK_SP == 0 && EVENT_SITE == 8 && EVENT_SP_LOW == 12, "stored at once");
