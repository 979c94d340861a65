/*
 * Decodes by two tables the instructions that nearly all code consists of. Others are left to Zydis
 * (decode.c), which takes many times as long. The results are those of decode.c:
 * test/arch/test_common.c compares both for every opcode and form.
 *
 *      prefixes   66, F2, F3; 2E before a nop; REX
 *      opcode     one byte, or 0F and one byte
 *      operands   ModRM, SIB, displacement
 *      constant
 *
 * The tables look like those of the Intel SDM, volume 2, appendix A, with a letter for each opcode.
 */
#include <string.h>

#include "arch/x86_64/x86_64.h"

enum { /* parts of the instruction behind the opcode */
       MODRM = 1,
       IMM_8 = 2,
       IMM_32 = 4,    /* 16 bits with an operand-size prefix */
       IMM_WIDE = 8,  /* as wide as the operand */
       RELATIVE = 16, /* the constant is a distance from the instruction's end */
       NO_REGISTER = 32,
       NO_MEMORY = 64,
       IMM_IF_TEST = 128, /* group 3: the constant is that of its tests, /0 and /1 */
       ADDRESS = 256,     /* the memory operand is not accessed */
};
enum { PLAIN = 1, P66 = 2, PF3 = 4, PF2 = 8, P2E = 16 }; /* prefixes; PLAIN: none of 66, F3, F2 */
enum { NARROW, ORDINARY, WIDE, WIDTHS };                 /* operands: 66, none, REX.W */
enum { ANY_REG = 0xff, BIT_TESTS = 0xf0, GROUP_5 = 0x57 };

struct shape {
    uint16_t follows;
    uint8_t kind;     /* enum insn_kind; INSN_BAD: not known here */
    uint8_t regs;     /* values of ModRM.reg that are known here, as a bitmap */
    uint8_t prefixes; /* prefixes with which it is known here */
    uint8_t constant[WIDTHS];
    uint8_t readers; /* values of ModRM.reg with which it reads flags, as a bitmap */
    bool writes_flags;
};

static const struct {
    char letter;
    uint8_t kind;
    uint16_t follows;
    uint8_t regs, prefixes;
} letters[] = {
    {'-', INSN_OTHER, 0, ANY_REG, PLAIN | P66},
    {'m', INSN_OTHER, MODRM, ANY_REG, PLAIN | P66},
    {'M', INSN_OTHER, MODRM | NO_REGISTER, ANY_REG, PLAIN | P66},
    {'l', INSN_OTHER, MODRM | NO_REGISTER | ADDRESS, ANY_REG, PLAIN | P66}, /* lea */
    {'R', INSN_OTHER, MODRM | NO_MEMORY, ANY_REG, PLAIN | P66},
    {'b', INSN_OTHER, IMM_8, ANY_REG, PLAIN | P66},
    {'B', INSN_OTHER, MODRM | IMM_8, ANY_REG, PLAIN | P66},
    {'z', INSN_OTHER, IMM_32, ANY_REG, PLAIN | P66},
    {'Z', INSN_OTHER, MODRM | IMM_32, ANY_REG, PLAIN | P66},
    {'v', INSN_OTHER, IMM_WIDE, ANY_REG, PLAIN | P66},
    {'t', INSN_OTHER, MODRM | IMM_8 | IMM_IF_TEST, ANY_REG, PLAIN | P66},
    {'T', INSN_OTHER, MODRM | IMM_32 | IMM_IF_TEST, ANY_REG, PLAIN | P66},
    {'i', INSN_OTHER, MODRM, 1 << 0 | 1 << 1, PLAIN | P66}, /* inc, dec */
    {'e', INSN_OTHER, MODRM | IMM_8, BIT_TESTS, PLAIN | P66},
    {'s', INSN_OTHER, MODRM | IMM_8, 1 << 0, PLAIN | P66}, /* mov */
    {'S', INSN_OTHER, MODRM | IMM_32, 1 << 0, PLAIN | P66},
    {'5', INSN_JUMP_INDIRECT, MODRM, GROUP_5, PLAIN}, /* see kind_of() */
    {'p', INSN_NOP, 0, ANY_REG, PLAIN | P66},
    {'P', INSN_NOP, MODRM, ANY_REG, PLAIN | P66 | P2E},
    {'j', INSN_BRANCH, IMM_8 | RELATIVE, ANY_REG, PLAIN},
    {'J', INSN_BRANCH, IMM_32 | RELATIVE, ANY_REG, PLAIN},
    {'g', INSN_JUMP, IMM_8 | RELATIVE, ANY_REG, PLAIN},
    {'G', INSN_JUMP, IMM_32 | RELATIVE, ANY_REG, PLAIN},
    {'C', INSN_CALL, IMM_32 | RELATIVE, ANY_REG, PLAIN},
    {'r', INSN_RETURN, 0, ANY_REG, PLAIN},
    {'k', INSN_BREAK, 0, ANY_REG, PLAIN},
    {'u', INSN_TRAP, 0, ANY_REG, PLAIN},
};

enum { ONE_BYTE, AFTER_0F, MAPS };
enum { ESCAPE = 0x0f };

static const char drawn[MAPS][257] = {
    /* 0 1 2 3 4 5 6 7 8 9 a b c d e f */
    [ONE_BYTE] = "mmmmbz..mmmmbz.." /* 0 */
                 "mmmmbz..mmmmbz.." /* 1 */
                 "mmmmbz..mmmmbz.." /* 2 */
                 "mmmmbz..mmmmbz.." /* 3 */
                 "................" /* 4: REX */
                 "----------------" /* 5 */
                 "...m....zZbB...." /* 6 */
                 "jjjjjjjjjjjjjjjj" /* 7 */
                 "BZ.Bmmmmmmmm.l.." /* 8 */
                 "p---------......" /* 9 */
                 "....----bz------" /* a */
                 "bbbbbbbbvvvvvvvv" /* b */
                 "BB.r..sS.-..k..." /* c */
                 "mmmm............" /* d */
                 "........CG.g...." /* e */
                 "......tT......i5" /* f */,
    [AFTER_0F] = "...........u...." /* 0 */
                 "mmmMmmmM.......P" /* 1 */
                 "........mmmMmmmm" /* 2 */
                 "................" /* 3 */
                 "mmmmmmmmmmmmmmmm" /* 4 */
                 "Rmmmmmmmmmmmmmmm" /* 5 */
                 "mmmmmmmmmmmmmmmm" /* 6 */
                 "B...mmm.....mmmm" /* 7 */
                 "JJJJJJJJJJJJJJJJ" /* 8 */
                 "mmmmmmmmmmmmmmmm" /* 9 */
                 "...mBm.....mBm.m" /* a */
                 "mm.m..mmm.emmmmm" /* b */
                 "mmBMB.B.--------" /* c */
                 ".mmmmmmRmmmmmmmm" /* d */
                 "mmmmmmmMmmmmmmmm" /* e */
                 ".mmmmmm.mmmmmmm." /* f */,
};

/* For opcodes after 0F: with which of PLAIN, P66, PF3 and PF2 they are known, as a hexadecimal
 * digit; '.': those of the letter. */
static const char drawn_prefixes[257] = "................" /* 0 */
                                        "ffd.335........." /* 1 */
                                        "........33c3cc33" /* 2 */
                                        "................" /* 3 */
                                        "................" /* 4 */
                                        "3f553333fff7ffff" /* 5 */
                                        "3333333333332237" /* 6 */
                                        "f...333.....aa77" /* 7 */
                                        "................" /* 8 */
                                        "................" /* 9 */
                                        "................" /* a */
                                        "........4...77.." /* b */
                                        "..f1....11111111" /* c */
                                        "......2........." /* d */
                                        "......e........." /* e */
                                        "................" /* f */;

static struct shape shapes[MAPS][256];

static uint8_t digit_of(char c) { return (uint8_t)(c <= '9' ? c - '0' : c - 'a' + 10); }

static uint8_t constant_size(unsigned follows, unsigned width) {
    static const uint8_t sizes[] = {[NARROW] = 2, [ORDINARY] = 4, [WIDE] = 8};
    if (follows & IMM_WIDE)
        return sizes[width];
    if (follows & IMM_32)
        return width == NARROW ? 2 : 4;
    return follows & IMM_8 ? 1 : 0;
}

static struct shape shape_drawn(uint8_t map, uint8_t opcode) {
    struct shape shape = {0};
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++) {
        if (letters[i].letter == drawn[map][opcode])
            shape = (struct shape){.kind = letters[i].kind,
                                   .follows = letters[i].follows,
                                   .regs = letters[i].regs,
                                   .prefixes = letters[i].prefixes};
    }
    if (map == AFTER_0F && drawn_prefixes[opcode] != '.')
        shape.prefixes = digit_of(drawn_prefixes[opcode]);
    for (unsigned width = 0; width < WIDTHS; width++)
        shape.constant[width] = constant_size(shape.follows, width);
    shape.writes_flags = x86_64_writes_flags(map, opcode);
    for (uint8_t reg = 0; reg < 8; reg++)
        shape.readers |= (uint8_t)(x86_64_reads_flags(map, opcode, reg) << reg);
    return shape;
}

__attribute__((constructor)) static void read_drawing(void) {
    for (int i = 0; i < MAPS * 256; i++)
        shapes[i / 256][i % 256] = shape_drawn((uint8_t)(i / 256), (uint8_t)(i % 256));
}

enum { REX_W = 8 };

struct parsed {
    const uint8_t *bytes, *at; /* the first byte, and the next one to read */
    const struct shape *shape;
    const uint8_t *modrm; /* NULL: none */
    const uint8_t *displacement, *constant;
    unsigned displacement_size, constant_size;
    unsigned prefixes, reg; /* reg: of ModRM, 0 without */
};

static unsigned prefix_bit(uint8_t byte) {
    switch (byte) {
    case 0x66:
        return P66;
    case 0xf2:
        return PF2;
    case 0xf3:
        return PF3;
    case 0x2e:
        return P2E;
    default:
        return 0;
    }
}

/* False if several prefixes select different instructions. */
static bool read_prefixes(struct parsed *p) {
    enum { MOST = 4, SELECTORS = P66 | PF3 | PF2 };
    unsigned seen = 0;
    for (unsigned bit; p->at < p->bytes + MOST && (bit = prefix_bit(*p->at)); p->at++)
        seen |= bit;
    unsigned selectors = seen & SELECTORS;
    p->prefixes = selectors ? seen : seen | PLAIN;
    return !(selectors & (selectors - 1));
}

/* Opcode 90 with REX is an exchange with r8; with other prefixes than 66 it is no padding. */
static bool is_padding(const struct parsed *p) {
    return p->shape->follows & MODRM || p->at == p->bytes + (p->prefixes == P66 ? 2 : 1);
}

static bool read_opcode(struct parsed *p) {
    unsigned rex = 0;
    p->prefixes = PLAIN;
    if (prefix_bit(*p->at) && !read_prefixes(p))
        return false;
    if ((*p->at & 0xf0) == 0x40)
        rex = *p->at++;
    p->shape = &shapes[ONE_BYTE][*p->at++];
    if (p->at[-1] == ESCAPE)
        p->shape = &shapes[AFTER_0F][*p->at++];
    p->constant_size = p->shape->constant[rex & REX_W         ? WIDE
                                          : p->prefixes & P66 ? NARROW
                                                              : ORDINARY];
    return !(p->prefixes & ~p->shape->prefixes) && (p->shape->kind != INSN_NOP || is_padding(p));
}

static bool is_pc_relative(const struct parsed *p) { return p->modrm && (*p->modrm & 0xc7) == 5; }

static bool read_modrm(struct parsed *p) {
    static const uint8_t displacement_sizes[] = {0, 1, 4, 0};
    const struct shape *shape = p->shape;
    p->modrm = p->at++;
    unsigned mod = *p->modrm >> 6, base = *p->modrm & 7;
    p->reg = *p->modrm >> 3 & 7;
    if (shape->follows & (mod == 3 ? NO_REGISTER : NO_MEMORY) || !(shape->regs >> p->reg & 1))
        return false;
    if (mod != 3 && base == 4)
        base = *p->at++ & 7;
    p->displacement = p->at;
    p->displacement_size = mod == 0 && base == 5 ? 4 : displacement_sizes[mod];
    p->at += p->displacement_size;
    if (shape->follows & IMM_IF_TEST && p->reg > 1)
        p->constant_size = 0;
    return true;
}

/* SIZE bytes as a signed number. */
static int64_t number_at(const uint8_t *at, unsigned size) {
    int64_t wide;
    int32_t word;
    switch (size) {
    case 1:
        return (int8_t)*at;
    case 4:
        memcpy(&word, at, sizeof word);
        return word;
    default:
        memcpy(&wide, at, sizeof wide);
        return wide;
    }
}

static uint8_t kind_of(const struct parsed *p) {
    static const uint8_t group_5[] = {INSN_OTHER,         INSN_OTHER, INSN_CALL_INDIRECT, INSN_BAD,
                                      INSN_JUMP_INDIRECT, INSN_BAD,   INSN_OTHER};
    return p->shape->kind == INSN_JUMP_INDIRECT ? group_5[p->reg] : p->shape->kind;
}

static void find_constants(const struct parsed *p, struct insn_constants *ret) {
    *ret = (struct insn_constants){0};
    if (p->shape->kind == INSN_NOP || p->shape->follows & RELATIVE || is_pc_relative(p))
        return;
    if (p->constant_size >= 4) {
        int64_t n = number_at(p->constant, p->constant_size);
        ret->immediate[ret->immediate_count++] = p->constant_size == 4 ? (uint32_t)n : (uint64_t)n;
    }
    if (p->displacement_size == 4) {
        ret->has_displacement = true;
        ret->displacement = (uint64_t)number_at(p->displacement, 4);
    }
}

static void find_target(const struct parsed *p, struct insn *ret) {
    const uint8_t *distance = NULL;
    unsigned size = 4;
    if (p->shape->follows & RELATIVE) {
        distance = p->constant;
        size = p->constant_size;
    } else if (is_pc_relative(p) && p->shape->kind != INSN_NOP) {
        distance = p->displacement;
        ret->operand = p->shape->follows & ADDRESS ? OPERAND_PC_ADDRESS : OPERAND_PC_MEMORY;
    }
    if (!distance)
        return;
    ret->field = (uint8_t)(distance - p->bytes);
    ret->target = ret->addr + ret->size + (uint64_t)number_at(distance, size);
}

/* INSN_MAX_BYTES are readable at BYTES, whatever ROOM is. */
static bool decode(const uint8_t *bytes, size_t room, vaddr_t addr, struct insn *ret,
                   struct insn_constants *constants) {
    struct parsed p;
    p.bytes = p.at = bytes;
    p.modrm = p.displacement = NULL;
    p.displacement_size = p.reg = 0;
    if (!read_opcode(&p) || (p.shape->follows & MODRM && !read_modrm(&p)))
        return false;
    p.constant = p.at;
    size_t size = (size_t)(p.at - bytes) + p.constant_size;
    if (size > room || size > INSN_MAX_BYTES)
        return false;
    *ret = (struct insn){.addr = addr,
                         .size = (uint8_t)size,
                         .kind = kind_of(&p),
                         .reads_flags = p.shape->readers >> p.reg & 1,
                         .writes_flags = p.shape->writes_flags};
    find_target(&p, ret);
    if (constants)
        find_constants(&p, constants);
    return true;
}

bool x86_64_decode_common(const uint8_t *bytes, size_t room, vaddr_t addr, struct insn *ret,
                          struct insn_constants *constants) {
    uint8_t padded[INSN_MAX_BYTES] = {0};
    if (room < INSN_MAX_BYTES)
        bytes = memcpy(padded, bytes, room);
    return decode(bytes, room, addr, ret, constants);
}

bool x86_64_decode(const uint8_t *bytes, size_t room, vaddr_t addr, struct insn *ret,
                   struct insn_constants *constants) {
    bool common = room < INSN_MAX_BYTES ? x86_64_decode_common(bytes, room, addr, ret, constants)
                                        : decode(bytes, room, addr, ret, constants);
    return common || x86_64_decode_any(bytes, room, addr, ret, constants);
}
