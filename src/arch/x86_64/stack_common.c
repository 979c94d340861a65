/*
 * Effects on the stack of the instructions that nearly all code consists of, by a table. Others are
 * left to Zydis (stack.c), which takes many times as long. The results are the same:
 * test/arch/test_common.c compares both for every opcode and form.
 */
#include <string.h>

#include "arch/x86_64/x86_64.h"

enum { RAX = 0, RDX = 1, RBP = 6, RSP = 7, NO_REG = STACK_NO_REGISTER };
enum { REX_B = 1, REX_X = 2, REX_R = 4, REX_W = 8 };
enum { ESCAPE = 0x0f };

/*
 * What an instruction does, by its opcode:
 *
 *   -  writes neither a general register nor memory       +  the same, if it has a ModRM byte
 *   d  writes its operand rm, a byte: b                   r  writes its operand reg, a byte: R
 *   M  moves reg to rm                                    L  moves rm to reg
 *   m  moves a constant to rm, a byte: n
 *   A  lea                                                I  mov $imm to a register, a byte: i
 *   P  pushes, p pops the register of the opcode          N  pushes a constant
 *   a  writes rax, a byte: the same                       D  writes rdx
 *   s  and with rax, t sub from rax, u add to rax         g  group 1: add … cmp; with a byte: G
 *   T  group 3: test … ; with a byte: 3                   5  group 5
 *   C  call                                               l  leave
 *   .  is left to Zydis
 *
 * Intel SDM, volume 2, appendix A.
 */
static const char one_byte[257] = "bdRrau..bdRra..." /* 0 */
                                  "bdRraa..bdRraa.." /* 1 */
                                  "bdRras..bdRrat.." /* 2 */
                                  "bdRraa..++++--.." /* 3 */
                                  "................" /* 4: REX */
                                  "PPPPPPPPpppppppp" /* 5 */
                                  "...r....NrNr...." /* 6 */
                                  "----------------" /* 7 */
                                  "Gg.g++..MMLL.A.." /* 8 */
                                  "........aD......" /* 9 */
                                  "........--......" /* a */
                                  "iiiiiiiiIIIIIIII" /* b */
                                  "bd....nm.l......" /* c */
                                  "bdbd............" /* d */
                                  "........C-.-...." /* e */
                                  "......3T......b5" /* f */;
/* After 0F. */
static const char after_0f[257] = "................" /* 0 */
                                  "...............+" /* 1 */
                                  "................" /* 2 */
                                  "................" /* 3 */
                                  "rrrrrrrrrrrrrrrr" /* 4 */
                                  "................" /* 5 */
                                  "................" /* 6 */
                                  "................" /* 7 */
                                  "----------------" /* 8 */
                                  "bbbbbbbbbbbbbbbb" /* 9 */
                                  "...............r" /* a */
                                  "......rr......rr" /* b */
                                  "................" /* c */
                                  "................" /* d */
                                  "................" /* e */
                                  "................" /* f */;

struct parts { /* of an instruction */
    const uint8_t *at, *end;
    uint8_t rex, opcode, extension; /* extension: ModRM.reg, as it is */
    uint8_t reg, rm;                /* numbers of registers, as DWARF counts */
    uint8_t width;                  /* bytes of its operands, if they are no bytes */
    uint8_t base;                   /* of rm in memory */
    bool is_memory, is_plain;       /* plain: a register and a constant are the address */
    int32_t displacement;
};

static uint8_t general(unsigned number) {
    static const uint8_t numbers[] = {RAX, 2, RDX, 3, RSP, RBP, 4, 5};
    return number < sizeof numbers ? numbers[number] : (uint8_t)number;
}

/* Without REX, byte registers 4 to 7 are the second bytes of the first four. */
static uint8_t byte_register(const struct parts *p, unsigned field, unsigned rex_bit) {
    const unsigned number = p->rex ? field | (p->rex & rex_bit ? 8U : 0) : field & 3;
    return general(number);
}

/* The next SIZE bytes as a signed number. False: the instruction ends before. */
static bool take(struct parts *p, unsigned size, int32_t *ret) {
    if ((size_t)(p->end - p->at) < size)
        return false;
    if (size == 4)
        memcpy(ret, p->at, sizeof *ret);
    else
        *ret = size ? (int8_t)*p->at : 0;
    p->at += size;
    return true;
}

/* Reads the operand in memory behind ModRM. MODE is not 3. */
static bool read_memory(struct parts *p, unsigned mode, unsigned base) {
    static const uint8_t sizes[] = {0, 1, 4};
    enum { SIB = 4, NO_BASE = 5, NO_INDEX = 4 };
    bool has_index = false;
    bool has_base = mode || base != NO_BASE; /* else an address behind the instruction */
    if (base == SIB) {
        if (p->at >= p->end)
            return false;
        const unsigned index = *p->at >> 3 & 7U;
        has_index = index != NO_INDEX || p->rex & REX_X;
        base = *p->at++ & 7U;
        has_base = mode || base != NO_BASE;
    }
    p->is_memory = true;
    p->is_plain = has_base && !has_index;
    p->base = general(base | (p->rex & REX_B ? 8U : 0));
    return take(p, !mode && base == NO_BASE ? 4 : sizes[mode], &p->displacement);
}

/* Reads ModRM and what belongs to it. */
static bool read_modrm(struct parts *p, bool of_bytes) {
    if (p->at >= p->end)
        return false;
    const unsigned mode = *p->at >> 6, field = *p->at >> 3 & 7U, base = *p->at & 7U;
    p->at++;
    p->extension = (uint8_t)field;
    p->reg = of_bytes ? byte_register(p, field, REX_R) : general(field | (p->rex & REX_R ? 8U : 0));
    p->rm = of_bytes ? byte_register(p, base, REX_B) : general(base | (p->rex & REX_B ? 8U : 0));
    return mode == 3 || read_memory(p, mode, base);
}

/* REG gets an unknown value. */
static struct stack_effect changed(uint8_t reg) { return stack_changed(UINT32_C(1) << reg); }

/* SIZE bytes are written to rm. REG: the stored register. */
static struct stack_effect written(const struct parts *p, uint8_t reg, uint8_t size) {
    if (!p->is_memory)
        return changed(p->rm);
    return p->is_plain ? stack_store(reg, p->base, p->displacement, size) : stack_changed(0);
}

static bool is_word(const struct parts *p) { return p->rex & REX_W; }

static struct stack_effect moved_to_rm(const struct parts *p, bool of_bytes) {
    if (is_word(p) && !of_bytes)
        return p->is_memory ? written(p, p->reg, p->width) : stack_set(p->rm, p->reg, 0);
    return written(p, NO_REG, of_bytes ? 1 : p->width);
}

static struct stack_effect moved_to_reg(const struct parts *p, bool of_bytes) {
    if (of_bytes || !is_word(p))
        return changed(p->reg);
    if (!p->is_memory)
        return stack_set(p->reg, p->rm, 0);
    return p->is_plain ? stack_load(p->reg, p->base, p->displacement) : changed(p->reg);
}

static struct stack_effect address(const struct parts *p) {
    return is_word(p) && p->is_plain ? stack_set(p->reg, p->base, p->displacement)
                                     : changed(p->reg);
}

/* ModRM.reg in group 1, and the same operations with rax. */
enum { ADD = 0, AND = 4, SUB = 5, COMPARE = 7 };

/* The word in REG and VALUE. */
static struct stack_effect sum(uint8_t reg, unsigned operation, int32_t value) {
    switch (operation) {
    case ADD:
        return stack_set(reg, reg, value);
    case SUB:
        return stack_set(reg, reg, -(int64_t)value);
    case AND:
        return (struct stack_effect){.op = STACK_ALIGN, .reg = reg, .base = reg};
    default:
        return changed(reg);
    }
}

static bool group_1(struct parts *p, struct stack_effect *ret) {
    const bool is_long = p->opcode == 0x81;
    int32_t value = 0;
    if (p->extension == COMPARE)
        *ret = stack_changed(0);
    else if (p->is_memory || !is_word(p))
        *ret = written(p, NO_REG, p->width);
    else if (take(p, is_long ? 4 : 1, &value))
        *ret = sum(p->rm, p->extension, value);
    else
        return false;
    return true;
}

static bool with_rax(struct parts *p, unsigned operation, struct stack_effect *ret) {
    int32_t value = 0;
    if (is_word(p) && !take(p, 4, &value))
        return false;
    *ret = is_word(p) ? sum(RAX, operation, value) : changed(RAX);
    return true;
}

static bool group_3(const struct parts *p, uint8_t size, struct stack_effect *ret) {
    enum { TEST = 0, NOT = 2, NEGATE = 3 };
    if (p->extension == TEST)
        *ret = stack_changed(0);
    else if (p->extension == NOT || p->extension == NEGATE)
        *ret = written(p, NO_REG, size);
    else
        return false;
    return true;
}

static struct stack_effect called(void) {
    static const uint32_t not_kept =
        1U << 0 | 1U << 1 | 1U << 2 | 1U << 4 | 1U << 5 | 1U << 8 | 1U << 9 | 1U << 10 | 1U << 11;
    return (struct stack_effect){.op = STACK_CALL, .changed = not_kept};
}

static bool group_5(const struct parts *p, struct stack_effect *ret) {
    enum { INCREMENT = 0, DECREMENT = 1, CALL = 2, JUMP = 4 };
    switch (p->extension) {
    case INCREMENT:
    case DECREMENT:
        *ret = written(p, NO_REG, p->width);
        return true;
    case CALL:
        *ret = called();
        return true;
    case JUMP:
        *ret = stack_changed(0);
        return true;
    default:
        return false;
    }
}

/* Instructions without ModRM. False: another one. */
static bool short_effect(struct parts *p, char what, struct stack_effect *ret) {
    const unsigned low = p->opcode & 7U;
    const uint8_t reg = general(low | (p->rex & REX_B ? 8U : 0));
    switch (what) {
    case '-':
        *ret = stack_changed(0);
        return true;
    case 'P':
    case 'N':
        *ret = (struct stack_effect){.op = STACK_PUSH, .reg = what == 'P' ? reg : NO_REG};
        return true;
    case 'p':
        *ret = (struct stack_effect){.op = STACK_POP, .reg = reg};
        return reg != RSP;
    case 'I':
    case 'i':
        *ret = changed(what == 'I' ? reg : byte_register(p, low, REX_B));
        return true;
    case 'a':
    case 'D':
        *ret = changed(what == 'a' ? RAX : RDX);
        return true;
    case 'u':
        return with_rax(p, ADD, ret);
    case 's':
        return with_rax(p, AND, ret);
    case 't':
        return with_rax(p, SUB, ret);
    case 'C':
        *ret = called();
        return true;
    case 'l':
        *ret = (struct stack_effect){.op = STACK_LEAVE, .reg = RBP};
        return true;
    default:
        return false;
    }
}

static bool is_or_of_sp(const struct parts *p) {
    return (p->opcode == 0x09 && p->rm == RSP) || (p->opcode == 0x0b && p->reg == RSP);
}

/* Instructions with ModRM, which has been read. False: another one. */
static bool long_effect(struct parts *p, char what, struct stack_effect *ret) {
    switch (what) {
    case '+':
        *ret = stack_changed(0);
        return true;
    case 'd':
    case 'b':
        *ret = written(p, NO_REG, what == 'b' ? 1 : p->width);
        return !is_or_of_sp(p);
    case 'm':
    case 'n':
        *ret = written(p, NO_REG, what == 'n' ? 1 : p->width);
        return p->extension == 0;
    case 'r':
    case 'R':
        *ret = changed(p->reg);
        return !is_or_of_sp(p);
    case 'M':
        *ret = moved_to_rm(p, p->opcode == 0x88);
        return true;
    case 'L':
        *ret = moved_to_reg(p, p->opcode == 0x8a);
        return true;
    case 'A':
        *ret = address(p);
        return p->is_memory;
    case 'g':
        return group_1(p, ret);
    case 'G':
        *ret = p->extension == COMPARE ? stack_changed(0) : written(p, NO_REG, 1);
        return true;
    case '3':
    case 'T':
        return group_3(p, what == '3' ? 1 : p->width, ret);
    case '5':
        return group_5(p, ret);
    default:
        return false;
    }
}

static bool has_bytes(char what) {
    return what == 'b' || what == 'R' || what == 'G' || what == '3' || what == 'n';
}

bool x86_64_stack_common(const uint8_t *bytes, size_t size, struct stack_effect *ret) {
    struct parts p = {.at = bytes, .end = bytes + size, .width = 4};
    if (p.at < p.end && (*p.at & 0xf0) == 0x40)
        p.rex = *p.at++;
    if (p.rex & REX_W)
        p.width = 8;
    if (p.at >= p.end)
        return false;
    p.opcode = *p.at++;
    char what = one_byte[p.opcode];
    if (p.opcode == ESCAPE) {
        if (p.at >= p.end)
            return false;
        what = after_0f[*p.at++];
    }
    if (what == '.')
        return false;
    if (short_effect(&p, what, ret))
        return true;
    const bool of_bytes = has_bytes(what) || p.opcode == 0x88 || p.opcode == 0x8a;
    return read_modrm(&p, of_bytes) && long_effect(&p, what, ret);
}
