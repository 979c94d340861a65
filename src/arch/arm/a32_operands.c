/* The fields of A32 instructions: operands of data processing, and accesses to memory. */
#include "arch/arm/a32.h"

static uint32_t rotated(uint32_t value, unsigned by) {
    return by ? value >> by | value << (32 - by) : value;
}

struct a32_data a32_data_of(uint32_t word) {
    struct a32_data d = {.opcode = (uint8_t)arm_bits(word, 21, 4), .flags = arm_bits(word, 20, 1)};
    bool moves = d.opcode == A32_MOV || d.opcode == A32_MVN;
    d.has_result = d.opcode < A32_TST || d.opcode > A32_CMN;
    d.has_first = !moves;
    d.rd = a32_rd(word);
    d.rn = a32_rn(word);
    d.rm = a32_rm(word);
    if (arm_bits(word, 25, 1)) {
        d.form = A32_FORM_IMMEDIATE;
        d.amount = (uint8_t)(2 * arm_bits(word, 8, 4));
        d.value = rotated(arm_bits(word, 0, 8), d.amount);
        return d;
    }
    d.form = arm_bits(word, 4, 1) ? A32_FORM_BY_REGISTER : A32_FORM_SHIFTED;
    d.shift = (uint8_t)arm_bits(word, 5, 2);
    d.amount = (uint8_t)(d.form == A32_FORM_SHIFTED ? arm_bits(word, 7, 5) : arm_bits(word, 8, 4));
    return d;
}

bool a32_encode_immediate(uint32_t value, uint32_t *ret) {
    for (unsigned turn = 0; turn < 16; turn++) {
        uint32_t byte = rotated(value, (32 - 2 * turn) % 32);
        if (byte >= 256)
            continue;
        *ret = turn << 8 | byte;
        return true;
    }
    return false;
}

/* Bits 21, 23 and 24 are W, U and P: write back; add the offset; access at the sum. */
static struct a32_access at_base(uint32_t word, int32_t offset) {
    bool before = arm_bits(word, 24, 1), back = arm_bits(word, 21, 1);
    struct a32_access a = {.base = a32_rn(word), .load = arm_bits(word, 20, 1)};
    a.subtracts = !arm_bits(word, 23, 1);
    a.before = before && back;
    a.after = !before;
    a.offset = a.subtracts ? -offset : offset;
    a.moves = a.before || a.after ? a.offset : 0;
    if (a.after)
        a.offset = 0;
    return a;
}

static struct a32_access single(uint32_t word) {
    struct a32_access a = at_base(word, (int32_t)arm_bits(word, 0, 12));
    a.indexed = arm_bits(word, 25, 1);
    a.bytes = arm_bits(word, 22, 1) ? 1 : ARM_WORD;
    a.whole = a.bytes == ARM_WORD;
    a.list = (uint16_t)(1U << a32_rd(word));
    return a;
}

/* Bits 5 and 6: halfword, signed byte, signed halfword. Without bit 20 the last two are ldrd and
 * strd of registers rd and rd + 1. */
static struct a32_access extra(uint32_t word) {
    uint32_t op = arm_bits(word, 5, 2);
    struct a32_access a =
        at_base(word, (int32_t)(arm_bits(word, 8, 4) << 4 | arm_bits(word, 0, 4)));
    bool two = !a.load && op > 1;
    a.load |= op == 2;
    a.indexed = !arm_bits(word, 22, 1);
    a.whole = two;
    a.bytes = two ? ARM_WORD : op == 2 ? 1 : 2;
    a.list = (uint16_t)((two ? 3U : 1U) << a32_rd(word));
    return a;
}

static struct a32_access many(uint32_t word) {
    struct a32_access a = {.base = a32_rn(word), .load = arm_bits(word, 20, 1), .whole = true};
    bool before = arm_bits(word, 24, 1), up = arm_bits(word, 23, 1);
    a.list = (uint16_t)arm_bits(word, 0, 16);
    a.bytes = ARM_WORD;
    int32_t all = ARM_WORD * __builtin_popcount(a.list);
    a.offset = up ? (before ? ARM_WORD : 0) : (before ? 0 : ARM_WORD) - all;
    a.after = arm_bits(word, 21, 1);
    a.moves = a.after ? (up ? all : -all) : 0;
    return a;
}

/* Bits 8 and 9: two, four or eight bytes. */
static struct a32_access vector(uint32_t word, bool several) {
    uint32_t size = arm_bits(word, 8, 2);
    int32_t offset = (int32_t)(arm_bits(word, 0, 8) * (size == 1 ? 2 : ARM_WORD));
    struct a32_access a = at_base(word, offset);
    a.bytes = size == 1 ? 2 : size == 2 ? 4 : 8;
    if (!several)
        return a;
    bool down = arm_bits(word, 24, 1); /* with write-back, always */
    a.before = false;
    a.after = arm_bits(word, 21, 1);
    a.moves = a.after ? (down ? -offset : offset) : 0;
    a.offset = down ? -offset : 0;
    a.bytes = (uint16_t)offset;
    return a;
}

struct a32_access a32_access_of(uint32_t word, enum a32_form form) {
    struct a32_access a = {.base = a32_rn(word), .load = true};
    switch (form) {
    case A32_SINGLE:
        return single(word);
    case A32_EXTRA:
        return extra(word);
    case A32_SEVERAL:
        return many(word);
    case A32_VECTOR:
    case A32_VECTORS:
        return vector(word, form == A32_VECTORS);
    default: /* A32_PRELOAD: bit U adds the offset; no write-back */
        a.offset = (int32_t)arm_bits(word, 0, 12);
        a.subtracts = !arm_bits(word, 23, 1);
        a.offset = a.subtracts ? -a.offset : a.offset;
        return a;
    }
}

uint32_t a32_access_bytes(const struct a32_access *a) {
    return a->bytes * (a->list ? (uint32_t)__builtin_popcount(a->list) : 1);
}
