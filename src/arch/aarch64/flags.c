/* Which of N, Z, C and V an A64 instruction tests, and writes in any case (Arm ARM, C6.2). */
#include "arch/aarch64/aarch64.h"

enum { CONDITIONS = 16, ALWAYS = 14 };

static uint32_t tested_by(uint32_t condition) {
    static const uint8_t by_pair[] = {
        A64_Z, A64_C, A64_N, A64_V, A64_C | A64_Z, A64_N | A64_V, A64_N | A64_V | A64_Z, 0};
    return by_pair[condition >> 1];
}

static const struct row {
    uint32_t mask, value;
    uint8_t condition_at; /* bit number; 0: none */
    uint8_t tested, written;
} rows[] = {
    {0xff000000, 0x54000000, 32, 0, 0},        /* b.cond, bc.cond: bit 0 */
    {0x3f800000, 0x31000000, 0, 0, A64_FLAGS}, /* adds, subs */
    {0x3f200000, 0x2b000000, 0, 0, A64_FLAGS},
    {0x3fe00000, 0x2b200000, 0, 0, A64_FLAGS},
    {0x7f800000, 0x72000000, 0, 0, A64_FLAGS},             /* ands */
    {0x7f000000, 0x6a000000, 0, 0, A64_FLAGS},             /* ands, bics */
    {0x3fe0fc00, 0x3a000000, 0, A64_C, A64_FLAGS},         /* adcs, sbcs */
    {0x3fe0fc00, 0x1a000000, 0, A64_C, 0},                 /* adc, sbc */
    {0x3fe00010, 0x3a400000, 12, 0, A64_FLAGS},            /* ccmp, ccmn */
    {0x3fe00000, 0x1a800000, 12, 0, 0},                    /* csel and its kin */
    {0xffe07c10, 0xba000400, 0, 0, 0},                     /* rmif writes only some flags */
    {0xffffbc1f, 0x3a00080d, 0, 0, A64_N | A64_Z | A64_V}, /* setf8, setf16 */
    {0xff20fc07, 0x1e202000, 0, 0, A64_FLAGS},             /* fcmp, fcmpe */
    {0xff200c00, 0x1e200400, 12, 0, A64_FLAGS},            /* fccmp, fccmpe */
    {0xff200c00, 0x1e200c00, 12, 0, 0},                    /* fcsel */
    {0xffffffe0, 0xd51b4200, 0, 0, A64_FLAGS},             /* msr nzcv */
    {0xffffffe0, 0xd53b4200, 0, A64_FLAGS, 0},             /* mrs nzcv */
    {0xfffff0ff, 0xd500401f, 0, A64_C, A64_C},             /* cfinv */
    {0xfffff0ff, 0xd500403f, 0, A64_FLAGS, A64_FLAGS},     /* xaflag */
    {0xfffff0ff, 0xd500405f, 0, A64_FLAGS, A64_FLAGS},     /* axflag */
    {0xfffffc00, 0x9ac00000, 0, 0, 0},                     /* (subp has no flags) */
    {0xffe0fc00, 0xbac00000, 0, 0, A64_FLAGS},             /* subps */
};

struct flags_use a64_flags(const uint8_t *bytes, size_t size) {
    if (size < A64_BYTES)
        return (struct flags_use){.tested = A64_FLAGS};
    uint32_t word = a64_word(bytes);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if ((word & rows[i].mask) != rows[i].value)
            continue;
        unsigned at = rows[i].condition_at;
        uint32_t tested = at ? tested_by(a64_bits(word, at % 32, 4)) : rows[i].tested;
        return (struct flags_use){tested, rows[i].written};
    }
    return (struct flags_use){0};
}
