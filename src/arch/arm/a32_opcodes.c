/* The texts of A32 instructions (a32_opcodes.h). */
#include "arch/arm/a32_opcodes.h"

static const struct opcode data[] = {
    {0x0fffffff, 0x01a00000, "nop"},
    {0x0fe00ff0, 0x01a00000, "mov%f %d, %m"},
    {0x0fe00090, 0x01a00010, "<5:lsl|lsr|asr|ror>%f %d, %m, %s"},
    {0x0fe00ff0, 0x01a00060, "rrx%f %d, %m"},
    {0x0fe00f90, 0x01a00000, "<5:?|lsr|asr|?>%f %d, %m, #32"},
    {0x0fe00010, 0x01a00000, "<5:lsl|lsr|asr|ror>%f %d, %m, %i"},
    {0x0da00000, 0x01a00000, "m<22:ov|vn>%f %d, %o"},
    {0x0d800000, 0x01000000, "<21:tst|teq|cmp|cmn> %n, %o"},
    {0x0da00000, 0x01800000, "<22:orr|bic>%f %d, %n, %o"},
    {0x0d000000, 0x00000000, "<21:and|eor|sub|rsb|add|adc|sbc|rsc>%f %d, %n, %o"},
    {0, 0, NULL},
};

static const struct opcode singles[] = {
    {0x0fff0fff, 0x049d0004, "pop {%d}"},
    {0x0d000000, 0x04000000, "<20:st|ld>r<22:|b><21:|t> %d, %A"},
    {0x0c000000, 0x04000000, "<20:st|ld>r<22:|b> %d, %A"},
    {0, 0, NULL},
};

static const struct opcode extras[] = {
    {0x0f3000f0, 0x002000b0, "strht %d, %A"}, /* t: as unprivileged code */
    {0x0f300090, 0x00300090, "ldr<5:?|h|sb|sh>t %d, %A"},
    {0x0e100090, 0x00000090, "<5:?|strh %d|ldrd %d, %t|strd %d, %t>, %A"},
    {0x0e100090, 0x00100090, "ldr<5:?|h|sb|sh> %d, %A"},
    {0, 0, NULL},
};

static const struct opcode several[] = {
    {0x0fff0000, 0x08bd0000, "pop %l"},
    {0x0fff0000, 0x092d0000, "push %l"},
    {0x0e400000, 0x08000000, "<20:st|ld>m<23:da||db|ib> %n<21:|!>, %l"},
    {0, 0, NULL},
};

static const struct opcode multiplies[] = {
    {0x0fe0f0f0, 0x00000090, "mul%f %n, %m, %s"},
    {0x0fe000f0, 0x00200090, "mla%f %n, %m, %s, %d"},
    {0x0f8000f0, 0x00800090, "<22:u|s>m<21:ul|la>l%f %d, %n, %m, %s"},
    {0, 0, NULL},
};

static const struct opcode exclusives[] = {
    {0x0fb00ff0, 0x01000090, "swp<22:|b> %d, %m, [%n]"},
    {0x0f900fff, 0x01900f9f, "ldrex<21: %d|d %d, %t|b %d|h %d>, [%n]"},
    {0x0f900ff0, 0x01800f90, "strex<21:|?|b|h> %d, %m, [%n]"},
    {0x0ff00fff, 0x01900e9f, "ldaex %d, [%n]"},
    {0x0ff00ff0, 0x01800e90, "stlex %d, %m, [%n]"},
    {0x0ff00fff, 0x01900c9f, "lda %d, [%n]"},
    {0x0ff0fff0, 0x0180fc90, "stl %m, [%n]"},
    {0, 0, NULL},
};

static const struct opcode branches[] = {
    {0xfe000000, 0xfa000000, "blx %b"},
    {0x0e000000, 0x0a000000, "b<24:|l> %b"},
    {0x0fffffd0, 0x012fff10, "b<5:|l>x %m"},
    {0, 0, NULL},
};

/* Other instructions with a condition. */
static const struct opcode others[] = {
    {0x0fb00000, 0x03000000, "mov<22:w|t> %d, %h"},
    {0x0ff000f0, 0x00400090, "umaal %d, %n, %m, %s"},
    {0x0ff000f0, 0x00600090, "mls %n, %m, %s, %d"},
    {0x0fff0fff, 0x010f0000, "mrs %d, apsr"},
    {0x0fff0ff0, 0x016f0f10, "clz %d, %m"},
    {0x0fd00ff0, 0x01000050, "q<21:add|sub> %d, %m, %n"},
    {0xfff000f0, 0xe1200070, "bkpt %K"},
    {0x0ffffff8, 0x0320f000, "<0:nop|yield|wfe|?|sev|?|?|?>"},
    {0x0f000000, 0x0f000000, "svc #<0.24>"},
    {0xfff000f0, 0xe7f000f0, "udf %K"},
    {0x0faf03f0, 0x06af0070, "<22:s|u>xt<20:b|h> %d, %m%r"},
    {0x0fa003f0, 0x06a00070, "<22:s|u>xta<20:b|h> %d, %n, %m%r"},
    {0x0fff0f70, 0x06bf0f30, "rev<7:|16> %d, %m"},
    {0x0fff0f70, 0x06ff0f30, "r<7:bit|evsh> %d, %m"},
    {0x0ff00ff0, 0x06800fb0, "sel %d, %n, %m"},
    {0x0ff00ff0, 0x06500f90, "uadd8 %d, %n, %m"},
    {0x0ff00ff0, 0x06600ff0, "uqsub8 %d, %n, %m"},
    {0x0fd0f0f0, 0x0710f010, "<21:s|u>div %n, %m, %s"},
    {0x0ff0f0f0, 0x0750f010, "smmul %n, %m, %s"},
    {0x0fa00070, 0x07a00050, "<22:s|u>bfx %d, %m, %i, #<16.5+1>"},
    {0x0fe0007f, 0x07c0001f, "bfc %d, %i, %z"},
    {0x0fe00070, 0x07c00010, "bfi %d, %m, %i, %z"},
    {0x0fe00030, 0x06a00010, "ssat %d, #<16.5+1>, %m%g"},
    {0x0fe00030, 0x06e00010, "usat %d, #<16.5>, %m%g"},
    {0x0ff0f090, 0x01600080, "smul<5:b|t><6:b|t> %n, %m, %s"},
    {0x0ff0f0b0, 0x012000a0, "smulw<6:b|t> %n, %m, %s"},
    {0x0ff00090, 0x01000080, "smla<5:b|t><6:b|t> %n, %m, %s, %d"},
    {0x0ff000b0, 0x01200080, "smlaw<6:b|t> %n, %m, %s, %d"},
    {0x0ff000f0, 0x01400080, "smlalbb %d, %n, %m, %s"},
    {0x0fff0fff, 0x0e1d0f70, "mrc p15, #0, %d, c13, c0, #3"},
    {0x0fff0fdf, 0x0e070f9a, "mcr p15, #0, %d, c7, c10, #<5:4|5>"},
    {0, 0, NULL},
};

static const struct opcode unconditional[] = {
    {0xffffffff, 0xf57ff01f, "clrex"},  {0xffffffe0, 0xf57ff040, "d<4:s|m>b %q"},
    {0xfffffff0, 0xf57ff060, "isb %q"}, {0xff30f000, 0xf510f000, "pld<22:w|> %A"},
    {0xff70f000, 0xf450f000, "pli %A"}, {0, 0, NULL},
};

/* By enum a32_form; instructions of all other forms are in `others`. */
const struct opcode *a32_opcodes_of(uint32_t word) {
    static const struct opcode *const rows[] = {
        [A32_BRANCH] = branches,
        [A32_BX] = branches,
        [A32_DATA] = data,
        [A32_MULTIPLY] = multiplies,
        [A32_SINGLE] = singles,
        [A32_EXTRA] = extras,
        [A32_SEVERAL] = several,
        [A32_VECTOR] = arm_vfp_opcodes,
        [A32_PRELOAD] = unconditional,
        [A32_VECTORS] = arm_vfp_opcodes,
        [A32_EXCLUSIVE] = exclusives,
        [A32_VMRS] = arm_vfp_opcodes,
    };
    uint8_t form = a32_classify(word).form;
    if (form < sizeof rows / sizeof *rows && rows[form])
        return rows[form];
    if (a32_condition(word) == ARM_UNCONDITIONAL)
        return unconditional;
    bool vfp = (word & 0x0c000e00) == 0x0c000a00 && arm_bits(word, 24, 4) != 15;
    return vfp ? arm_vfp_opcodes : others;
}
