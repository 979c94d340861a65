/*
 * The instructions that nearly all code consists of, decoded by two tables; others are left to
 * Zydis (decode.c), which takes many times as long. Where this file answers, it answers what
 * decode.c would: test/arch/test_common.c compares them for every opcode and form.
 *
 *      prefixes   66, F2, F3; 2E before a nop; REX
 *      opcode     one byte, or 0F and one byte
 *      operands   ModRM, SIB, displacement
 *      constant
 *
 * The tables are drawn as those of the Intel SDM, volume 2, appendix A: a letter for each opcode.
 */
#include <string.h>

#include "arch/x86_64/x86_64.h"

enum { /* what follows an opcode */
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
enum { PLAIN = 1, P66 = 2, PF3 = 4, PF2 = 8 }; /* which prefix may stand before it, if any */
enum { ANY_REG = 0xff, BIT_TESTS = 0xf0, GROUP_5 = 0x57 };

struct shape {
    uint16_t follows;
    uint8_t kind;     /* enum insn_kind; INSN_BAD: not known here */
    uint8_t regs;     /* values of ModRM.reg that are known here, as a bitmap */
    uint8_t prefixes; /* those with which it is */
    uint8_t readers;  /* values of ModRM.reg with which it reads flags, as a bitmap */
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
    {'P', INSN_NOP, MODRM, ANY_REG, PLAIN | P66},
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

/* With which of PLAIN, P66, PF3 and PF2 opcodes after 0F are known, where the letter does not tell:
 * a hexadecimal digit each. */
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
enum { MOST_PREFIXES = 4 };

struct parsed {
    const uint8_t *bytes; /* INSN_MAX_BYTES of them are readable */
    struct shape shape;
    unsigned at;     /* behind what has been read; at last the size */
    unsigned prefix; /* PLAIN, P66, PF3, PF2; several bits when there are several */
    bool cs;         /* a prefix that says nothing here */
    unsigned rex, map, opcode;
    unsigned modrm, displacement, constant; /* where they stand, 0: nowhere */
    unsigned displacement_size, constant_size;
};

static void read_prefixes(struct parsed *p) {
    unsigned seen = 0;
    for (; p->at < MOST_PREFIXES; p->at++) {
        switch (p->bytes[p->at]) {
        case 0x66:
            seen |= P66;
            continue;
        case 0xf2:
            seen |= PF2;
            continue;
        case 0xf3:
            seen |= PF3;
            continue;
        case 0x2e:
            p->cs = true;
            continue;
        default:
            break;
        }
        break;
    }
    p->prefix = seen ? seen : PLAIN;
}

static bool read_opcode(struct parsed *p) {
    read_prefixes(p);
    if ((p->bytes[p->at] & 0xf0) == 0x40)
        p->rex = p->bytes[p->at++];
    p->opcode = p->bytes[p->at++];
    if (p->opcode == ESCAPE) {
        p->map = AFTER_0F;
        p->opcode = p->bytes[p->at++];
    }
    p->shape = shapes[p->map][p->opcode];
    if (p->cs && p->shape.kind != INSN_NOP)
        return false;
    if (p->shape.kind == INSN_NOP && p->map == ONE_BYTE && (p->rex || p->at > 2))
        return false; /* xchg with r8, or not what pads */
    return p->shape.kind != INSN_BAD && (p->prefix & ~p->shape.prefixes) == 0;
}

static unsigned reg_of(const struct parsed *p) { return p->bytes[p->modrm] >> 3 & 7; }

static bool is_pc_relative(const struct parsed *p) {
    return p->modrm && (p->bytes[p->modrm] & 0xc7) == 5;
}

static bool read_modrm(struct parsed *p) {
    static const uint8_t displacement_sizes[] = {0, 1, 4, 0};
    p->modrm = p->at++;
    unsigned modrm = p->bytes[p->modrm], mod = modrm >> 6, base = modrm & 7;
    if (p->shape.follows & (mod == 3 ? NO_REGISTER : NO_MEMORY) ||
        !(p->shape.regs >> reg_of(p) & 1))
        return false;
    if (mod != 3 && base == 4)
        base = p->bytes[p->at++] & 7;
    p->displacement_size = mod == 0 && base == 5 ? 4 : displacement_sizes[mod];
    p->displacement = p->at;
    p->at += p->displacement_size;
    return true;
}

/* Operand-size prefixes do not count beside REX.W. */
static bool is_short(const struct parsed *p) { return p->prefix == P66 && !(p->rex & REX_W); }

static unsigned constant_size(const struct parsed *p) {
    unsigned follows = p->shape.follows;
    if (follows & IMM_IF_TEST && reg_of(p) > 1)
        return 0;
    if (follows & IMM_WIDE && p->rex & REX_W)
        return 8;
    if (follows & (IMM_32 | IMM_WIDE))
        return is_short(p) ? 2 : 4;
    return follows & IMM_8 ? 1 : 0;
}

/* SIZE bytes, as a signed number. */
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
    return p->shape.kind == INSN_JUMP_INDIRECT ? group_5[reg_of(p)] : p->shape.kind;
}

static void find_constants(const struct parsed *p, struct insn_constants *ret) {
    *ret = (struct insn_constants){0};
    if (p->shape.kind == INSN_NOP || p->shape.follows & RELATIVE || is_pc_relative(p))
        return;
    if (p->constant_size >= 4) {
        int64_t n = number_at(p->bytes + p->constant, p->constant_size);
        ret->immediate[ret->immediate_count++] = p->constant_size == 4 ? (uint32_t)n : (uint64_t)n;
    }
    if (p->displacement_size == 4) {
        ret->has_displacement = true;
        ret->displacement = (uint64_t)number_at(p->bytes + p->displacement, 4);
    }
}

static void find_target(const struct parsed *p, struct insn *ret) {
    if (p->shape.follows & RELATIVE) {
        ret->field = (uint8_t)p->constant;
        ret->target = ret->addr + ret->size;
        ret->target += (uint64_t)number_at(p->bytes + p->constant, p->constant_size);
    } else if (is_pc_relative(p) && p->shape.kind != INSN_NOP) {
        ret->operand = p->shape.follows & ADDRESS ? OPERAND_PC_ADDRESS : OPERAND_PC_MEMORY;
        ret->field = (uint8_t)p->displacement;
        ret->target = ret->addr + ret->size + (uint64_t)number_at(p->bytes + p->displacement, 4);
    }
}

bool x86_64_decode_common(const uint8_t *bytes, size_t room, vaddr_t addr, struct insn *ret,
                          struct insn_constants *constants) {
    uint8_t padded[INSN_MAX_BYTES + 1] = {0};
    if (room < INSN_MAX_BYTES)
        bytes = memcpy(padded, bytes, room);
    struct parsed p = {.bytes = bytes};
    if (!read_opcode(&p) || (p.shape.follows & MODRM && !read_modrm(&p)))
        return false;
    p.constant = p.at;
    p.constant_size = constant_size(&p);
    p.at += p.constant_size;
    if (p.at > room || p.at > INSN_MAX_BYTES)
        return false;
    unsigned reg = p.modrm ? reg_of(&p) : 0;
    *ret = (struct insn){.addr = addr,
                         .size = (uint8_t)p.at,
                         .kind = kind_of(&p),
                         .reads_flags = p.shape.readers >> reg & 1,
                         .writes_flags = p.shape.writes_flags};
    find_target(&p, ret);
    if (constants)
        find_constants(&p, constants);
    return true;
}
