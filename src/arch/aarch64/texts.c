/* Where the text of an A64 instruction is found; and those of branches and of the system. */
#include "arch/aarch64/texts.h"

static const struct a64_alias no_aliases[] = {{0, 0, NULL, NULL}};

static const struct a64_row branches[] = {
    {0xfc000000, 0x14000000, "b %B"},
    {0xfc000000, 0x94000000, "bl %B"},
    {0xff000010, 0x54000000, "b.%J %B"},
    {0xff000010, 0x54000010, "bc.%J %B"},
    {0x7f000000, 0x34000000, "cbz %rd, %B"},
    {0x7f000000, 0x35000000, "cbnz %rd, %B"},
    {0x7f000000, 0x36000000, "tbz %rd, %Z, %B"},
    {0x7f000000, 0x37000000, "tbnz %rd, %Z, %B"},
    {0xfffffc1f, 0xd61f0000, "br %xn"},
    {0xfffffc1f, 0xd63f0000, "blr %xn"},
    {0xffffffff, 0xd65f03c0, "ret"},
    {0xfffffc1f, 0xd65f0000, "ret %xn"},
    {0xfffffc1f, 0xd61f081f, "braaz %xn"},
    {0xfffffc1f, 0xd61f0c1f, "brabz %xn"},
    {0xfffffc1f, 0xd63f081f, "blraaz %xn"},
    {0xfffffc1f, 0xd63f0c1f, "blrabz %xn"},
    {0xffffffff, 0xd65f0bff, "retaa"},
    {0xffffffff, 0xd65f0fff, "retab"},
    {0xffffffe0, 0xd65f0be0, "retaasppcr %xd"},
    {0xffffffe0, 0xd65f0fe0, "retabsppcr %xd"},
    {0xffe0001f, 0x5500001f, "retaasppc %4"},
    {0xffe0001f, 0x5520001f, "retabsppc %4"},
    {0xfffffc00, 0xd71f0800, "braa %xn, %Xd"},
    {0xfffffc00, 0xd71f0c00, "brab %xn, %Xd"},
    {0xfffffc00, 0xd73f0800, "blraa %xn, %Xd"},
    {0xfffffc00, 0xd73f0c00, "blrab %xn, %Xd"},
    {0xffffffff, 0xd69f03e0, "eret"},
    {0xffe0001f, 0xd4000001, "svc %k"},
    {0xffe0001f, 0xd4000002, "hvc %k"},
    {0xffe0001f, 0xd4000003, "smc %k"},
    {0xffe0001f, 0xd4200000, "brk %k"},
    {0xffe0001f, 0xd4400000, "hlt %k"},
    {0xffe0001f, 0xd4a00001, "dcps1 %k"},
    {0xffe0001f, 0xd4a00002, "dcps2 %k"},
    {0xffe0001f, 0xd4a00003, "dcps3 %k"},
    {0, 0, NULL},
};

static const struct a64_row system[] = {
    {0xffffffff, 0xd503201f, "nop"},
    {0xffffffff, 0xd503203f, "yield"},
    {0xffffffff, 0xd503205f, "wfe"},
    {0xffffffff, 0xd503207f, "wfi"},
    {0xffffffff, 0xd503209f, "sev"},
    {0xffffffff, 0xd50320bf, "sevl"},
    {0xffffffff, 0xd50320ff, "xpaclri"},
    {0xffffffff, 0xd503211f, "pacia1716"},
    {0xffffffff, 0xd503215f, "pacib1716"},
    {0xffffffff, 0xd503219f, "autia1716"},
    {0xffffffff, 0xd50321df, "autib1716"},
    {0xffffffff, 0xd503221f, "esb"},
    {0xffffffff, 0xd503223f, "psb csync"},
    {0xffffffff, 0xd503225f, "tsb csync"},
    {0xffffffff, 0xd503229f, "csdb"},
    {0xffffffff, 0xd503231f, "paciaz"},
    {0xffffffff, 0xd503233f, "paciasp"},
    {0xffffffff, 0xd503235f, "pacibz"},
    {0xffffffff, 0xd503237f, "pacibsp"},
    {0xffffffff, 0xd503239f, "autiaz"},
    {0xffffffff, 0xd50323bf, "autiasp"},
    {0xffffffff, 0xd50323df, "autibz"},
    {0xffffffff, 0xd50323ff, "autibsp"},
    {0xffffffff, 0xd503241f, "bti"},
    {0xffffffff, 0xd503245f, "bti c"},
    {0xffffffff, 0xd503249f, "bti j"},
    {0xffffffff, 0xd50324df, "bti jc"},
    {0xffffffff, 0xd50324ff, "pacm"},
    {0xfffff01f, 0xd503201f, "hint %3"},
    {0xffffffff, 0xd5033f5f, "clrex"},
    {0xfffff0ff, 0xd503305f, "clrex %i"},
    {0xffffffff, 0xd503309f, "ssbb"},
    {0xffffffff, 0xd503349f, "pssbb"},
    {0xfffff0ff, 0xd503309f, "dsb %j"},
    {0xfffff0ff, 0xd50330bf, "dmb %j"},
    {0xffffffff, 0xd5033fdf, "isb"},
    {0xfffff0ff, 0xd50330df, "isb %i"},
    {0xffffffff, 0xd50330ff, "sb"},
    {0xffffffff, 0xd500401f, "cfinv"},
    {0xffffffff, 0xd500403f, "xaflag"},
    {0xffffffff, 0xd500405f, "axflag"},
    {0xfffff0ff, 0xd500407f, "msr uao, %i"},
    {0xfffff0ff, 0xd500409f, "msr pan, %i"},
    {0xfffff0ff, 0xd50040bf, "msr spsel, %i"},
    {0xfffff0ff, 0xd503403f, "msr ssbs, %i"},
    {0xfffff0ff, 0xd503405f, "msr dit, %i"},
    {0xfffff0ff, 0xd503409f, "msr tco, %i"},
    {0xfffff0ff, 0xd50340df, "msr daifset, %i"},
    {0xfffff0ff, 0xd50340ff, "msr daifclr, %i"},
    {0xffffffe0, 0xd50b7420, "dc zva, %xd"},
    {0xffffffe0, 0xd50b7460, "dc gva, %xd"},
    {0xffffffe0, 0xd50b7480, "dc gzva, %xd"},
    {0xffffffe0, 0xd50b7a20, "dc cvac, %xd"},
    {0xffffffe0, 0xd50b7b20, "dc cvau, %xd"},
    {0xffffffe0, 0xd50b7c20, "dc cvap, %xd"},
    {0xffffffe0, 0xd50b7d20, "dc cvadp, %xd"},
    {0xffffffe0, 0xd50b7e20, "dc civac, %xd"},
    {0xffffffe0, 0xd50b7520, "ic ivau, %xd"},
    {0xfff8001f, 0xd508001f, "sys %U"},
    {0xfff80000, 0xd5080000, "sys %U, %xd"},
    {0xfff80000, 0xd5280000, "sysl %xd, %U"},
    {0xfff00000, 0xd5100000, "msr %D, %xd"},
    {0xfff00000, 0xd5300000, "mrs %xd, %D"},
    {0, 0, NULL},
};

static const struct a64_row reserved[] = {
    {0xffff0000, 0x00000000, "udf %u"},
    {0, 0, NULL},
};

static const struct a64_texts branch_texts = {no_aliases, branches},
                              system_texts = {no_aliases, system},
                              reserved_texts = {no_aliases, reserved};

/* By bits 25 to 28. */
static const struct a64_texts *texts_of(uint32_t word) {
    static const struct a64_texts *const groups[16] = {
        [0] = &reserved_texts,    [4] = &a64_memory_texts,    [5] = &a64_register_texts,
        [6] = &a64_memory_texts,  [7] = &a64_float_texts,     [8] = &a64_number_texts,
        [9] = &a64_number_texts,  [10] = &branch_texts,       [11] = &branch_texts,
        [12] = &a64_memory_texts, [13] = &a64_register_texts, [14] = &a64_memory_texts,
        [15] = &a64_float_texts,
    };
    return word >> 24 == 0xd5 ? &system_texts : groups[a64_bits(word, 25, 4)];
}

const char *a64_text_of(uint32_t word) {
    const struct a64_texts *texts = texts_of(word);
    if (!texts)
        return NULL;
    for (const struct a64_alias *a = texts->aliases; a->when; a++)
        if ((word & a->mask) == a->value && a->when(word))
            return a->text;
    const struct a64_row *row = texts->rows;
    while ((word & row->mask) != row->value)
        row++;
    return row->text;
}

/* op0 to op2 of a system register, in the bits that they have in a word. */
#define SYSTEM(op0, op1, cn, cm, op2) ((op0) << 14 | (op1) << 11 | (cn) << 7 | (cm) << 3 | (op2))

static const struct {
    uint16_t number;
    const char *name;
} system_registers[] = {
    {SYSTEM(3, 3, 4, 2, 0), "nzcv"},
    {SYSTEM(3, 3, 4, 2, 1), "daif"},
    {SYSTEM(3, 3, 4, 4, 0), "fpcr"},
    {SYSTEM(3, 3, 4, 4, 1), "fpsr"},
    {SYSTEM(3, 3, 4, 2, 5), "dit"},
    {SYSTEM(3, 3, 4, 2, 6), "ssbs"},
    {SYSTEM(3, 3, 4, 2, 7), "tco"},
    {SYSTEM(3, 3, 13, 0, 2), "tpidr_el0"},
    {SYSTEM(3, 3, 13, 0, 3), "tpidrro_el0"},
    {SYSTEM(3, 3, 13, 0, 5), "tpidr2_el0"},
    {SYSTEM(3, 3, 14, 0, 0), "cntfrq_el0"},
    {SYSTEM(3, 3, 14, 0, 1), "cntpct_el0"},
    {SYSTEM(3, 3, 14, 0, 2), "cntvct_el0"},
    {SYSTEM(3, 3, 14, 0, 5), "cntpctss_el0"},
    {SYSTEM(3, 3, 14, 0, 6), "cntvctss_el0"},
    {SYSTEM(3, 3, 0, 0, 1), "ctr_el0"},
    {SYSTEM(3, 3, 0, 0, 7), "dczid_el0"},
    {SYSTEM(3, 3, 2, 4, 0), "rndr"},
    {SYSTEM(3, 3, 2, 4, 1), "rndrrs"},
    {SYSTEM(3, 3, 9, 13, 0), "pmccntr_el0"},
    {SYSTEM(3, 0, 0, 0, 0), "midr_el1"},
    {SYSTEM(3, 0, 0, 0, 5), "mpidr_el1"},
    {SYSTEM(3, 0, 0, 0, 6), "revidr_el1"},
    {SYSTEM(3, 0, 0, 4, 0), "id_aa64pfr0_el1"},
    {SYSTEM(3, 0, 0, 4, 1), "id_aa64pfr1_el1"},
    {SYSTEM(3, 0, 0, 4, 4), "id_aa64zfr0_el1"},
    {SYSTEM(3, 0, 0, 5, 0), "id_aa64dfr0_el1"},
    {SYSTEM(3, 0, 0, 6, 0), "id_aa64isar0_el1"},
    {SYSTEM(3, 0, 0, 6, 1), "id_aa64isar1_el1"},
    {SYSTEM(3, 0, 0, 6, 2), "id_aa64isar2_el1"},
    {SYSTEM(3, 0, 0, 7, 0), "id_aa64mmfr0_el1"},
    {SYSTEM(3, 0, 0, 7, 1), "id_aa64mmfr1_el1"},
    {SYSTEM(3, 0, 0, 7, 2), "id_aa64mmfr2_el1"},
};

const char *a64_system_register(uint32_t number) {
    for (size_t i = 0; i < sizeof system_registers / sizeof *system_registers; i++)
        if (system_registers[i].number == number)
            return system_registers[i].name;
    return NULL;
}
