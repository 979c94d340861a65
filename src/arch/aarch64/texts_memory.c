/* The texts of A64 instructions that load and store (Arm ARM, C4.1.94), vectors' structures apart.
 */
#include "arch/aarch64/texts.h"

/* There are vector registers of sixteen bytes, which both of these say, and none above. */
static bool is_no_vector(uint32_t word) { return a64_bits(word, 23, 1) && word >> 30; }

static bool is_odd_pair(uint32_t word) { return (a64_rm(word) | a64_rd(word)) & 1; }

static const struct a64_alias aliases[] = {
    {0x3f000000, 0x3d000000, is_no_vector, NULL},
    {0x3f200000, 0x3c000000, is_no_vector, NULL},
    {0x3f200c00, 0x3c200800, is_no_vector, NULL},
    {0xbfa07c00, 0x08207c00, is_odd_pair, NULL},
    {0, 0, NULL, NULL},
};

static const struct a64_row rows[] = {
    /* exclusive ones, and those that order others */
    {0xbfa07c00, 0x08207c00, "casp%p %ym, %yM, %yd, %yD, [%Xn]"},
    {0x3fa07c00, 0x08a07c00, "cas%p%t %gm, %gd, [%Xn]"},
    {0x3fe08000, 0x08000000, "stxr%t %wm, %gd, [%Xn]"},
    {0x3fe08000, 0x08008000, "stlxr%t %wm, %gd, [%Xn]"},
    {0x3fe08000, 0x08400000, "ldxr%t %gd, [%Xn]"},
    {0x3fe08000, 0x08408000, "ldaxr%t %gd, [%Xn]"},
    {0x3fe08000, 0x08800000, "stllr%t %gd, [%Xn]"},
    {0x3fe08000, 0x08808000, "stlr%t %gd, [%Xn]"},
    {0x3fe08000, 0x08c00000, "ldlar%t %gd, [%Xn]"},
    {0x3fe08000, 0x08c08000, "ldar%t %gd, [%Xn]"},
    {0xbfe08000, 0x88200000, "stxp %wm, %yd, %ya, [%Xn]"},
    {0xbfe08000, 0x88208000, "stlxp %wm, %yd, %ya, [%Xn]"},
    {0xbfe08000, 0x88600000, "ldxp %yd, %ya, [%Xn]"},
    {0xbfe08000, 0x88608000, "ldaxp %yd, %ya, [%Xn]"},
    {0x3fe00c00, 0x19000000, "stlur%t %gd, %a"},
    {0x3fe00c00, 0x19400000, "ldapur%t %gd, %a"},
    {0xffe00c00, 0xd9800000, NULL},
    {0x3fe00c00, 0x19800000, "ldapurs%T %xd, %a"},
    {0xbfe00c00, 0x19c00000, "ldapurs%t %wd, %a"},
    /* literals */
    {0xff000000, 0x18000000, "ldr %wd, %B"},
    {0xff000000, 0x58000000, "ldr %xd, %B"},
    {0xff000000, 0x98000000, "ldrsw %xd, %B"},
    {0xff000000, 0xd8000000, "prfm %e, %B"},
    {0xff000000, 0x1c000000, "ldr %sd, %B"},
    {0xff000000, 0x5c000000, "ldr %dd, %B"},
    {0xff000000, 0x9c000000, "ldr %qd, %B"},
    /* pairs */
    {0x7fc00000, 0x28000000, "stnp %rd, %ra, %A"},
    {0x7fc00000, 0x28400000, "ldnp %rd, %ra, %A"},
    {0x7e400000, 0x28000000, "stp %rd, %ra, %A"},
    {0x7e400000, 0x28400000, "ldp %rd, %ra, %A"},
    {0xff800000, 0x68000000, NULL},
    {0xfe400000, 0x68000000, "stgp %xd, %xa, %A"},
    {0xfe400000, 0x68400000, "ldpsw %xd, %xa, %A"},
    {0xfe000000, 0xec000000, NULL},
    {0x3fc00000, 0x2c000000, "stnp %zd, %za, %A"},
    {0x3fc00000, 0x2c400000, "ldnp %zd, %za, %A"},
    {0x3e400000, 0x2c000000, "stp %zd, %za, %A"},
    {0x3e400000, 0x2c400000, "ldp %zd, %za, %A"},
    /* with an unsigned offset */
    {0x3fc00000, 0x39000000, "str%t %gd, %A"},
    {0x3fc00000, 0x39400000, "ldr%t %gd, %A"},
    {0xffc00000, 0xf9800000, "prfm %e, %A"},
    {0x3fc00000, 0x39800000, "ldrs%T %xd, %A"},
    {0xbfc00000, 0x39c00000, "ldrs%t %wd, %A"},
    {0x3f400000, 0x3d000000, "str %ld, %A"},
    {0x3f400000, 0x3d400000, "ldr %ld, %A"},
    /* with a register */
    {0x3fe04c00, 0x38204800, "str%t %gd, %A"},
    {0x3fe04c00, 0x38604800, "ldr%t %gd, %A"},
    {0xffe04c00, 0xf8a04800, "prfm %e, %A"},
    {0x3fe04c00, 0x38a04800, "ldrs%T %xd, %A"},
    {0xbfe04c00, 0x38e04800, "ldrs%t %wd, %A"},
    {0x3f604c00, 0x3c204800, "str %ld, %A"},
    {0x3f604c00, 0x3c604800, "ldr %ld, %A"},
    /* as programs may, where it is the kernel that does it */
    {0x3fe00c00, 0x38000800, "sttr%t %gd, %A"},
    {0x3fe00c00, 0x38400800, "ldtr%t %gd, %A"},
    {0xffe00c00, 0xf8800800, NULL},
    {0x3fe00c00, 0x38800800, "ldtrs%T %xd, %A"},
    {0xbfe00c00, 0x38c00800, "ldtrs%t %wd, %A"},
    /* with an offset of nine bits */
    {0x3fe00c00, 0x38000000, "stur%t %gd, %A"},
    {0x3fe00c00, 0x38400000, "ldur%t %gd, %A"},
    {0xffe00c00, 0xf8800000, "prfum %e, %A"},
    {0x3fe00c00, 0x38800000, "ldurs%T %xd, %A"},
    {0xbfe00c00, 0x38c00000, "ldurs%t %wd, %A"},
    {0x3f600c00, 0x3c000000, "stur %ld, %A"},
    {0x3f600c00, 0x3c400000, "ldur %ld, %A"},
    /* which is added to the base, before or after */
    {0x3fe00400, 0x38000400, "str%t %gd, %A"},
    {0x3fe00400, 0x38400400, "ldr%t %gd, %A"},
    {0xffe00400, 0xf8800400, NULL},
    {0x3fe00400, 0x38800400, "ldrs%T %xd, %A"},
    {0xbfe00400, 0x38c00400, "ldrs%t %wd, %A"},
    {0x3f600400, 0x3c000400, "str %ld, %A"},
    {0x3f600400, 0x3c400400, "ldr %ld, %A"},
    /* by an authenticated pointer */
    {0xffa00400, 0xf8200400, "ldraa %xd, %A"},
    {0xffa00400, 0xf8a00400, "ldrab %xd, %A"},
    /* atomic ones */
    {0x3ffffc00, 0x38bfc000, "ldapr%t %gd, [%Xn]"},
    {0x3fa0fc1f, 0x3820001f, "stadd%o%t %gm, [%Xn]"},
    {0x3fa0fc1f, 0x3820101f, "stclr%o%t %gm, [%Xn]"},
    {0x3fa0fc1f, 0x3820201f, "steor%o%t %gm, [%Xn]"},
    {0x3fa0fc1f, 0x3820301f, "stset%o%t %gm, [%Xn]"},
    {0x3fa0fc1f, 0x3820401f, "stsmax%o%t %gm, [%Xn]"},
    {0x3fa0fc1f, 0x3820501f, "stsmin%o%t %gm, [%Xn]"},
    {0x3fa0fc1f, 0x3820601f, "stumax%o%t %gm, [%Xn]"},
    {0x3fa0fc1f, 0x3820701f, "stumin%o%t %gm, [%Xn]"},
    {0x3f20fc00, 0x38200000, "ldadd%o%t %gm, %gd, [%Xn]"},
    {0x3f20fc00, 0x38201000, "ldclr%o%t %gm, %gd, [%Xn]"},
    {0x3f20fc00, 0x38202000, "ldeor%o%t %gm, %gd, [%Xn]"},
    {0x3f20fc00, 0x38203000, "ldset%o%t %gm, %gd, [%Xn]"},
    {0x3f20fc00, 0x38204000, "ldsmax%o%t %gm, %gd, [%Xn]"},
    {0x3f20fc00, 0x38205000, "ldsmin%o%t %gm, %gd, [%Xn]"},
    {0x3f20fc00, 0x38206000, "ldumax%o%t %gm, %gd, [%Xn]"},
    {0x3f20fc00, 0x38207000, "ldumin%o%t %gm, %gd, [%Xn]"},
    {0x3f20fc00, 0x38208000, "swp%o%t %gm, %gd, [%Xn]"},
    /* tags of memory */
    {0xffe00c00, 0xd9600000, "ldg %xd, %n"},
    {0xfffffc00, 0xd9200000, "stzgm %xd, [%Xn]"},
    {0xfffffc00, 0xd9a00000, "stgm %xd, [%Xn]"},
    {0xfffffc00, 0xd9e00000, "ldgm %xd, [%Xn]"},
    {0xff200c00, 0xd9200000, NULL},
    {0xffe00000, 0xd9200000, "stg %Xd, %n"},
    {0xffe00000, 0xd9600000, "stzg %Xd, %n"},
    {0xffe00000, 0xd9a00000, "st2g %Xd, %n"},
    {0xffe00000, 0xd9e00000, "stz2g %Xd, %n"},
    {0, 0, NULL},
};

const struct a64_texts a64_memory_texts = {aliases, rows};
