/* The texts of A64 instructions that compute with single numbers of floating point (Arm ARM,
 * C4.1.96); vectors have none. */
#include "arch/aarch64/texts.h"

static unsigned precision_of(uint32_t word) { return a64_bits(word, 22, 2); }

/* There are halves of vectors in its place. */
static bool is_no_precision(uint32_t word) {
    return precision_of(word) == 2 && (word & 0xfffe0000) != 0x9eae0000;
}

static bool is_half(uint32_t word) { return precision_of(word) == 3; }

/* More bits of fraction than there are. */
static bool is_no_fraction(uint32_t word) { return !(word >> 31) && !a64_bits(word, 15, 1); }

static const struct a64_alias aliases[] = {
    {0x7e000000, 0x1e000000, is_no_precision, NULL},
    {0x7f200000, 0x1e000000, is_no_fraction, NULL},
    {0xff3e7c00, 0x1e284000, is_half, NULL}, /* frint32 and frint64 */
    {0, 0, NULL, NULL},
};

static const struct a64_row rows[] = {
    /* moves to and from general registers */
    {0xfffffc00, 0x1e260000, "fmov %wd, %sn"},
    {0xfffffc00, 0x1e270000, "fmov %sd, %wn"},
    {0xfffffc00, 0x9e660000, "fmov %xd, %dn"},
    {0xfffffc00, 0x9e670000, "fmov %dd, %xn"},
    {0x7ffffc00, 0x1ee60000, "fmov %rd, %hn"},
    {0x7ffffc00, 0x1ee70000, "fmov %hd, %rn"},
    {0xfffffc00, 0x9eae0000, "fmov %xd, %Vn.d[1]"},
    {0xfffffc00, 0x9eaf0000, "fmov %Vd.d[1], %xn"},
    {0xfffffc00, 0x1e7e0000, "fjcvtzs %wd, %dn"},
    /* from and to integers */
    {0x7f3ffc00, 0x1e200000, "fcvtns %rd, %fn"},
    {0x7f3ffc00, 0x1e210000, "fcvtnu %rd, %fn"},
    {0x7f3ffc00, 0x1e220000, "scvtf %fd, %rn"},
    {0x7f3ffc00, 0x1e230000, "ucvtf %fd, %rn"},
    {0x7f3ffc00, 0x1e240000, "fcvtas %rd, %fn"},
    {0x7f3ffc00, 0x1e250000, "fcvtau %rd, %fn"},
    {0x7f3ffc00, 0x1e280000, "fcvtps %rd, %fn"},
    {0x7f3ffc00, 0x1e290000, "fcvtpu %rd, %fn"},
    {0x7f3ffc00, 0x1e300000, "fcvtms %rd, %fn"},
    {0x7f3ffc00, 0x1e310000, "fcvtmu %rd, %fn"},
    {0x7f3ffc00, 0x1e380000, "fcvtzs %rd, %fn"},
    {0x7f3ffc00, 0x1e390000, "fcvtzu %rd, %fn"},
    {0x7f3f0000, 0x1e020000, "scvtf %fd, %rn, %c"},
    {0x7f3f0000, 0x1e030000, "ucvtf %fd, %rn, %c"},
    {0x7f3f0000, 0x1e180000, "fcvtzs %rd, %fn, %c"},
    {0x7f3f0000, 0x1e190000, "fcvtzu %rd, %fn, %c"},
    /* of one operand */
    {0xff3ffc00, 0x1e204000, "fmov %fd, %fn"},
    {0xff3ffc00, 0x1e20c000, "fabs %fd, %fn"},
    {0xff3ffc00, 0x1e214000, "fneg %fd, %fn"},
    {0xff3ffc00, 0x1e21c000, "fsqrt %fd, %fn"},
    {0xfffffc00, 0x1e22c000, "fcvt %dd, %sn"},
    {0xfffffc00, 0x1e23c000, "fcvt %hd, %sn"},
    {0xfffffc00, 0x1e624000, "fcvt %sd, %dn"},
    {0xfffffc00, 0x1e63c000, "fcvt %hd, %dn"},
    {0xfffffc00, 0x1ee24000, "fcvt %sd, %hn"},
    {0xfffffc00, 0x1ee2c000, "fcvt %dd, %hn"},
    {0xfffffc00, 0x1e634000, "bfcvt %hd, %sn"},
    {0xff3ffc00, 0x1e244000, "frintn %fd, %fn"},
    {0xff3ffc00, 0x1e24c000, "frintp %fd, %fn"},
    {0xff3ffc00, 0x1e254000, "frintm %fd, %fn"},
    {0xff3ffc00, 0x1e25c000, "frintz %fd, %fn"},
    {0xff3ffc00, 0x1e264000, "frinta %fd, %fn"},
    {0xff3ffc00, 0x1e274000, "frintx %fd, %fn"},
    {0xff3ffc00, 0x1e27c000, "frinti %fd, %fn"},
    {0xff3ffc00, 0x1e284000, "frint32z %fd, %fn"},
    {0xff3ffc00, 0x1e28c000, "frint32x %fd, %fn"},
    {0xff3ffc00, 0x1e294000, "frint64z %fd, %fn"},
    {0xff3ffc00, 0x1e29c000, "frint64x %fd, %fn"},
    /* comparisons and choices */
    {0xff20fc1f, 0x1e202000, "fcmp %fn, %fm"},
    {0xff20fc1f, 0x1e202008, "fcmp %fn, #0.0"},
    {0xff20fc1f, 0x1e202010, "fcmpe %fn, %fm"},
    {0xff20fc1f, 0x1e202018, "fcmpe %fn, #0.0"},
    {0xff201fe0, 0x1e201000, "fmov %fd, %v"},
    {0xff200c10, 0x1e200400, "fccmp %fn, %fm, %F, %C"},
    {0xff200c10, 0x1e200410, "fccmpe %fn, %fm, %F, %C"},
    {0xff200c00, 0x1e200c00, "fcsel %fd, %fn, %fm, %C"},
    /* of two */
    {0xff20fc00, 0x1e200800, "fmul %fd, %fn, %fm"},
    {0xff20fc00, 0x1e201800, "fdiv %fd, %fn, %fm"},
    {0xff20fc00, 0x1e202800, "fadd %fd, %fn, %fm"},
    {0xff20fc00, 0x1e203800, "fsub %fd, %fn, %fm"},
    {0xff20fc00, 0x1e204800, "fmax %fd, %fn, %fm"},
    {0xff20fc00, 0x1e205800, "fmin %fd, %fn, %fm"},
    {0xff20fc00, 0x1e206800, "fmaxnm %fd, %fn, %fm"},
    {0xff20fc00, 0x1e207800, "fminnm %fd, %fn, %fm"},
    {0xff20fc00, 0x1e208800, "fnmul %fd, %fn, %fm"},
    /* and of three */
    {0xff208000, 0x1f000000, "fmadd %fd, %fn, %fm, %fa"},
    {0xff208000, 0x1f008000, "fmsub %fd, %fn, %fm, %fa"},
    {0xff208000, 0x1f200000, "fnmadd %fd, %fn, %fm, %fa"},
    {0xff208000, 0x1f208000, "fnmsub %fd, %fn, %fm, %fa"},
    {0, 0, NULL},
};

const struct a64_texts a64_float_texts = {aliases, rows};
