/* Writes the instructions of stubs. Private to stub.c, reading.c, capture.c and judge.c. */
#pragma once

#include "arch/aarch64/aarch64.h"
#include "arch/aarch64/frame.h"
#include "arch/arm_agent.h"

struct writer {
    uint8_t *out;
    size_t size;
    int64_t agent;                       /* relative to out */
    struct stub_state state;             /* before the instruction that is written next */
    struct stub_state *states;           /* of all instructions; NULL: not wanted */
    uint32_t retry, site_at, capture_at; /* offsets */
};

static inline void put(struct writer *w, uint32_t word) {
    if (w->states)
        w->states[w->size / A64_BYTES] = w->state;
    memcpy(w->out + w->size, &word, sizeof word);
    w->size += sizeof word;
}

/* ---- instructions, by their registers and constants ---- */

static inline uint32_t with_registers(uint32_t word, uint32_t rd, uint32_t rn, uint32_t rm) {
    return word | rm << 16 | rn << 5 | rd;
}
static inline uint32_t add(uint32_t rd, uint32_t rn, uint32_t rm) {
    return with_registers(0x8b000000, rd, rn, rm);
}
static inline uint32_t sub(uint32_t rd, uint32_t rn, uint32_t rm) {
    return with_registers(0xcb000000, rd, rn, rm);
}
static inline uint32_t orr(uint32_t rd, uint32_t rn, uint32_t rm) {
    return with_registers(0xaa000000, rd, rn, rm);
}
/* The last operand of WORD, one of these, is shifted. */
static inline uint32_t shifted_left(uint32_t word, uint32_t bits) { return word | bits << 10; }
static inline uint32_t shifted_right(uint32_t word, uint32_t bits) {
    return word | 1 << 22 | bits << 10;
}
static inline uint32_t move(uint32_t rd, uint32_t rm) { return orr(rd, A64_ZERO, rm); }
static inline uint32_t add_constant(uint32_t rd, uint32_t rn, uint32_t value) {
    return with_registers(0x91000000, rd, rn, 0) | value << 10;
}
static inline uint32_t add_pages(uint32_t rd, uint32_t rn, uint32_t count) {
    return add_constant(rd, rn, count) | 1 << 22;
}
static inline uint32_t ldr(uint32_t rt, uint32_t rn, uint32_t offset) {
    return with_registers(0xf9400000, rt, rn, 0) | offset / 8 << 10;
}
static inline uint32_t str(uint32_t rt, uint32_t rn, uint32_t offset) {
    return with_registers(0xf9000000, rt, rn, 0) | offset / 8 << 10;
}
/* COUNT bits from bit LOW on (ubfx). */
static inline uint32_t bits(uint32_t rd, uint32_t rn, uint32_t low, uint32_t count) {
    return with_registers(0xd3400000, rd, rn, 0) | low << 16 | (low + count - 1) << 10;
}
/* The bits below those of RING_BYTES. */
static inline uint32_t within_ring(uint32_t rd, uint32_t rn, uint32_t ring_bytes) {
    const uint32_t ring = (uint32_t)__builtin_ctz(ring_bytes);
    return with_registers(0x92400000, rd, rn, 0) | (ring - 1) << 10; /* and rd, rn, #ring-1 */
}

static inline uint32_t read_clock(uint32_t rd) { return 0xd53be040 | rd; } /* mrs rd, cntvct_el0 */

/* Loads the lower HALVES × 16 bits of VALUE by HALVES instructions. */
static inline void put_constant(struct writer *w, uint32_t reg, uint64_t value, unsigned halves) {
    for (uint32_t i = 0; i < halves; i++)
        put(w, (i ? 0xf2800000 : 0xd2800000) | i << 21 | (uint32_t)(value >> 16 * i & 0xffff) << 5 |
                   reg);
}

/* ---- branches, first without a distance ---- */

/* tbz, or tbnz where SET, of REG's bit number BIT. */
static inline uint32_t branch_by_bit(uint32_t reg, uint32_t bit, bool set) {
    return 0x36000000 | bit >> 5 << 31 | (set ? 1U << 24 : 0) | (bit & 31) << 19 | reg;
}
static inline uint32_t branch_by_sign(uint32_t reg, bool set) {
    enum { SIGN = 63 };
    return branch_by_bit(reg, SIGN, set);
}
/* cbz, or cbnz where SET. */
static inline uint32_t branch_by_value(uint32_t reg, bool set) {
    return 0xb4000000 | (set ? 1U << 24 : 0) | reg;
}
static inline uint32_t branch(void) { return 0x14000000; }
static inline uint32_t adr(uint32_t reg) { return 0x10000000 | reg; }

/* INSN, one of these, with its DISTANCE in bytes. */
static inline uint32_t over(uint32_t insn, int64_t distance) {
    const uint32_t count = (uint32_t)(distance / A64_BYTES);
    if (insn == branch())
        return insn | (count & 0x3ffffff);
    const bool by_bit = (insn & 0x7e000000) == 0x36000000;
    return insn | (count & (by_bit ? 0x3fff : 0x7ffff)) << 5;
}
/* The same over the next COUNT instructions. */
static inline uint32_t skipping(uint32_t insn, uint32_t count) {
    return over(insn, (int64_t)(count + 1) * A64_BYTES);
}

/* The instruction at AT, which is written without a distance, leads to TO. */
static inline void set_target(const struct writer *w, size_t at, int64_t to) {
    const uint32_t insn = over(a64_word(w->out + at), to - (int64_t)at);
    memcpy(w->out + at, &insn, sizeof insn);
}

/* Branches to the agent's ENTRY. */
static inline void put_agent(struct writer *w, int64_t entry) {
    put(w, over(branch(), w->agent + entry - (int64_t)w->size));
}

/* ---- slots ---- */

/* x1 = the slot at the head in the register HEAD; x3 is the lane. */
static inline void put_find_slot(struct writer *w, uint32_t head, uint32_t ring_bytes) {
    put(w, within_ring(1, head, ring_bytes));
    put(w, add(1, 3, 1));
    put(w, add_pages(1, 1, LANE_RING / A64_PAGE));
}
_Static_assert(LANE_RING % A64_PAGE == 0, "added at once");
