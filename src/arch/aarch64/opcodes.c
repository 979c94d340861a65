/* Texts of A64 branches, system instructions, loads, stores and scalar floating point. */
#include "arch/aarch64/opcodes.h"

/* ---- branches and exceptions (Arm ARM, C4.1.93) ---- */

static const struct opcode branches[] = {
    {0x7c000000, 0x14000000, "b<31:|l> %B"},
    {0xff000000, 0x54000000, "b<4:|c>.%J %B"},
    {0x7e000000, 0x34000000, "cb<24:|n>z %rd, %B"},
    {0x7e000000, 0x36000000, "tb<24:|n>z %rd, %Z, %B"},
    {0xffdffc1f, 0xd61f0000, "b<21:|l>r %xn"},
    {0xffffffff, 0xd65f03c0, "ret"},
    {0xfffffc1f, 0xd65f0000, "ret %xn"},
    {0xffdff81f, 0xd61f081f, "b<21:|l>ra<10:a|b>z %xn"},
    {0xfffffbff, 0xd65f0bff, "reta<10:a|b>"},
    {0xfffffbe0, 0xd65f0be0, "reta<10:a|b>sppcr %xd"},
    {0xffc0001f, 0x5500001f, "reta<21:a|b>sppc %4"},
    {0xffdff800, 0xd71f0800, "b<21:|l>ra<10:a|b> %xn, %Xd"},
    {0xffffffff, 0xd69f03e0, "eret"},
    {0xffe0001c, 0xd4000000, "<0:?|svc|hvc|smc> %k"},
    {0xffe0001f, 0xd4200000, "brk %k"},
    {0xffe0001f, 0xd4400000, "hlt %k"},
    {0xffe0001c, 0xd4a00000, "dcps<0:?|1|2|3> %k"},
    {0, 0, NULL},
};

static const struct opcode system[] = {
    {0xffffff1f, 0xd503201f, "<5:nop|yield|wfe|wfi|sev|sevl|?|xpaclri>"},
    {0xffffff3f, 0xd503211f, "<6:pacia|pacib|autia|autib>1716"},
    {0xffffff9f, 0xd503221f, "<5:esb|psb csync|tsb csync|?>"},
    {0xffffffff, 0xd503229f, "csdb"},
    {0xffffff1f, 0xd503231f, "<7:pac|aut>i<6:a|b><5:z|sp>"},
    {0xffffff3f, 0xd503241f, "bti<6:| c| j| jc>"},
    {0xffffffff, 0xd50324ff, "pacm"},
    {0xfffff01f, 0xd503201f, "hint #<5.7x>"},
    {0xffffffff, 0xd5033f5f, "clrex"},
    {0xfffff0ff, 0xd503305f, "clrex #<8.4x>"},
    {0xffffffff, 0xd503309f, "ssbb"},
    {0xffffffff, 0xd503349f, "pssbb"},
    {0xfffff0df, 0xd503309f,
     "d<5:s|m>b <8:#0|oshld|oshst|osh|#4|nshld|nshst|nsh|#8|ishld|ishst|ish|#12|ld|st|sy>"},
    {0xffffffff, 0xd5033fdf, "isb"},
    {0xfffff0ff, 0xd50330df, "isb #<8.4x>"},
    {0xffffffff, 0xd50330ff, "sb"},
    {0xffffff9f, 0xd500401f, "<5:cfinv|xaflag|axflag|?>"},
    {0xfffff01f, 0xd500401f, "msr <5:?|?|?|uao|pan|spsel|?|?>, #<8.4x>"},
    {0xfffff01f, 0xd503401f, "msr <5:?|ssbs|dit|?|tco|?|daifset|daifclr>, #<8.4x>"},
    {0xffffff00, 0xd50b7400, "dc <5:?|zva|?|gva|gzva|?|?|?>, %xd"},
    {0xfffff8e0, 0xd50b7820, "dc <8:?|?|cvac|cvau|cvap|cvadp|civac|?>, %xd"},
    {0xffffffe0, 0xd50b7520, "ic ivau, %xd"},
    {0xfff8001f, 0xd508001f, "sys %U"},
    {0xfff80000, 0xd5080000, "sys %U, %xd"},
    {0xfff80000, 0xd5280000, "sysl %xd, %U"},
    {0xfff00000, 0xd5100000, "msr %D, %xd"},
    {0xfff00000, 0xd5300000, "mrs %xd, %D"},
    {0, 0, NULL},
};

static const struct opcode reserved[] = {
    {0xffff0000, 0x00000000, "udf #<0.16>"},
    {0, 0, NULL},
};

/* ---- loads and stores (C4.1.94), without structures of vectors ---- */

/* A vector register has at most 16 bytes: bits 23 and 30 do not go together. */
static bool is_no_vector(uint32_t word) { return a64_bits(word, 23, 1) && word >> 30; }

static bool is_odd_pair(uint32_t word) { return (a64_rm(word) | a64_rd(word)) & 1; }

static const struct a64_alias memory_aliases[] = {
    {0x3f000000, 0x3d000000, is_no_vector, NULL},
    {0x3f200000, 0x3c000000, is_no_vector, NULL},
    {0x3f200c00, 0x3c200800, is_no_vector, NULL},
    {0xbfa07c00, 0x08207c00, is_odd_pair, NULL},
    {0, 0, NULL, NULL},
};

#define ATOMICS "<12:add|clr|eor|set|smax|smin|umax|umin>"

static const struct opcode memory[] = {
    /* exclusive, and with acquire or release */
    {0xbfa07c00, 0x08207c00, "casp%p %ym, %yM, %yd, %yD, [%Xn]"},
    {0x3fa07c00, 0x08a07c00, "cas%p%t %gm, %gd, [%Xn]"},
    {0x3fe00000, 0x08000000, "st<15:|l>xr%t %wm, %gd, [%Xn]"},
    {0x3fe00000, 0x08400000, "ld<15:|a>xr%t %gd, [%Xn]"},
    {0x3fe00000, 0x08800000, "stl<15:l|>r%t %gd, [%Xn]"},
    {0x3fe00000, 0x08c00000, "ld<15:la|a>r%t %gd, [%Xn]"},
    {0xbfe00000, 0x88200000, "st<15:|l>xp %wm, %yd, %ya, [%Xn]"},
    {0xbfe00000, 0x88600000, "ld<15:|a>xp %yd, %ya, [%Xn]"},
    {0x3fa00c00, 0x19000000, "<22:stl|ldap>ur%t %gd, %a"},
    {0xffe00c00, 0xd9800000, NULL},
    {0x3fe00c00, 0x19800000, "ldapurs%T %xd, %a"},
    {0xbfe00c00, 0x19c00000, "ldapurs%t %wd, %a"},
    /* literals */
    {0xbf000000, 0x18000000, "ldr %yd, %B"},
    {0xff000000, 0x98000000, "ldrsw %xd, %B"},
    {0xff000000, 0xd8000000, "prfm %e, %B"},
    {0x3f000000, 0x1c000000, "ldr %zd, %B"},
    /* pairs */
    {0x7f800000, 0x28000000, "<22:st|ld>np %rd, %ra, %A"},
    {0x7e000000, 0x28000000, "<22:st|ld>p %rd, %ra, %A"},
    {0xff800000, 0x68000000, NULL},
    {0xfe000000, 0x68000000, "<22:stgp|ldpsw> %xd, %xa, %A"},
    {0xfe000000, 0xec000000, NULL},
    {0x3f800000, 0x2c000000, "<22:st|ld>np %zd, %za, %A"},
    {0x3e000000, 0x2c000000, "<22:st|ld>p %zd, %za, %A"},
    /* with an unsigned offset */
    {0x3f800000, 0x39000000, "<22:st|ld>r%t %gd, %A"},
    {0xffc00000, 0xf9800000, "prfm %e, %A"},
    {0x3fc00000, 0x39800000, "ldrs%T %xd, %A"},
    {0xbfc00000, 0x39c00000, "ldrs%t %wd, %A"},
    {0x3f000000, 0x3d000000, "<22:st|ld>r %ld, %A"},
    /* with a register */
    {0x3fa04c00, 0x38204800, "<22:st|ld>r%t %gd, %A"},
    {0xffe04c00, 0xf8a04800, "prfm %e, %A"},
    {0x3fe04c00, 0x38a04800, "ldrs%T %xd, %A"},
    {0xbfe04c00, 0x38e04800, "ldrs%t %wd, %A"},
    {0x3f204c00, 0x3c204800, "<22:st|ld>r %ld, %A"},
    /* with 9 bits of offset: unscaled, post-indexed, unprivileged, pre-indexed */
    {0xffe00c00, 0xf8800000, "prfum %e, %A"},
    {0xffe00000, 0xf8800000, NULL},
    {0x3fa00000, 0x38000000, "<22:st|ld><10:u||t|>r%t %gd, %A"},
    {0x3fe00000, 0x38800000, "ld<10:u||t|>rs%T %xd, %A"},
    {0xbfe00000, 0x38c00000, "ld<10:u||t|>rs%t %wd, %A"},
    {0x3f200000, 0x3c000000, "<22:st|ld><10:u||?|>r %ld, %A"},
    /* by an authenticated pointer */
    {0xff200400, 0xf8200400, "ldra<23:a|b> %xd, %A"},
    /* atomic */
    {0x3ffffc00, 0x38bfc000, "ldapr%t %gd, [%Xn]"},
    {0x3fa08c1f, 0x3820001f, "st" ATOMICS "%o%t %gm, [%Xn]"},
    {0x3f208c00, 0x38200000, "ld" ATOMICS "%o%t %gm, %gd, [%Xn]"},
    {0x3f20fc00, 0x38208000, "swp%o%t %gm, %gd, [%Xn]"},
    /* memory tags */
    {0xffe00c00, 0xd9600000, "ldg %xd, %n"},
    {0xff3ffc00, 0xd9200000, "<22:stz|?|st|ld>gm %xd, [%Xn]"},
    {0xff200c00, 0xd9200000, NULL},
    {0xff200000, 0xd9200000, "st<22:|z|2|z2>g %Xd, %n"},
    {0, 0, NULL},
};

/* ---- scalar floating point (C4.1.96) ---- */

static unsigned precision_of(uint32_t word) { return a64_bits(word, 22, 2); }

/* Precision 2 is only valid in moves of a vector register's upper half. */
static bool is_no_precision(uint32_t word) {
    return precision_of(word) == 2 && (word & 0xfffe0000) != 0x9eae0000;
}

static bool is_half(uint32_t word) { return precision_of(word) == 3; }

/* A 32-bit register has at most 32 fraction bits. */
static bool is_no_fraction(uint32_t word) { return !(word >> 31) && !a64_bits(word, 15, 1); }

static const struct a64_alias float_aliases[] = {
    {0x7e000000, 0x1e000000, is_no_precision, NULL},
    {0x7f200000, 0x1e000000, is_no_fraction, NULL},
    {0xff3e7c00, 0x1e284000, is_half, NULL}, /* frint32 and frint64 */
    {0, 0, NULL, NULL},
};

static const struct opcode floats[] = {
    /* moves to and from general registers */
    {0xfffefc00, 0x1e260000, "fmov <16:%wd, %sn|%sd, %wn>"},
    {0xfffefc00, 0x9e660000, "fmov <16:%xd, %dn|%dd, %xn>"},
    {0x7ffefc00, 0x1ee60000, "fmov <16:%rd, %hn|%hd, %rn>"},
    {0xfffefc00, 0x9eae0000, "fmov <16:%xd, %Vn.d[1]|%Vd.d[1], %xn>"},
    {0xfffffc00, 0x1e7e0000, "fjcvtzs %wd, %dn"},
    /* conversions from and to integers */
    {0x7f3efc00, 0x1e220000, "<16:s|u>cvtf %fd, %rn"},
    {0x7f3efc00, 0x1e240000, "fcvta<16:s|u> %rd, %fn"},
    {0x7f26fc00, 0x1e200000, "fcvt<19:n|p|m|z><16:s|u> %rd, %fn"},
    {0x7f3e0000, 0x1e020000, "<16:s|u>cvtf %fd, %rn, %c"},
    {0x7f3e0000, 0x1e180000, "fcvtz<16:s|u> %rd, %fn, %c"},
    /* one operand */
    {0xff3e7c00, 0x1e204000, "f<15:mov|abs|neg|sqrt> %fd, %fn"},
    {0xfffe7c00, 0x1e224000, "fcvt <15:?|%dd|?|%hd>, %sn"},
    {0xfffe7c00, 0x1e624000, "<15:fcvt %sd, %dn|?|bfcvt %hd, %sn|fcvt %hd, %dn>"},
    {0xfffe7c00, 0x1ee24000, "fcvt <15:%sd|%dd|?|?>, %hn"},
    {0xff3c7c00, 0x1e244000, "frint<15:n|p|m|z|a|?|x|i> %fd, %fn"},
    {0xff3e7c00, 0x1e284000, "frint<16:32|64><15:z|x> %fd, %fn"},
    /* comparisons and selection */
    {0xff20fc07, 0x1e202000, "fcmp<4:|e> %fn, <3:%fm|#0.0>"},
    {0xff201fe0, 0x1e201000, "fmov %fd, %v"},
    {0xff200c00, 0x1e200400, "fccmp<4:|e> %fn, %fm, %F, %C"},
    {0xff200c00, 0x1e200c00, "fcsel %fd, %fn, %fm, %C"},
    /* two and three operands */
    {0xff208c00, 0x1e200800, "f<12:mul|div|add|sub|max|min|maxnm|minnm> %fd, %fn, %fm"},
    {0xff20fc00, 0x1e208800, "fnmul %fd, %fn, %fm"},
    {0xff000000, 0x1f000000, "f<21:|n>m<15:add|sub> %fd, %fn, %fm, %fa"},
    {0, 0, NULL},
};

/* ---- groups ---- */

static const struct a64_opcodes branch_opcodes = {NULL, branches}, system_opcodes = {NULL, system},
                                reserved_opcodes = {NULL, reserved},
                                memory_opcodes = {memory_aliases, memory},
                                float_opcodes = {float_aliases, floats};

/* By bits 25 to 28. */
static const struct a64_opcodes *opcodes_of(uint32_t word) {
    static const struct a64_opcodes *const groups[16] = {
        [0] = &reserved_opcodes,      [4] = &memory_opcodes,        [5] = &a64_register_opcodes,
        [6] = &memory_opcodes,        [7] = &float_opcodes,         [8] = &a64_immediate_opcodes,
        [9] = &a64_immediate_opcodes, [10] = &branch_opcodes,       [11] = &branch_opcodes,
        [12] = &memory_opcodes,       [13] = &a64_register_opcodes, [14] = &memory_opcodes,
        [15] = &float_opcodes,
    };
    return word >> 24 == 0xd5 ? &system_opcodes : groups[a64_bits(word, 25, 4)];
}

bool a64_print(struct disasm *d) {
    const struct a64_opcodes *opcodes = opcodes_of(d->word);
    if (!opcodes)
        return false;
    for (const struct a64_alias *a = opcodes->aliases; a && a->when; a++)
        if ((d->word & a->mask) == a->value && a->when(d->word))
            return a->text && disasm_expand(d, a->text);
    return disasm_print(d, opcodes->rows);
}
