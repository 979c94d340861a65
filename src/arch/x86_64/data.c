/*
 * How x86-64 instructions move values: the plain moves by which a function keeps what it was
 * passed. Other instructions give the registers that they write unknown values.
 */
#include <string.h>

#include "arch/x86_64/operands.h"

enum { XMM_BYTES = 16 };

static uint8_t vector_number(ZydisRegister part) {
    ZydisRegister reg = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, part);
    if (ZydisRegisterGetClass(reg) != ZYDIS_REGCLASS_ZMM)
        return DATA_NO_REGISTER;
    return (uint8_t)(DATA_VECTOR + ZydisRegisterGetId(reg));
}

static uint8_t number_of(const ZydisDecodedOperand *o) {
    if (o->type != ZYDIS_OPERAND_TYPE_REGISTER)
        return DATA_NO_REGISTER;
    uint8_t general = x86_64_general_number(o->reg.value);
    return general != STACK_NO_REGISTER ? general : vector_number(o->reg.value);
}

static bool is_high_byte(const ZydisDecodedOperand *o) {
    return o->type == ZYDIS_OPERAND_TYPE_REGISTER && o->reg.value >= ZYDIS_REGISTER_AH &&
           o->reg.value <= ZYDIS_REGISTER_BH;
}

static uint64_t written_registers(const struct operands *d) {
    uint64_t written = 0;
    for (int i = 0; i < d->in.operand_count; i++) {
        uint8_t number = number_of(&d->at[i]);
        if (number < DATA_REGISTERS && (d->at[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
            written |= UINT64_C(1) << number;
    }
    return written;
}

/* The moves that change no bit of what they move. */
static bool is_move(ZydisMnemonic mnemonic) {
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
    case ZYDIS_MNEMONIC_MOVZX:
    case ZYDIS_MNEMONIC_MOVD:
    case ZYDIS_MNEMONIC_MOVQ:
    case ZYDIS_MNEMONIC_MOVSS:
    case ZYDIS_MNEMONIC_MOVSD:
    case ZYDIS_MNEMONIC_MOVAPS:
    case ZYDIS_MNEMONIC_MOVAPD:
    case ZYDIS_MNEMONIC_MOVUPS:
    case ZYDIS_MNEMONIC_MOVUPD:
    case ZYDIS_MNEMONIC_MOVDQA:
    case ZYDIS_MNEMONIC_MOVDQU:
        return true;
    default:
        return false;
    }
}

static uint8_t least_bytes(const ZydisDecodedOperand *a, const ZydisDecodedOperand *b) {
    uint16_t bits = a->size < b->size ? a->size : b->size;
    return (uint8_t)(bits / 8 < XMM_BYTES ? bits / 8 : XMM_BYTES);
}

/* AT: the plain memory operand that is moved to or from. */
static void move_memory(const ZydisDecodedOperand *at, struct data_use *ret) {
    ret->base = x86_64_general_number(at->mem.base);
    ret->displacement = (int32_t)at->mem.disp.value;
}

static void see_move(const struct operands *d, struct data_use *ret) {
    const ZydisDecodedOperand *to = &d->at[0], *from = &d->at[1];
    if (is_high_byte(to) || is_high_byte(from))
        return;
    ret->bytes = least_bytes(to, from);
    if (x86_64_is_plain_memory(from) && number_of(to) != DATA_NO_REGISTER) {
        ret->op = DATA_LOAD;
        ret->reg = number_of(to);
        move_memory(from, ret);
    } else if (number_of(to) != DATA_NO_REGISTER && number_of(from) != DATA_NO_REGISTER) {
        ret->op = DATA_COPY;
        ret->reg = number_of(to);
        ret->from = number_of(from);
    }
}

static void see_bit(const struct operands *d, struct data_use *ret) {
    const ZydisDecodedOperand *to = &d->at[0], *mask = &d->at[1];
    if (number_of(to) == DATA_NO_REGISTER || is_high_byte(to) ||
        mask->type != ZYDIS_OPERAND_TYPE_IMMEDIATE || mask->imm.value.u != 1)
        return;
    ret->op = DATA_BIT;
    ret->reg = ret->from = number_of(to);
    ret->bytes = 1;
}

/* A push is no such store: nothing is kept there under a name. */
static void see_store(const struct operands *d, struct data_use *ret) {
    for (int i = 0; i < d->in.operand_count; i++) {
        const ZydisDecodedOperand *o = &d->at[i];
        if (o->type != ZYDIS_OPERAND_TYPE_MEMORY || !(o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
            continue;
        if (d->in.mnemonic == ZYDIS_MNEMONIC_PUSH)
            return;
        if (i || !x86_64_is_plain_memory(o)) {
            ret->writes_anywhere = true;
            return;
        }
        const ZydisDecodedOperand *from = &d->at[1];
        ret->op = DATA_STORE;
        ret->reg =
            is_move(d->in.mnemonic) && !is_high_byte(from) ? number_of(from) : DATA_NO_REGISTER;
        ret->bytes = (uint8_t)(o->size / 8 < UINT8_MAX ? o->size / 8 : UINT8_MAX);
        move_memory(o, ret);
    }
}

/* ---- what is read ---- */

static bool is_same_twice(const struct operands *d) {
    return d->in.operand_count_visible >= 2 && d->at[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
           d->at[1].type == ZYDIS_OPERAND_TYPE_REGISTER && d->at[0].reg.value == d->at[1].reg.value;
}

/* An instruction whose result does not depend on a register that it names; or one that moves the
 * stack pointer or fills a gap. */
static bool needs_nothing(const struct operands *d) {
    const ZydisDecodedOperand *last = &d->at[1];
    const bool constant =
        d->in.operand_count_visible == 2 && last->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
    switch (d->in.mnemonic) {
    case ZYDIS_MNEMONIC_PUSH:
    case ZYDIS_MNEMONIC_NOP:
    case ZYDIS_MNEMONIC_XCHG:
        return true;
    case ZYDIS_MNEMONIC_XOR:
    case ZYDIS_MNEMONIC_SUB:
    case ZYDIS_MNEMONIC_SBB:
    case ZYDIS_MNEMONIC_XORPS:
    case ZYDIS_MNEMONIC_XORPD:
    case ZYDIS_MNEMONIC_SUBSD:
    case ZYDIS_MNEMONIC_SUBSS:
        return is_same_twice(d);
    case ZYDIS_MNEMONIC_AND:
        return constant && last->imm.value.u == 0;
    case ZYDIS_MNEMONIC_OR:
        return constant && last->imm.value.s == -1;
    default:
        return false;
    }
}

/* Of vector registers: moves and conversions need their source, arithmetic both operands. Others
 * may name a register of which they only keep the upper half. */
static bool needs_vector(ZydisMnemonic mnemonic, int operand) {
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_CVTTSD2SI:
    case ZYDIS_MNEMONIC_CVTTSS2SI:
    case ZYDIS_MNEMONIC_CVTSD2SI:
    case ZYDIS_MNEMONIC_CVTSS2SI:
    case ZYDIS_MNEMONIC_CVTSD2SS:
    case ZYDIS_MNEMONIC_CVTSS2SD:
        return operand > 0;
    case ZYDIS_MNEMONIC_ADDSD:
    case ZYDIS_MNEMONIC_ADDSS:
    case ZYDIS_MNEMONIC_SUBSD:
    case ZYDIS_MNEMONIC_SUBSS:
    case ZYDIS_MNEMONIC_MULSD:
    case ZYDIS_MNEMONIC_MULSS:
    case ZYDIS_MNEMONIC_DIVSD:
    case ZYDIS_MNEMONIC_DIVSS:
    case ZYDIS_MNEMONIC_UCOMISD:
    case ZYDIS_MNEMONIC_UCOMISS:
    case ZYDIS_MNEMONIC_COMISD:
    case ZYDIS_MNEMONIC_COMISS:
    case ZYDIS_MNEMONIC_XORPD:
    case ZYDIS_MNEMONIC_XORPS:
        return true;
    default:
        return operand > 0 && is_move(mnemonic);
    }
}

static uint64_t bit_of(uint8_t number) {
    return number < DATA_REGISTERS ? UINT64_C(1) << number : 0;
}

static uint64_t read_by_operand(const struct operands *d, int i) {
    const ZydisDecodedOperand *o = &d->at[i];
    if (o->type == ZYDIS_OPERAND_TYPE_MEMORY)
        return bit_of(x86_64_general_number(o->mem.base)) |
               bit_of(x86_64_general_number(o->mem.index));
    const uint8_t number = number_of(o);
    if (!(o->actions & ZYDIS_OPERAND_ACTION_MASK_READ) || number == DATA_NO_REGISTER)
        return 0;
    return number < DATA_VECTOR || needs_vector(d->in.mnemonic, i) ? bit_of(number) : 0;
}

static uint64_t read_registers(const struct operands *d) {
    uint64_t read = 0;
    for (int i = 0; i < d->in.operand_count && !needs_nothing(d); i++)
        read |= read_by_operand(d, i);
    return read;
}

/* What is pushed or exchanged can be read later. */
static uint64_t may_read_registers(const struct operands *d) {
    const bool keeps =
        d->in.mnemonic == ZYDIS_MNEMONIC_PUSH || d->in.mnemonic == ZYDIS_MNEMONIC_XCHG;
    uint64_t read = 0;
    for (int i = 0; i < d->in.operand_count && (keeps || !needs_nothing(d)); i++) {
        const ZydisDecodedOperand *o = &d->at[i];
        if (o->type == ZYDIS_OPERAND_TYPE_MEMORY)
            read |= bit_of(x86_64_general_number(o->mem.base)) |
                    bit_of(x86_64_general_number(o->mem.index)) |
                    bit_of(vector_number(o->mem.index));
        else if (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
            read |= bit_of(number_of(o));
    }
    return read;
}

/* Parts of a general register with less than 32 bits leave the others. */
static uint64_t replaced_registers(const struct operands *d) {
    enum { LEAST = 32 };
    uint64_t replaced = 0;
    for (int i = 0; i < d->in.operand_count; i++) {
        const ZydisDecodedOperand *o = &d->at[i];
        if (o->actions & ZYDIS_OPERAND_ACTION_WRITE && o->size >= LEAST)
            replaced |= bit_of(number_of(o));
    }
    return replaced;
}

/* ---- what only makes a value ---- */

/* Whether the instruction changes no flags, and nothing but its first operand. */
static bool only_makes(ZydisMnemonic mnemonic) {
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_MOVSX:
    case ZYDIS_MNEMONIC_MOVSXD:
    case ZYDIS_MNEMONIC_SETZ:
    case ZYDIS_MNEMONIC_SETNZ:
    case ZYDIS_MNEMONIC_SETB:
    case ZYDIS_MNEMONIC_SETNB:
    case ZYDIS_MNEMONIC_SETBE:
    case ZYDIS_MNEMONIC_SETNBE:
    case ZYDIS_MNEMONIC_SETL:
    case ZYDIS_MNEMONIC_SETNL:
    case ZYDIS_MNEMONIC_SETLE:
    case ZYDIS_MNEMONIC_SETNLE:
    case ZYDIS_MNEMONIC_SETS:
    case ZYDIS_MNEMONIC_SETNS:
    case ZYDIS_MNEMONIC_CMOVZ:
    case ZYDIS_MNEMONIC_CMOVNZ:
    case ZYDIS_MNEMONIC_CMOVB:
    case ZYDIS_MNEMONIC_CMOVNB:
    case ZYDIS_MNEMONIC_CMOVBE:
    case ZYDIS_MNEMONIC_CMOVNBE:
    case ZYDIS_MNEMONIC_CMOVL:
    case ZYDIS_MNEMONIC_CMOVNL:
    case ZYDIS_MNEMONIC_CMOVLE:
    case ZYDIS_MNEMONIC_CMOVNLE:
    case ZYDIS_MNEMONIC_CMOVS:
    case ZYDIS_MNEMONIC_CMOVNS:
        return true;
    default:
        return is_move(mnemonic);
    }
}

/* What is read from memory may be read for its own sake (volatile). */
static bool reads_memory(const struct operands *d) {
    for (int i = 0; i < d->in.operand_count; i++)
        if (d->at[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
            (d->at[i].actions & ZYDIS_OPERAND_ACTION_MASK_READ))
            return true;
    return false;
}

static uint64_t made_registers(const struct operands *d) {
    return only_makes(d->in.mnemonic) && !reads_memory(d) ? bit_of(number_of(&d->at[0])) : 0;
}

static uint64_t cleared_registers(const struct operands *d) {
    const bool clears = d->in.mnemonic == ZYDIS_MNEMONIC_XOR ||
                        d->in.mnemonic == ZYDIS_MNEMONIC_XORPS ||
                        d->in.mnemonic == ZYDIS_MNEMONIC_XORPD;
    return clears && is_same_twice(d) ? bit_of(number_of(&d->at[0])) : 0;
}

bool x86_64_data(const uint8_t *bytes, size_t size, struct data_use *ret) {
    struct operands d;
    *ret = (struct data_use){.op = DATA_OTHER};
    if (!x86_64_operands(bytes, size, &d))
        return false;
    ret->written = written_registers(&d);
    ret->read = read_registers(&d);
    ret->may_read = may_read_registers(&d);
    ret->replaced = replaced_registers(&d);
    ret->made = made_registers(&d);
    ret->cleared = cleared_registers(&d);
    if (d.in.mnemonic == ZYDIS_MNEMONIC_AND)
        see_bit(&d, ret);
    else if (is_move(d.in.mnemonic) && d.in.operand_count_visible == 2)
        see_move(&d, ret);
    if (ret->op == DATA_OTHER)
        see_store(&d, ret);
    return true;
}

/* ---- uses of addresses ---- */

/* The length of the instruction that BYTES may begin, whose last 4 are a distance; 0: none. */
static unsigned use_of(const uint8_t *bytes, enum code_use *ret) {
    enum { CALL = 0xe8, JUMP = 0xe9, LEA = 0x8d, TWO_BYTES = 0x0f, BRANCH = 0x80 };
    enum { FORM = 0xc7, PC_RELATIVE = 5, BRANCHES = 0xf0 };
    *ret = USE_JUMP;
    if (bytes[0] == CALL)
        *ret = USE_CALL;
    if (bytes[0] == CALL || bytes[0] == JUMP)
        return 5;
    if (bytes[0] == TWO_BYTES && (bytes[1] & BRANCHES) == BRANCH)
        return 6;
    *ret = USE_ADDRESS;
    return bytes[0] == LEA && (bytes[1] & FORM) == PC_RELATIVE ? 6 : 0;
}

void x86_64_find_uses(const uint8_t *bytes, size_t size, vaddr_t addr,
                      void (*see)(void *ctx, vaddr_t at, vaddr_t target, enum code_use use),
                      void *ctx) {
    enum { LONGEST = 6 };
    for (size_t i = 0; i + LONGEST <= size; i++) {
        enum code_use use;
        const unsigned length = use_of(bytes + i, &use);
        int32_t distance;
        if (!length)
            continue;
        memcpy(&distance, bytes + i + length - sizeof distance, sizeof distance);
        see(ctx, addr + i, addr + i + length + (uint64_t)(int64_t)distance, use);
    }
}
