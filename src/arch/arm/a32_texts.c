/*
 * The texts of A32 instructions. The first row that fits a word decides. Letters after '%':
 *
 *     c condition      f "s" with bit 20     w "!" with bit 21    b where it leads
 *     d n s m t        registers of bits 12, 16, 8 and 0 on, and that behind d
 *     o                last operand of data processing            a place in memory
 *     l L              lists of general and of vector registers   r rotation
 *     h k v x y z u g  numbers of several forms                   q kind of barrier
 *     D N M            vector registers of bits 12, 16 and 0 on, of the precision that F tells
 *     P Q R            the same of bits 12, 0 and 12 on, of another precision
 */
#include "arch/arm/a32_texts.h"

struct row {
    uint32_t mask, value;
    const char *text;
};

static const struct row data[] = {
    {0x0fffffff, 0x01a00000, "nop%c"},
    {0x0de00000, 0x00000000, "and%f%c %d, %n, %o"},
    {0x0de00000, 0x00200000, "eor%f%c %d, %n, %o"},
    {0x0de00000, 0x00400000, "sub%f%c %d, %n, %o"},
    {0x0de00000, 0x00600000, "rsb%f%c %d, %n, %o"},
    {0x0de00000, 0x00800000, "add%f%c %d, %n, %o"},
    {0x0de00000, 0x00a00000, "adc%f%c %d, %n, %o"},
    {0x0de00000, 0x00c00000, "sbc%f%c %d, %n, %o"},
    {0x0de00000, 0x00e00000, "rsc%f%c %d, %n, %o"},
    {0x0de00000, 0x01000000, "tst%c %n, %o"},
    {0x0de00000, 0x01200000, "teq%c %n, %o"},
    {0x0de00000, 0x01400000, "cmp%c %n, %o"},
    {0x0de00000, 0x01600000, "cmn%c %n, %o"},
    {0x0de00000, 0x01800000, "orr%f%c %d, %n, %o"},
    {0x0fe00ff0, 0x01a00000, "mov%f%c %d, %m"},
    {0x0fe000f0, 0x01a00010, "lsl%f%c %d, %m, %s"},
    {0x0fe000f0, 0x01a00030, "lsr%f%c %d, %m, %s"},
    {0x0fe000f0, 0x01a00050, "asr%f%c %d, %m, %s"},
    {0x0fe000f0, 0x01a00070, "ror%f%c %d, %m, %s"},
    {0x0fe00070, 0x01a00000, "lsl%f%c %d, %m, %x"},
    {0x0fe00ff0, 0x01a00060, "rrx%f%c %d, %m"},
    {0x0fe00ff0, 0x01a00020, "lsr%f%c %d, %m, #32"},
    {0x0fe00ff0, 0x01a00040, "asr%f%c %d, %m, #32"},
    {0x0fe00070, 0x01a00020, "lsr%f%c %d, %m, %x"},
    {0x0fe00070, 0x01a00040, "asr%f%c %d, %m, %x"},
    {0x0fe00070, 0x01a00060, "ror%f%c %d, %m, %x"},
    {0x0de00000, 0x01a00000, "mov%f%c %d, %o"},
    {0x0de00000, 0x01c00000, "bic%f%c %d, %n, %o"},
    {0x0de00000, 0x01e00000, "mvn%f%c %d, %o"},
    {0, 0, NULL},
};

static const struct row singles[] = {
    {0x0fff0fff, 0x049d0004, "pop%c {%d}"},     {0x0d700000, 0x04000000, "str%c %d, %a"},
    {0x0d700000, 0x04200000, "strt%c %d, %a"},  {0x0d700000, 0x04100000, "ldr%c %d, %a"},
    {0x0d700000, 0x04300000, "ldrt%c %d, %a"},  {0x0d700000, 0x04400000, "strb%c %d, %a"},
    {0x0d700000, 0x04600000, "strbt%c %d, %a"}, {0x0d700000, 0x04500000, "ldrb%c %d, %a"},
    {0x0d700000, 0x04700000, "ldrbt%c %d, %a"}, {0x0c500000, 0x04000000, "str%c %d, %a"},
    {0x0c500000, 0x04100000, "ldr%c %d, %a"},   {0x0c500000, 0x04400000, "strb%c %d, %a"},
    {0x0c500000, 0x04500000, "ldrb%c %d, %a"},  {0, 0, NULL},
};

static const struct row extras[] = {
    {0x0f3000f0, 0x002000b0, "strht%c %d, %a"}, /* with the rights of programs */
    {0x0f3000f0, 0x003000b0, "ldrht%c %d, %a"},    {0x0f3000f0, 0x003000d0, "ldrsbt%c %d, %a"},
    {0x0f3000f0, 0x003000f0, "ldrsht%c %d, %a"},   {0x0e1000f0, 0x000000b0, "strh%c %d, %a"},
    {0x0e1000f0, 0x001000b0, "ldrh%c %d, %a"},     {0x0e1000f0, 0x000000d0, "ldrd%c %d, %t, %a"},
    {0x0e1000f0, 0x000000f0, "strd%c %d, %t, %a"}, {0x0e1000f0, 0x001000d0, "ldrsb%c %d, %a"},
    {0x0e1000f0, 0x001000f0, "ldrsh%c %d, %a"},    {0, 0, NULL},
};

static const struct row several[] = {
    {0x0fff0000, 0x08bd0000, "pop%c %l"},
    {0x0fff0000, 0x092d0000, "push%c %l"},
    {0x0fd00000, 0x08000000, "stmda%c %n%w, %l"},
    {0x0fd00000, 0x08100000, "ldmda%c %n%w, %l"},
    {0x0fd00000, 0x08800000, "stm%c %n%w, %l"},
    {0x0fd00000, 0x08900000, "ldm%c %n%w, %l"},
    {0x0fd00000, 0x09000000, "stmdb%c %n%w, %l"},
    {0x0fd00000, 0x09100000, "ldmdb%c %n%w, %l"},
    {0x0fd00000, 0x09800000, "stmib%c %n%w, %l"},
    {0x0fd00000, 0x09900000, "ldmib%c %n%w, %l"},
    {0, 0, NULL},
};

static const struct row multiplies[] = {
    {0x0fe0f0f0, 0x00000090, "mul%f%c %n, %m, %s"},
    {0x0fe000f0, 0x00200090, "mla%f%c %n, %m, %s, %d"},
    {0x0fe000f0, 0x00800090, "umull%f%c %d, %n, %m, %s"},
    {0x0fe000f0, 0x00a00090, "umlal%f%c %d, %n, %m, %s"},
    {0x0fe000f0, 0x00c00090, "smull%f%c %d, %n, %m, %s"},
    {0x0fe000f0, 0x00e00090, "smlal%f%c %d, %n, %m, %s"},
    {0, 0, NULL},
};

static const struct row exclusives[] = {
    {0x0ff00ff0, 0x01000090, "swp%c %d, %m, [%n]"},
    {0x0ff00ff0, 0x01400090, "swpb%c %d, %m, [%n]"},
    {0x0ff00fff, 0x01900f9f, "ldrex%c %d, [%n]"},
    {0x0ff00fff, 0x01b00f9f, "ldrexd%c %d, %t, [%n]"},
    {0x0ff00fff, 0x01d00f9f, "ldrexb%c %d, [%n]"},
    {0x0ff00fff, 0x01f00f9f, "ldrexh%c %d, [%n]"},
    {0x0ff00ff0, 0x01800f90, "strex%c %d, %m, [%n]"},
    {0x0ff00ff0, 0x01c00f90, "strexb%c %d, %m, [%n]"},
    {0x0ff00ff0, 0x01e00f90, "strexh%c %d, %m, [%n]"},
    {0x0ff00fff, 0x01900e9f, "ldaex%c %d, [%n]"},
    {0x0ff00ff0, 0x01800e90, "stlex%c %d, %m, [%n]"},
    {0x0ff00fff, 0x01900c9f, "lda%c %d, [%n]"},
    {0x0ff0fff0, 0x0180fc90, "stl%c %m, [%n]"},
    {0, 0, NULL},
};

static const struct row vectors[] = {
    {0x0f300e00, 0x0d000a00, "vstr%c %D, %a"},
    {0x0f300e00, 0x0d100a00, "vldr%c %D, %a"},
    {0x0fbf0e00, 0x0cbd0a00, "vpop%c %L"},
    {0x0fbf0e00, 0x0d2d0a00, "vpush%c %L"},
    {0x0f900e00, 0x0c800a00, "vstmia%c %n%w, %L"},
    {0x0f900e00, 0x0c900a00, "vldmia%c %n%w, %L"},
    {0x0f900e00, 0x0d000a00, "vstmdb%c %n%w, %L"},
    {0x0f900e00, 0x0d100a00, "vldmdb%c %n%w, %L"},
    {0, 0, NULL},
};

static const struct row branches[] = {
    {0xfe000000, 0xfa000000, "blx %b"},   {0x0f000000, 0x0a000000, "b%c %b"},
    {0x0f000000, 0x0b000000, "bl%c %b"},  {0x0ffffff0, 0x012fff10, "bx%c %m"},
    {0x0ffffff0, 0x012fff30, "blx%c %m"}, {0, 0, NULL},
};

/* With a condition, of the other forms. */
static const struct row others[] = {
    {0x0ff00000, 0x03000000, "movw%c %d, %h"},
    {0x0ff00000, 0x03400000, "movt%c %d, %h"},
    {0x0ff000f0, 0x00400090, "umaal%c %d, %n, %m, %s"},
    {0x0ff000f0, 0x00600090, "mls%c %n, %m, %s, %d"},
    {0x0fff0fff, 0x010f0000, "mrs%c %d, apsr"},
    {0x0fff0ff0, 0x016f0f10, "clz%c %d, %m"},
    {0x0ff00ff0, 0x01000050, "qadd%c %d, %m, %n"},
    {0x0ff00ff0, 0x01200050, "qsub%c %d, %m, %n"},
    {0xfff000f0, 0xe1200070, "bkpt %k"},
    {0x0fffffff, 0x0320f000, "nop%c"},
    {0x0fffffff, 0x0320f001, "yield%c"},
    {0x0fffffff, 0x0320f002, "wfe%c"},
    {0x0fffffff, 0x0320f004, "sev%c"},
    {0x0f000000, 0x0f000000, "svc%c %v"},
    {0xfff000f0, 0xe7f000f0, "udf %k"},
    {0x0fff03f0, 0x06af0070, "sxtb%c %d, %m%r"},
    {0x0fff03f0, 0x06bf0070, "sxth%c %d, %m%r"},
    {0x0fff03f0, 0x06ef0070, "uxtb%c %d, %m%r"},
    {0x0fff03f0, 0x06ff0070, "uxth%c %d, %m%r"},
    {0x0ff003f0, 0x06a00070, "sxtab%c %d, %n, %m%r"},
    {0x0ff003f0, 0x06b00070, "sxtah%c %d, %n, %m%r"},
    {0x0ff003f0, 0x06e00070, "uxtab%c %d, %n, %m%r"},
    {0x0ff003f0, 0x06f00070, "uxtah%c %d, %n, %m%r"},
    {0x0fff0ff0, 0x06bf0f30, "rev%c %d, %m"},
    {0x0fff0ff0, 0x06bf0fb0, "rev16%c %d, %m"},
    {0x0fff0ff0, 0x06ff0f30, "rbit%c %d, %m"},
    {0x0fff0ff0, 0x06ff0fb0, "revsh%c %d, %m"},
    {0x0ff00ff0, 0x06800fb0, "sel%c %d, %n, %m"},
    {0x0ff00ff0, 0x06500f90, "uadd8%c %d, %n, %m"},
    {0x0ff00ff0, 0x06600ff0, "uqsub8%c %d, %n, %m"},
    {0x0ff0f0f0, 0x0710f010, "sdiv%c %n, %m, %s"},
    {0x0ff0f0f0, 0x0730f010, "udiv%c %n, %m, %s"},
    {0x0ff0f0f0, 0x0750f010, "smmul%c %n, %m, %s"},
    {0x0fe00070, 0x07a00050, "sbfx%c %d, %m, %x, %y"},
    {0x0fe00070, 0x07e00050, "ubfx%c %d, %m, %x, %y"},
    {0x0fe0007f, 0x07c0001f, "bfc%c %d, %x, %z"},
    {0x0fe00070, 0x07c00010, "bfi%c %d, %m, %x, %z"},
    {0x0fe00030, 0x06a00010, "ssat%c %d, %y, %m%g"},
    {0x0fe00030, 0x06e00010, "usat%c %d, %u, %m%g"},
    {0x0ff0f0f0, 0x01600080, "smulbb%c %n, %m, %s"},
    {0x0ff0f0f0, 0x016000a0, "smultb%c %n, %m, %s"},
    {0x0ff0f0f0, 0x016000c0, "smulbt%c %n, %m, %s"},
    {0x0ff0f0f0, 0x016000e0, "smultt%c %n, %m, %s"},
    {0x0ff0f0f0, 0x012000a0, "smulwb%c %n, %m, %s"},
    {0x0ff0f0f0, 0x012000e0, "smulwt%c %n, %m, %s"},
    {0x0ff000f0, 0x01000080, "smlabb%c %n, %m, %s, %d"},
    {0x0ff000f0, 0x010000a0, "smlatb%c %n, %m, %s, %d"},
    {0x0ff000f0, 0x010000c0, "smlabt%c %n, %m, %s, %d"},
    {0x0ff000f0, 0x010000e0, "smlatt%c %n, %m, %s, %d"},
    {0x0ff000f0, 0x01200080, "smlawb%c %n, %m, %s, %d"},
    {0x0ff000f0, 0x012000c0, "smlawt%c %n, %m, %s, %d"},
    {0x0ff000f0, 0x01400080, "smlalbb%c %d, %n, %m, %s"},
    {0x0fff0fff, 0x0e1d0f70, "mrc%c p15, #0, %d, c13, c0, #3"},
    {0x0fff0fff, 0x0e070fba, "mcr%c p15, #0, %d, c7, c10, #5"},
    {0x0fff0fff, 0x0e070f9a, "mcr%c p15, #0, %d, c7, c10, #4"},
    {0, 0, NULL},
};

/* Arithmetic of single and double precision, and what moves between registers. */
static const struct row floats[] = {
    {0x0fb00e50, 0x0e000a00, "vmla%c%F %D, %N, %M"},
    {0x0fb00e50, 0x0e000a40, "vmls%c%F %D, %N, %M"},
    {0x0fb00e50, 0x0e100a00, "vnmls%c%F %D, %N, %M"},
    {0x0fb00e50, 0x0e100a40, "vnmla%c%F %D, %N, %M"},
    {0x0fb00e50, 0x0e200a00, "vmul%c%F %D, %N, %M"},
    {0x0fb00e50, 0x0e200a40, "vnmul%c%F %D, %N, %M"},
    {0x0fb00e50, 0x0e300a00, "vadd%c%F %D, %N, %M"},
    {0x0fb00e50, 0x0e300a40, "vsub%c%F %D, %N, %M"},
    {0x0fb00e50, 0x0e800a00, "vdiv%c%F %D, %N, %M"},
    {0x0fb00e50, 0x0ea00a00, "vfma%c%F %D, %N, %M"},
    {0x0fb00e50, 0x0ea00a40, "vfms%c%F %D, %N, %M"},
    {0x0fb00e50, 0x0e900a00, "vfnms%c%F %D, %N, %M"},
    {0x0fb00e50, 0x0e900a40, "vfnma%c%F %D, %N, %M"},
    {0x0fbf0ed0, 0x0eb00a40, "vmov%c%F %D, %M"},
    {0x0fbf0ed0, 0x0eb00ac0, "vabs%c%F %D, %M"},
    {0x0fbf0ed0, 0x0eb10a40, "vneg%c%F %D, %M"},
    {0x0fbf0ed0, 0x0eb10ac0, "vsqrt%c%F %D, %M"},
    {0x0fbf0ed0, 0x0eb40a40, "vcmp%c%F %D, %M"},
    {0x0fbf0ed0, 0x0eb40ac0, "vcmpe%c%F %D, %M"},
    {0x0fbf0eff, 0x0eb50a40, "vcmp%c%F %D, #0"},
    {0x0fbf0eff, 0x0eb50ac0, "vcmpe%c%F %D, #0"},
    {0x0fbf0fd0, 0x0eb70ac0, "vcvt%c.f64.f32 %P, %M"},
    {0x0fbf0fd0, 0x0eb70bc0, "vcvt%c.f32.f64 %P, %M"},
    {0x0fbf0fd0, 0x0eb80a40, "vcvt%c.f32.u32 %D, %Q"},
    {0x0fbf0fd0, 0x0eb80ac0, "vcvt%c.f32.s32 %D, %Q"},
    {0x0fbf0fd0, 0x0eb80b40, "vcvt%c.f64.u32 %D, %Q"},
    {0x0fbf0fd0, 0x0eb80bc0, "vcvt%c.f64.s32 %D, %Q"},
    {0x0fbf0ed0, 0x0ebc0ac0, "vcvt%c.u32%F %R, %M"},
    {0x0fbf0ed0, 0x0ebd0ac0, "vcvt%c.s32%F %R, %M"},
    {0x0ff00f7f, 0x0e000a10, "vmov%c %N, %d"},
    {0x0ff00f7f, 0x0e100a10, "vmov%c %d, %N"},
    {0x0fffffff, 0x0ef1fa10, "vmrs%c apsr_nzcv, fpscr"},
    {0x0fff0fff, 0x0ef10a10, "vmrs%c %d, fpscr"},
    {0x0fff0fff, 0x0ee10a10, "vmsr%c fpscr, %d"},
    {0x0ff00fd0, 0x0c400b10, "vmov%c %M, %d, %n"},
    {0x0ff00fd0, 0x0c500b10, "vmov%c %d, %n, %M"},
    {0, 0, NULL},
};

static const struct row always[] = {
    {0xffffffff, 0xf57ff01f, "clrex"},  {0xfffffff0, 0xf57ff040, "dsb %q"},
    {0xfffffff0, 0xf57ff050, "dmb %q"}, {0xfffffff0, 0xf57ff060, "isb %q"},
    {0xff70f000, 0xf550f000, "pld %a"}, {0xff70f000, 0xf510f000, "pldw %a"},
    {0xff70f000, 0xf450f000, "pli %a"}, {0, 0, NULL},
};

/* By enum a32_form; those that are not here are among the others. */
static const struct row *rows_of(uint32_t word, uint8_t form) {
    static const struct row *const rows[] = {
        [A32_BRANCH] = branches,     [A32_BX] = branches,          [A32_DATA] = data,
        [A32_MULTIPLY] = multiplies, [A32_SINGLE] = singles,       [A32_EXTRA] = extras,
        [A32_SEVERAL] = several,     [A32_VECTOR] = vectors,       [A32_VECTORS] = vectors,
        [A32_PRELOAD] = always,      [A32_EXCLUSIVE] = exclusives, [A32_VMRS] = floats,
    };
    if (form < sizeof rows / sizeof *rows && rows[form])
        return rows[form];
    if (a32_condition(word) == ARM_UNCONDITIONAL)
        return always;
    return (word & 0x0c000e00) == 0x0c000a00 && arm_bits(word, 24, 4) != 15 ? floats : others;
}

const char *a32_text_of(uint32_t word) {
    const struct row *row = rows_of(word, a32_classify(word).form);
    while ((word & row->mask) != row->value)
        row++;
    return row->text;
}
