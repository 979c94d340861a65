/*
 * Prints T32 instructions in the syntax of objdump and gdb, with addresses in place of distances:
 * those that compilers emit, except vectors of several elements. Others are printed as words. An IT
 * block is printed with all its instructions. The texts are in t32_opcodes.c; this file prints
 * their operands.
 */
#include <inttypes.h>
#include <stdio.h>

#include "arch/arm/t32.h"
#include "arch/arm/t32_opcodes.h"

static const char *const conditions[16] = {"eq", "ne", "cs", "cc", "mi", "pl", "vs", "vc",
                                           "hi", "ls", "ge", "lt", "gt", "le", "",   ""};
static const char *const registers[16] = {"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7",
                                          "r8", "r9", "sl", "fp", "ip", "sp", "lr", "pc"};

/* An instruction, and its condition in its block; ARM_ALWAYS: it is in no block. */
struct in_block {
    const struct t32 *in;
    uint32_t condition;
};

static const struct t32 *insn_of(const struct disasm *d) {
    return ((const struct in_block *)d->insn)->in;
}

static struct t32_access access_of(const struct disasm *d) {
    struct t32_access a = {0};
    t32_access_of(insn_of(d), &a);
    return a;
}

static void add_list(struct disasm *d) {
    struct t32_access a = access_of(d);
    disasm_add(d, "{");
    for (uint8_t i = 0; i < a.count; i++)
        disasm_add(d, "%s%s", i ? ", " : "", registers[a.regs[i]]);
    disasm_add(d, "}");
}

/* [base, #n], [base, #n]!, [base], #n or [base, index, lsl #n] */
static void add_address(struct disasm *d) {
    struct t32_access a = access_of(d);
    bool after = a.adds && !a.offset && a.step;
    disasm_add(d, "[%s", registers[a.base]);
    if (a.indexed)
        disasm_expand(d, ", %R<4:|, lsl #1|, lsl #2|, lsl #3>");
    else if (!after && (a.offset || a.adds))
        disasm_add(d, ", #%" PRId32, a.offset);
    disasm_add(d, "%s", a.adds && !after ? "]!" : "]");
    if (after)
        disasm_add(d, ", #%" PRId32, a.step);
}

static void add_write_back(struct disasm *d) { disasm_add(d, "%s", access_of(d).adds ? "!" : ""); }

static void add_s(struct disasm *d) {
    const struct in_block *b = d->insn;
    disasm_add(d, "%s", b->condition == ARM_ALWAYS ? "s" : "");
}

static void add_high(struct disasm *d) { disasm_add(d, "%s", registers[t32_high(d->word)]); }

/* ---- numbers ---- */

static uint32_t shift_bits(uint32_t word) {
    return arm_bits(word, 12, 3) << 2 | arm_bits(word, 6, 2);
}

/* ssat and usat have one bit for lsl or asr. */
static void add_shift(struct disasm *d) {
    bool saturates = d->word >> 25 != 0x75;
    uint32_t type = saturates ? arm_bits(d->word, 21, 1) * 2 : arm_bits(d->word, 4, 2);
    arm_add_shift(d, type, shift_bits(d->word));
}

static void add_right_shift(struct disasm *d) {
    uint32_t by = arm_bits(d->word, 6, 5);
    disasm_add(d, "%u", by ? by : 32);
}

static void add_expanded(struct disasm *d) { disasm_add(d, "%" PRIu32, t32_expand(d->word)); }
static void add_16(struct disasm *d) { disasm_add(d, "%" PRIu32, t32_immediate_16(d->word)); }
static void add_12(struct disasm *d) {
    disasm_add(d, "%" PRIu32, t32_immediate_16(d->word) & 0xfff);
}
static void add_lowest(struct disasm *d) { disasm_add(d, "%" PRIu32, shift_bits(d->word)); }
static void add_width(struct disasm *d) {
    disasm_add(d, "%d", (int)arm_bits(d->word, 0, 5) - (int)shift_bits(d->word) + 1);
}

/* ---- all ---- */

#define LOW_REGISTER(low) "<" #low ":r0|r1|r2|r3|r4|r5|r6|r7>"
#define REGISTER(low) "<" #low ":" ARM_REGISTERS_TO_9 "sl|fp|ip|sp|lr|pc>"

static const struct operand operands[] = {
    {'a', LOW_REGISTER(0), NULL},
    {'b', LOW_REGISTER(3), NULL},
    {'c', LOW_REGISTER(6), NULL},
    {'e', LOW_REGISTER(8), NULL},
    {'H', NULL, add_high},
    {'M', REGISTER(3), NULL},
    {'n', REGISTER(16), NULL},
    {'d', REGISTER(12), NULL},
    {'D', REGISTER(8), NULL},
    {'R', REGISTER(0), NULL},
    {'L', NULL, add_list},
    {'A', NULL, add_address},
    {'j', NULL, arm_add_target},
    {'s', NULL, add_s},
    {'f', "<20:|s>", NULL},
    {'F', ".f<8:32|64>", NULL},
    {'!', NULL, add_write_back},
    {'h', NULL, add_shift},
    {'r', "<4:|, ror #8|, ror #16|, ror #24>", NULL},
    {'z', NULL, add_right_shift},
    {'i', NULL, add_expanded},
    {'w', NULL, add_16},
    {'p', NULL, add_12},
    {'l', NULL, add_lowest},
    {'V', NULL, add_width},
    {0, NULL, NULL},
};

/* Its own condition, or the block's. */
static uint32_t condition_of(const struct t32 *in, uint32_t of_block) {
    if (in->row->form == T32_B_COND_N)
        return arm_bits(in->word, 8, 4);
    return in->row->form == T32_B_COND_W ? arm_bits(in->word, 22, 4) : of_block;
}

static bool print_text(struct disasm *d, const struct t32 *in) {
    if (in->kind == INSN_FIXED)
        return false;
    if (in->size == T32_HALF)
        return disasm_print(d, t32_narrow_opcodes);
    return disasm_print(d, t32_wide_opcodes) ||
           (in->word >> 28 == ARM_ALWAYS && disasm_print(d, arm_vfp_opcodes));
}

/* Appends one instruction to the USED bytes of OUT. Returns how many bytes are used then. */
static size_t print(char *out, size_t used, const struct t32 *in, vaddr_t addr,
                    uint32_t condition) {
    struct in_block insn = {in, condition};
    struct disasm d = {.out = out,
                       .used = used,
                       .word = in->word,
                       .target = t32_operand_of(in, addr).target,
                       .condition = conditions[condition_of(in, condition)],
                       .insn = &insn,
                       .operands = operands,
                       .print_register = arm_print_vector};
    if (!print_text(&d, in))
        disasm_add(&d, in->size == T32_HALF ? ".short 0x%04" PRIx32 : ".word 0x%08" PRIx32,
                   in->word);
    return d.used;
}

static void print_block(char *out, const struct t32_block *block, vaddr_t addr) {
    struct disasm d = {.out = out};
    disasm_add(&d, "it");
    for (uint8_t i = 1; i < block->count; i++)
        disasm_add(&d, block->at[i].condition == block->at[0].condition ? "t" : "e");
    disasm_add(&d, " %s", conditions[block->at[0].condition]);
    for (uint8_t i = 0; i < block->count; i++) {
        const struct t32_member *m = &block->at[i];
        disasm_add(&d, "; ");
        d.used = print(out, d.used, &m->in, addr + m->offset, m->condition);
    }
}

size_t t32_format(const uint8_t *bytes, size_t room, vaddr_t addr, char out[FORMAT_BYTES]) {
    struct insn insn;
    struct t32_block block;
    out[0] = '\0';
    if (!t32_decode(bytes, room, addr, &insn, NULL)) {
        (void)snprintf(out, FORMAT_BYTES, "(bad)");
        return insn.size;
    }
    struct t32 in = t32_classify(bytes, insn.size);
    if (t32_block_at(bytes, insn.size, &block))
        print_block(out, &block, addr);
    else
        print(out, 0, &in, addr, ARM_ALWAYS);
    return insn.size;
}
