/*
 * Prints A32 instructions in the unified syntax of assemblers: those that compilers emit, except
 * vectors of several elements. Others are printed as words. The texts are in a32_opcodes.c; this
 * file prints their operands.
 */
#include <inttypes.h>
#include <stdio.h>

#include "arch/arm/a32_opcodes.h"

static const char *const conditions[] = {"eq", "ne", "hs", "lo", "mi", "pl", "vs", "vc",
                                         "hi", "ls", "ge", "lt", "gt", "le", "",   ""};

/* The last operand of data processing. An immediate that is not encoded the shortest way gets its
 * rotation. */
static void add_operand(struct disasm *d) {
    struct a32_data data = a32_data_of(d->word);
    uint32_t shortest = 0;
    if (data.form != A32_FORM_IMMEDIATE) {
        disasm_expand(d, "%m");
        if (data.form == A32_FORM_BY_REGISTER)
            disasm_expand(d, ", <5:lsl|lsr|asr|ror> %s");
        else
            arm_add_shift(d, data.shift, data.amount);
        return;
    }
    a32_encode_immediate(data.value, &shortest);
    if (shortest == arm_bits(d->word, 0, 12))
        disasm_add(d, "#%" PRIu32, data.value);
    else
        disasm_add(d, "#%u, #%u", arm_bits(d->word, 0, 8), data.amount);
}

static void add_index(struct disasm *d, const struct a32_access *a, bool shifted) {
    if (!a->indexed) {
        int32_t offset = a->before || a->after ? a->moves : a->offset;
        if (offset || a->before || a->after || a->subtracts)
            disasm_add(d, ", #%s%" PRId32, a->subtracts && !offset ? "-" : "", offset);
        return;
    }
    disasm_expand(d, a->subtracts ? ", -%m" : ", %m");
    if (shifted)
        arm_add_shift(d, arm_bits(d->word, 5, 2), arm_bits(d->word, 7, 5));
}

static void add_address(struct disasm *d) {
    const struct insn *insn = d->insn;
    enum a32_form form = (enum a32_form)a32_classify(d->word).form;
    struct a32_access a = a32_access_of(d->word, form);
    if (insn->operand == OPERAND_PC_MEMORY) {
        arm_add_target(d);
        return;
    }
    disasm_expand(d, a.after ? "[%n]" : "[%n");
    add_index(d, &a, form == A32_SINGLE);
    disasm_add(d, "%s", a.after ? "" : a.before ? "]!" : "]");
}

static void add_list(struct disasm *d) {
    static const char *const registers[] = {"r0", "r1", "r2",  "r3", "r4", "r5", "r6", "r7",
                                            "r8", "r9", "r10", "fp", "ip", "sp", "lr", "pc"};
    const char *comma = "{";
    for (unsigned reg = 0; reg < 16; reg++) {
        if (!(d->word >> reg & 1))
            continue;
        disasm_add(d, "%s%s", comma, registers[reg]);
        comma = ", ";
    }
    disasm_add(d, "%s", *comma == '{' ? "{}" : "}");
}

static void add_immediate_16(struct disasm *d) {
    disasm_add(d, "#%u", arm_bits(d->word, 16, 4) << 12 | arm_bits(d->word, 0, 12));
}

static void add_trap_number(struct disasm *d) {
    disasm_add(d, "#%u", arm_bits(d->word, 8, 12) << 4 | arm_bits(d->word, 0, 4));
}

static void add_width(struct disasm *d) {
    disasm_add(d, "#%u", arm_bits(d->word, 16, 5) - arm_bits(d->word, 7, 5) + 1);
}

static void add_shift(struct disasm *d) {
    arm_add_shift(d, arm_bits(d->word, 6, 1) * 2, arm_bits(d->word, 7, 5));
}

static const struct operand operands[] = {
    {'d', ARM_REGISTER(12), NULL},
    {'n', ARM_REGISTER(16), NULL},
    {'s', ARM_REGISTER(8), NULL},
    {'m', ARM_REGISTER(0), NULL},
    {'t', "<12:r1|r2|r3|r4|r5|r6|r7|r8|r9|r10|fp|ip|sp|lr|pc|r0>", NULL},
    {'f', "<20:|s>", NULL},
    {'F', ".f<8:32|64>", NULL},
    {'b', NULL, arm_add_target},
    {'o', NULL, add_operand},
    {'A', NULL, add_address},
    {'l', NULL, add_list},
    {'r', "<10:|, ror #8|, ror #16|, ror #24>", NULL},
    {'g', NULL, add_shift},
    {'h', NULL, add_immediate_16},
    {'i', "#<7.5>", NULL},
    {'z', NULL, add_width},
    {'K', NULL, add_trap_number},
    {'q', "<0:#0|#1|oshst|osh|#4|#5|nshst|nsh|#8|#9|ishst|ish|#12|#13|st|sy>", NULL},
    {0, NULL, NULL},
};

size_t a32_format(const uint8_t *bytes, size_t room, vaddr_t addr, char out[FORMAT_BYTES]) {
    struct insn insn;
    out[0] = '\0';
    if (!a32_decode(bytes, room, addr, &insn, NULL)) {
        (void)snprintf(out, FORMAT_BYTES, "(bad)");
        return insn.size;
    }
    struct disasm d = {.out = out,
                       .word = a32_word(bytes),
                       .target = insn.target,
                       .condition = conditions[a32_condition(a32_word(bytes))],
                       .insn = &insn,
                       .operands = operands,
                       .print_register = arm_print_vector};
    if (!disasm_print(&d, a32_opcodes_of(d.word)))
        disasm_add(&d, ".word 0x%08" PRIx32, d.word);
    return A32_BYTES;
}
