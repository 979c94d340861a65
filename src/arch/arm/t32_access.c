/* Effects of T32 instructions on registers, memory and flags (Arm ARM, F5.1 and F6.1). */
#include "arch/arm/t32.h"

uint32_t t32_immediate_16(uint32_t word) {
    return arm_bits(word, 16, 4) << 12 | arm_bits(word, 26, 1) << 11 | arm_bits(word, 12, 3) << 8 |
           arm_bits(word, 0, 8);
}

uint32_t t32_expand(uint32_t word) {
    uint32_t value = arm_bits(word, 0, 8), how = arm_bits(word, 26, 1) << 3 | arm_bits(word, 12, 3);
    uint32_t rotation = how << 1 | value >> 7;
    switch (how) {
    case 0:
        return value;
    case 1:
        return value | value << 16;
    case 2:
        return value << 8 | value << 24;
    case 3:
        return value * 0x01010101U;
    default:
        value |= 0x80;
        return value >> rotation | value << (32 - rotation);
    }
}

int32_t t32_addend(const struct t32 *in) {
    uint32_t word = in->word, value;
    bool subtracts;
    switch (in->row->form) {
    case T32_ADD_3:
        value = arm_bits(word, 6, 3);
        subtracts = arm_bits(word, 9, 1);
        break;
    case T32_ADD_8:
        value = arm_bits(word, 0, 8);
        subtracts = arm_bits(word, 11, 1);
        break;
    case T32_ADD_SP:
    case T32_ADR_N:
        return (int32_t)arm_bits(word, 0, 8) * 4;
    case T32_ADJUST_SP:
        value = arm_bits(word, 0, 7) * 4;
        subtracts = arm_bits(word, 7, 1);
        break;
    case T32_ADD_PLAIN:
        value = t32_immediate_16(word) & 0xfff;
        subtracts = arm_bits(word, 23, 1);
        break;
    case T32_ADD_IMMEDIATE:
        value = t32_expand(word);
        subtracts = arm_bits(word, 23, 1);
        break;
    default:
        return 0;
    }
    return (int32_t)(subtracts ? 0 - value : value);
}

/* ---- memory ---- */

static void add_list(struct t32_access *a, uint32_t list) {
    a->bytes = 4;
    a->general = true;
    for (uint8_t reg = 0; list; reg++, list >>= 1) {
        if (list & 1)
            a->regs[a->count++] = reg;
    }
}

static void set_single(struct t32_access *a, uint8_t reg, uint8_t bytes) {
    a->regs[0] = reg;
    a->count = 1;
    a->bytes = bytes;
    a->general = true;
}

static void push_or_pop(uint32_t word, struct t32_access *a) {
    a->load = arm_bits(word, 11, 1);
    a->base = ARM_SP;
    a->adds = true;
    uint32_t more = arm_bits(word, 8, 1) << (a->load ? ARM_PC : ARM_LR);
    add_list(a, arm_bits(word, 0, 8) | more);
    a->step = (a->load ? 4 : -4) * a->count;
    a->offset = a->load ? 0 : a->step;
}

static void narrow_offset(uint32_t word, struct t32_access *a) {
    static const struct {
        uint8_t bytes;
        bool load;
    } by_group[] = {{4, false}, {4, true}, {1, false}, {1, true},
                    {2, false}, {2, true}, {4, false}, {4, true}};
    uint32_t group = (word >> 11) - (0x6000 >> 11);
    uint8_t bytes = by_group[group].bytes;
    bool stack = group >= 6;
    set_single(a, t32_low(word, stack ? 8 : 0), bytes);
    a->load = by_group[group].load;
    a->base = stack ? ARM_SP : t32_low(word, 3);
    a->offset = (int32_t)(stack ? arm_bits(word, 0, 8) * 4 : arm_bits(word, 6, 5) * bytes);
}

static void narrow_indexed(uint32_t word, struct t32_access *a) {
    static const uint8_t bytes[] = {4, 2, 1, 1, 4, 2, 1, 2};
    uint32_t op = arm_bits(word, 9, 3);
    set_single(a, t32_low(word, 0), bytes[op]);
    a->load = op >= 3;
    a->base = t32_low(word, 3);
    a->indexed = true;
}

static void narrow_multiple(uint32_t word, struct t32_access *a) {
    uint32_t list = arm_bits(word, 0, 8);
    a->load = arm_bits(word, 11, 1);
    a->base = t32_low(word, 8);
    a->adds = !(a->load && list >> a->base & 1);
    add_list(a, list);
    a->step = 4 * a->count;
}

static void multiple(uint32_t word, struct t32_access *a) {
    bool before = arm_bits(word, 24, 1);
    a->load = arm_bits(word, 20, 1);
    a->base = t32_rn(word);
    a->adds = arm_bits(word, 21, 1);
    add_list(a, word & 0xffff);
    a->step = (before ? -4 : 4) * a->count;
    a->offset = before ? a->step : 0;
}

/* Bits 24, 23 and 21 are P, U and W: access at the sum; add the offset; write back. */
static void dual(uint32_t word, struct t32_access *a) {
    int32_t offset = (int32_t)arm_bits(word, 0, 8) * 4;
    a->count = 2;
    a->bytes = 4;
    a->general = true;
    a->regs[0] = t32_rt(word);
    a->regs[1] = t32_rd(word);
    a->load = arm_bits(word, 20, 1);
    a->base = t32_rn(word);
    a->adds = arm_bits(word, 21, 1);
    a->step = arm_bits(word, 23, 1) ? offset : -offset;
    a->offset = arm_bits(word, 24, 1) ? a->step : 0;
}

static void single(uint32_t word, struct t32_access *a) {
    set_single(a, t32_rt(word), (uint8_t)(1U << arm_bits(word, 21, 2)));
    a->load = arm_bits(word, 20, 1);
    a->base = t32_rn(word);
    bool up = arm_bits(word, 23, 1);
    if (a->base == ARM_PC || up) {
        int32_t offset = (int32_t)arm_bits(word, 0, 12);
        a->offset = up ? offset : -offset;
    } else if (!arm_bits(word, 11, 1)) {
        a->indexed = true;
    } else {
        int32_t offset = (int32_t)arm_bits(word, 0, 8);
        a->step = arm_bits(word, 9, 1) ? offset : -offset;
        a->adds = arm_bits(word, 8, 1);
        a->offset = arm_bits(word, 10, 1) ? a->step : 0;
    }
    if (a->load && a->bytes < 4 && a->regs[0] == ARM_PC) /* pld, pli: hints */
        a->count = 0;
}

static void vector_single(uint32_t word, struct t32_access *a) {
    uint32_t size = arm_bits(word, 8, 2);
    int32_t offset = (int32_t)(arm_bits(word, 0, 8) << (size == 1 ? 1 : 2));
    a->count = 1;
    a->bytes = (uint8_t)(1U << size);
    a->load = arm_bits(word, 20, 1);
    a->base = t32_rn(word);
    a->offset = arm_bits(word, 23, 1) ? offset : -offset;
}

static void vector_multiple(uint32_t word, struct t32_access *a) {
    bool before = arm_bits(word, 24, 1);
    a->count = (uint8_t)arm_bits(word, 0, 8);
    a->bytes = 4;
    a->load = arm_bits(word, 20, 1);
    a->base = t32_rn(word);
    a->adds = arm_bits(word, 21, 1);
    a->step = (before ? -4 : 4) * (int32_t)a->count;
    a->offset = before ? a->step : 0;
}

/* vld1 to vst4. The size of single elements is not decoded. */
static void vector_elements(uint32_t word, struct t32_access *a) {
    enum { NO_WRITE_BACK = 15, BY_SIZE = 13, MOST = 4 };
    static const uint8_t registers[16] = {4, 4, 4, 4, 3, 3, 3, 1, 2, 2, 2};
    bool whole = !arm_bits(word, 23, 1);
    a->count = whole ? registers[t32_rd(word)] : MOST;
    a->bytes = 8;
    a->load = arm_bits(word, 21, 1);
    a->base = t32_rn(word);
    a->adds = t32_rm(word) != NO_WRITE_BACK;
    a->unknown = !whole || t32_rm(word) != BY_SIZE;
    a->step = 8 * (int32_t)a->count;
}

bool t32_access_of(const struct t32 *in, struct t32_access *ret) {
    if (!t32_accesses(in))
        return false;
    *ret = (struct t32_access){0};
    switch (in->row->form) {
    case T32_PUSH:
    case T32_POP:
        push_or_pop(in->word, ret);
        return true;
    case T32_LITERAL_N:
        set_single(ret, t32_low(in->word, 8), 4);
        ret->load = true;
        ret->base = ARM_PC;
        ret->offset = (int32_t)arm_bits(in->word, 0, 8) * 4;
        return true;
    case T32_ACCESS_N:
        narrow_offset(in->word, ret);
        return true;
    case T32_INDEXED_N:
        narrow_indexed(in->word, ret);
        return true;
    case T32_MULTIPLE_N:
        narrow_multiple(in->word, ret);
        return true;
    case T32_MULTIPLE:
        multiple(in->word, ret);
        return true;
    case T32_DUAL:
        dual(in->word, ret);
        return true;
    case T32_SINGLE:
        single(in->word, ret);
        return true;
    case T32_VECTOR_SINGLE:
        vector_single(in->word, ret);
        return true;
    case T32_VECTOR_MULTIPLE:
        vector_multiple(in->word, ret);
        return true;
    case T32_VECTOR_ELEMENTS:
        vector_elements(in->word, ret);
        return true;
    default:
        return false;
    }
}

/* ---- registers ---- */

static uint32_t bit(uint8_t reg) { return UINT32_C(1) << reg; }

static uint32_t named(const struct t32 *in) {
    uint32_t word = in->word;
    switch ((enum t32_writes)in->row->writes) {
    case T32_NOTHING:
        return 0;
    case T32_LOW_0:
        return bit(t32_low(word, 0));
    case T32_LOW_8:
        return bit(t32_low(word, 8));
    case T32_HIGH:
        return bit(t32_high(word));
    case T32_RD:
        return bit(t32_rd(word));
    case T32_RT:
        return bit(t32_rt(word));
    case T32_RT_RD:
        return bit(t32_rt(word)) | bit(t32_rd(word));
    case T32_RT_RN:
        return bit(t32_rt(word)) | bit(t32_rn(word));
    case T32_RN:
        return bit(t32_rn(word));
    case T32_RM:
        return bit(t32_rm(word));
    }
    return UINT32_MAX;
}

uint32_t t32_written_by(const struct t32 *in, const struct t32_access *a) {
    uint32_t written = named(in) | (a->adds ? bit(a->base) : 0);
    for (uint8_t i = 0; a->load && a->general && i < a->count; i++)
        written |= bit(a->regs[i]);
    return written & ~bit(ARM_PC);
}

uint32_t t32_written(const struct t32 *in) {
    struct t32_access a;
    if (t32_accesses(in) && t32_access_of(in, &a))
        return t32_written_by(in, &a);
    uint32_t written = named(in) | (in->row->form == T32_ADJUST_SP ? bit(ARM_SP) : 0);
    return written & ~bit(ARM_PC);
}

/* ---- flags ---- */

/* rrx is encoded as ror by 0. */
static bool rotates_by_carry(const struct t32 *in) {
    return in->row->form == T32_SHIFTED && (in->word & 0x70f0) == 0x0030;
}

struct flags_use t32_flags_of(const struct t32 *in, bool in_block) {
    uint16_t how = in->row->flags;
    struct flags_use use = {.tested = how & ARM_FLAGS, .written = how >> 4 & ARM_FLAGS};
    bool idle = (how & T32_BY_S && !arm_bits(in->word, 20, 1)) || (how & T32_OUTSIDE && in_block);
    if (idle)
        use.written = 0;
    if (rotates_by_carry(in))
        use.tested |= ARM_C;
    if (in->row->form == T32_B_COND_N)
        use.tested = arm_tested_by(arm_bits(in->word, 8, 4));
    if (in->row->form == T32_B_COND_W)
        use.tested = arm_tested_by(arm_bits(in->word, 22, 4));
    if (in->row->form == T32_TRANSFER && t32_rt(in->word) == ARM_PC)
        use.written = ARM_FLAGS;
    return use;
}
