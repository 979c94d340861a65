/*
 * Text of A64 instructions equals Capstone's for all instructions that Capstone knows, except
 * vectors of several elements. Notation of numbers and the names listed at each exception differ.
 * Instructions that Capstone 4 does not know have objdump's text or none.
 */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "oracle_a64.h"

#define TESTS                                                                                      \
    TEST(capstone_agrees_on_text)                                                                  \
    TEST(every_name_compared)                                                                      \
    TEST(objdump_agrees_on_text)                                                                   \
    TEST(manual_names_where_capstone_differs)                                                      \
    TEST(text_of_newer_branches_and_hints)                                                         \
    TEST(text_of_atomic_accesses)                                                                  \
    TEST(text_of_memory_tags)                                                                      \
    TEST(text_of_pac_and_newer_conversions)                                                        \
    TEST(text_of_pac_lr_signatures)                                                                \
    TEST(names_of_readable_registers)                                                              \
    TEST(vectors_and_reserved_words_as_numbers)

static const vaddr_t AT = 0x40000000;
static const struct arch *arch;
enum { TEXT_BYTES = 256 };

/* Deterministic: xorshift, Marsaglia 2003. */
static uint32_t next_word(void) {
    static uint32_t state = 2463534242;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

static bool starts(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

static bool is_name(char c) { return isalnum((unsigned char)c) || c == '_' || c == '.'; }

/* Rewrites numbers as unsigned decimals, without spaces behind commas or at the end. */
static void normalise(const char *text, char out[TEXT_BYTES]) {
    size_t n = 0;
    while (*text && n + 24 < TEXT_BYTES) {
        char *end;
        const char *digits = *text == '-' ? text + 1 : text;
        if (isdigit((unsigned char)*digits) && !(n && is_name(out[n - 1]))) {
            n += (size_t)snprintf(out + n, TEXT_BYTES - n, "%llu", strtoull(text, &end, 0));
            text = end;
        } else if (*text == ' ' && n && out[n - 1] == ',') {
            text++;
        } else {
            out[n++] = *text++;
        }
    }
    n -= n && out[n - 1] == ' ';
    out[n] = '\0';
}

/* Four instructions that move a constant share one name, which Capstone 4 does not use. For the
 * comparison they become what all four do. */
static void rewrite_moves(char text[TEXT_BYTES]) {
    static const char *const names[] = {"movz ", "movn ", "orr ", "mov "};
    char reg[8], *number = strchr(text, '#');
    size_t which = 0;
    while (which < 4 && !starts(text, names[which]))
        which++;
    if (which == 4 || !number || sscanf(text + strlen(names[which]), "%7[a-z0-9]", reg) != 1)
        return;
    bool of_zero = strstr(text, ",wzr,#") || strstr(text, ",xzr,#");
    if (which == 2 && !of_zero)
        return;
    const char *shift = strstr(text, "lsl #");
    bool wide = reg[0] == 'x' || strcmp(reg, "sp") == 0;
    uint64_t value = strtoull(number + 1, NULL, 10) << (shift ? atoi(shift + 5) : 0);
    value = which == 1 ? ~value : value;
    (void)snprintf(text, TEXT_BYTES, "move %s,#%" PRIu64, reg, wide ? value : value & UINT32_MAX);
}

/* The instruction works on registers of several elements, or on one element of several. */
static bool is_of_vectors(uint32_t word) {
    bool scalar = (word & 0x5e000000) == 0x1e000000;
    return ((word & 0x0e000000) == 0x0e000000 && !scalar) || (word & 0xbe000000) == 0x0c000000;
}

/* The manual (Arm ARM) has other names for these than Capstone 4, or it has names for registers and
 * operations that spoor writes as numbers. */
static bool is_spelt_otherwise(uint32_t word, const char *formatted, const char *expected) {
    bool for_programs = (word >> 16 & 7) == 3;
    static const char *const operations[] = {"at ", "tlbi ", "dc ", "ic ", "hint "};
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (starts(expected, operations[i]))
            return (starts(formatted, "sys ") && !for_programs) ||
                   (word & 0xfffff01f) == 0xd503201f;
    /* "Always" has no opposite, so this is a csel. */
    bool choice = (word & 0x1fe00000) == 0x1a800000 && (word >> 13 & 7) == 7;
    /* dsb with a number that has a name of its own since Capstone 4 */
    bool newer =
        (word & 0xfffffbff) == 0xd503309f || (starts(formatted, "dc ") && starts(expected, "sys "));
    /* no system register, although Capstone takes it for one */
    bool no_register = (word & 0xffd80000) == 0xd5000000 && strstr(expected, "s3_");
    bool halted = word == 0xd6bf03e0; /* drps, for debuggers' hardware */
    return choice || newer || no_register || halted;
}

/* TEXT has the number of the word's system register: that register has no name. */
static bool is_numbered(uint32_t word, const char *text) {
    char number[32];
    if ((word & 0xffd00000) != 0xd5100000)
        return false;
    (void)snprintf(number, sizeof number, "s%u_%u_c%u_c%u_%u", 2 + (word >> 19 & 1), word >> 16 & 7,
                   word >> 12 & 15, word >> 8 & 15, word >> 5 & 7);
    return strstr(text, number) != NULL;
}

/* All names that are compared: the ones that Capstone 4 knows. */
static const char names[] =
    " adc adcs add adds adr adrp and ands asr b b.al b.eq b.ge b.gt b.hi b.hs b.le b.lo b.ls b.lt"
    " b.mi b.ne b.nv b.pl b.vc b.vs bfi bfxil bic bics bl blr br brk cbnz cbz ccmn ccmp cinc cinv"
    " clrex cls clz cmn cmp cneg crc32b crc32cb crc32ch crc32cw crc32cx crc32h crc32w crc32x csel"
    " cset csetm csinc csinv csneg dc dcps1 dcps2 dcps3 dmb dsb eon eor eret extr fabs fadd fccmp"
    " fccmpe fcmp fcmpe fcsel fcvt fcvtas fcvtau fcvtms fcvtmu fcvtns fcvtnu fcvtps fcvtpu fcvtzs"
    " fcvtzu fdiv fmadd fmax fmaxnm fmin fminnm fmov fmsub fmul fneg fnmadd fnmsub fnmul frinta"
    " frinti frintm frintn frintp frintx frintz fsqrt fsub hlt hvc ic isb ldar ldarb ldarh ldaxp"
    " ldaxr ldaxrb ldaxrh ldnp ldp ldpsw ldr ldrb ldrh ldrsb ldrsh ldrsw ldtr ldtrb ldtrh ldtrsb"
    " ldtrsh ldtrsw ldur ldurb ldurh ldursb ldursh ldursw ldxp ldxr ldxrb ldxrh lsl lsr madd mneg"
    " mov movk movn movz mrs msr msub mul mvn neg negs ngc ngcs nop orn orr prfm prfum rbit ret"
    " rev rev16 rev32 ror sbc sbcs sbfiz sbfx scvtf sdiv sev sevl smaddl smc smnegl smsubl smulh"
    " smull stlr stlrb stlrh stlxp stlxr stlxrb stlxrh stnp stp str strb strh sttr sttrb sttrh"
    " stur sturb sturh stxp stxr stxrb stxrh sub subs svc sxtb sxth sxtw sys sysl tbnz tbz tst"
    " ubfiz ubfx ucvtf udiv umaddl umnegl umsubl umulh umull uxtb uxth wfe wfi yield"
    " ";

/* Names that were compared. */
static struct {
    char name[12];
    size_t count;
} met[400];

static void note(const char *text) {
    char name[sizeof met->name];
    assert_int_equal(sscanf(text, "%11[a-z0-9.]", name), 1);
    size_t i = 0;
    while (met[i].count && strcmp(met[i].name, name) != 0)
        i++;
    assert_true(i + 1 < sizeof met / sizeof *met);
    memcpy(met[i].name, name, sizeof name);
    met[i].count++;
}

/* Loads a register twice, or loads its own base: the result depends on the processor. */
static bool is_unpredictable(uint32_t word) {
    uint32_t first = word & 31, base = word >> 5 & 31, second = word >> 10 & 31;
    if ((word & 0x3a000000) == 0x28000000)
        return first == second || first == base || second == base;
    if ((word & 0x3b200000) == 0x38000000)
        return first == base;
    return (word & 0xbfe00000) == 0x88600000 && first == second;
}

/* A word that is no instruction to Capstone has no text, or the text of a newer instruction.
 * Half-precision arithmetic and msr of flags have old names. */
static void check_unknown(uint32_t word) {
    char text[FORMAT_BYTES], name[sizeof met->name + 2];
    assert_int_equal(arch->format((const uint8_t *)&word, sizeof word, AT, text), 4);
    (void)snprintf(name, sizeof name, " %.*s ", (int)strcspn(text, " "), text);
    bool newer = (word & 0x7ec00000) == 0x1ec00000 || (word & 0xfff8f01f) == 0xd500401f;
    if (strstr(names, name) && !newer && !is_unpredictable(word))
        fail_msg("%08" PRIx32 " is no instruction, to us %s", word, text);
}

/* Returns whether WORD was compared. */
static bool check(uint32_t word) {
    struct oracle_a64 o;
    struct insn in;
    char text[FORMAT_BYTES], formatted[TEXT_BYTES], expected[TEXT_BYTES];
    if (is_of_vectors(word))
        return false;
    if (!oracle_a64_decode(word, AT, &o)) {
        check_unknown(word);
        return false;
    }
    (void)arch->decode((const uint8_t *)&word, sizeof word, AT, &in, NULL);
    assert_int_equal(arch->format((const uint8_t *)&word, sizeof word, AT, text), 4);
    if (in.target) { /* addresses are written without 0x */
        char *last = strrchr(text, ' ');
        (void)snprintf(last + 1, sizeof text - (size_t)(last + 1 - text), "#0x%" PRIx64, in.target);
    }
    normalise(text, formatted);
    normalise(o.text, expected);
    if (is_spelt_otherwise(word, formatted, expected) ||
        is_numbered(word, formatted) != is_numbered(word, expected))
        return false;
    note(formatted);
    rewrite_moves(formatted);
    rewrite_moves(expected);
    if (strcmp(formatted, expected) != 0)
        fail_msg("%08" PRIx32 " is %s, to us %s", word, o.text, text);
    return true;
}

/* Groups of encodings, and their variable bits. Rare instructions also have rows of their own. */
static const struct {
    uint32_t fixed, varies;
    const char *name;
} groups[] = {
    {0x00000000, 0xffffffff, "all"},
    {0x10000000, 0xe3ffffff, "numbers"},
    {0x12000000, 0xe07fffff, "immediates of logic"},
    {0x12800000, 0xe07fffff, "moves"},
    {0x12800000, 0xe060001f, "moves of zero"},
    {0x129fffe0, 0xe060001f, "moves of ones"},
    {0x13000000, 0xe07fffff, "fields of bits"},
    {0x13007c00, 0xe07f03ff, "fields up to bit 31"},
    {0x1300fc00, 0xe07f03ff, "fields up to bit 63"},
    {0x13001c00, 0xe04023ff, "extensions"},
    {0x13407c00, 0xe00003ff, "extensions of words"},
    {0x13800000, 0xe05f7fff, "extraction"},
    {0x110003e0, 0xe000001f, "moves of sp"},
    {0x1100001f, 0xe07fffe0, "moves to sp"},
    {0x0a000000, 0xf1ffffff, "registers"},
    {0x0a0003e0, 0xf0e0001f, "logic of zero"},
    {0x0a00001f, 0xf0ffffe0, "logic to zero"},
    {0x0b0003e0, 0xf0dfffff, "sums of zero"},
    {0x0b00001f, 0xf0dfffe0, "sums to zero"},
    {0x0b200000, 0xf01fffff, "sums with extensions"},
    {0x0b2063ff, 0xf01f1c00, "sums of sp"},
    {0x1a000000, 0xe01f03ff, "sums with carry"},
    {0x1a0003e0, 0xe01f001f, "negation with carry"},
    {0x3a400000, 0xc01ff3ef, "conditional comparisons"},
    {0x1a800000, 0xe01ff7ff, "choices"},
    {0x1a9f03e0, 0xe000f41f, "choices of zero"},
    {0x1a800000, 0xe000f41f, "choices of one register"},
    {0x1ac00000, 0x801f7fff, "two operands"},
    {0x5ac00000, 0x80001fff, "one operand"},
    {0x1b000000, 0x80ffffff, "products"},
    {0x1b007c00, 0x80ff83ff, "products alone"},
    {0x14000000, 0xe3ffffff, "branches"},
    {0xd4000000, 0x00ffffe3, "exceptions"},
    {0xd5000000, 0x003fffff, "the system"},
    {0xd503201f, 0x00000fe0, "hints"},
    {0xd503301f, 0x00000fe0, "barriers"},
    {0xd500401f, 0x00070fe0, "states"},
    {0xd5084000, 0x0027bfff, "operations"},
    {0xd50b7000, 0x00000fff, "operations of programs"},
    {0xd51b4000, 0x002ff7ff, "registers of programs"},
    {0xd61f0000, 0x00e003e0, "indirect branches"},
    {0x08000000, 0xf5ffffff, "memory"},
    {0x08000000, 0xc0ffffff, "exclusive accesses"},
    {0x18000000, 0xc4ffffff, "literals"},
    {0x28000000, 0xc5ffffff, "pairs"},
    {0x38000000, 0xc5ffffff, "loads and stores"},
    {0x38200800, 0xc4dff3ff, "offsets in registers"},
    {0xf8800000, 0x017fffff, "prefetches"},
    {0x1e000000, 0x80ffffff, "floating point"},
    {0x1f000000, 0x00ffffff, "sums of products"},
    {0x1e200000, 0x80df03ff, "conversions"},
    {0x1e000000, 0x80dfffff, "conversions of fractions"},
    {0x1e204000, 0x00dfc3ff, "one operand of floating point"},
    {0x1e202000, 0x00dfc3ff, "comparisons"},
    {0x1e201000, 0x00dfe3ff, "constants"},
    {0x9eae0000, 0x000103ff, "halves of vectors"},
};

static void capstone_agrees_on_text(void **state) {
    (void)state;
    enum { EACH = 20000 };
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        size_t compared = 0;
        for (int k = 0; k < EACH; k++)
            compared += check(groups[i].fixed | (next_word() & groups[i].varies));
        if (!compared)
            fail_msg("none compared of %s", groups[i].name);
    }
}

/* A missing row of the tables fails in the tests above. This test finds rows that no word above
 * reaches. */
static void every_name_compared(void **state) {
    (void)state;
    for (const char *p = names + 1; *p; p = strchr(p, ' ') + 1) {
        char name[sizeof met->name];
        assert_int_equal(sscanf(p, "%11[a-z0-9.]", name), 1);
        size_t i = 0;
        while (met[i].count && strcmp(met[i].name, name) != 0)
            i++;
        if (!met[i].count)
            fail_msg("no %s was compared", name);
    }
}

/* ---- exact texts ---- */

struct drawn {
    uint32_t word;
    const char *text;
};

static void assert_texts(const struct drawn *words, size_t count) {
    for (size_t i = 0; i < count; i++) {
        char text[FORMAT_BYTES];
        assert_int_equal(arch->format((const uint8_t *)&words[i].word, 4, AT, text), 4);
        assert_string_equal(text, words[i].text);
    }
}
#define ASSERT_TEXTS(words) assert_texts(words, sizeof(words) / sizeof *(words))

static void objdump_agrees_on_text(void **state) {
    (void)state;
    static const struct drawn words[] = {{0xa9bf7bfd, "stp x29, x30, [sp, #-16]!"},
                                         {0xa8c17bfd, "ldp x29, x30, [sp], #16"},
                                         {0x910003fd, "mov x29, sp"},
                                         {0xd10083ff, "sub sp, sp, #0x20"},
                                         {0xf9400fe0, "ldr x0, [sp, #24]"},
                                         {0x54000040, "b.eq 40000008"},
                                         {0x54000042, "b.hs 40000008"},
                                         {0x3707ffe0, "tbnz w0, #0, 3ffffffc"},
                                         {0xb4000080, "cbz x0, 40000010"},
                                         {0x14000001, "b 40000004"},
                                         {0x94000001, "bl 40000004"},
                                         {0xd61f0200, "br x16"},
                                         {0xd65f03c0, "ret"},
                                         {0x90000000, "adrp x0, 40000000"},
                                         {0x9c000041, "ldr q1, 40000008"},
                                         {0x98000041, "ldrsw x1, 40000008"},
                                         {0xd4000001, "svc #0x0"},
                                         {0x00000001, "udf #1"},
                                         {0xaa0103e0, "mov x0, x1"},
                                         {0x7100081f, "cmp w0, #0x2"},
                                         {0x92401c20, "and x0, x1, #0xff"},
                                         {0x8b020c20, "add x0, x1, x2, lsl #3"},
                                         {0xcb33c3ff, "sub sp, sp, w19, sxtw"},
                                         {0xd3431c20, "ubfx x0, x1, #3, #5"},
                                         {0xfa411804, "ccmp x0, #0x1, #0x4, ne"},
                                         {0xf8617860, "ldr x0, [x3, x1, lsl #3]"},
                                         {0xb8a1d860, "ldrsw x0, [x3, w1, sxtw #2]"},
                                         {0x1e6e1000, "fmov d0, #1.00000000"}};
    ASSERT_TEXTS(words);
}

static void manual_names_where_capstone_differs(void **state) {
    (void)state;
    static const struct drawn words[] = {{0x52800080, "mov w0, #0x4"},
                                         {0x52a00020, "mov w0, #0x10000"},
                                         {0x12800000, "mov w0, #0xffffffff"},
                                         {0xd2a00000, "movz x0, #0x0, lsl #16"},
                                         {0x129fffe0, "movn w0, #0xffff"},
                                         {0xb24003e0, "orr x0, xzr, #0x1"},
                                         {0xb200f3e0, "mov x0, #0x5555555555555555"},
                                         {0x1a9fe7e0, "csinc w0, wzr, wzr, al"},
                                         {0xda9fe3e0, "csinv x0, xzr, xzr, al"},
                                         {0x1a81f420, "csinc w0, w1, w1, nv"},
                                         {0x54000053, "bc.lo 40000008"},
                                         {0xd503309f, "ssbb"},
                                         {0xd503349f, "pssbb"},
                                         {0xd503403f, "msr ssbs, #0x0"},
                                         {0xd503405f, "msr dit, #0x0"},
                                         {0xd503409f, "msr tco, #0x0"},
                                         {0xd50b7c20, "dc cvap, x0"},
                                         {0xd50b7d20, "dc cvadp, x0"},
                                         {0xd50b7460, "dc gva, x0"},
                                         {0xd50b7480, "dc gzva, x0"},
                                         {0xd53bd0a0, "mrs x0, tpidr2_el0"},
                                         {0xd53b42c0, "mrs x0, ssbs"},
                                         {0xd53be0c0, "mrs x0, cntvctss_el0"},
                                         {0xd53b2400, "mrs x0, rndr"},
                                         {0x1ee22820, "fadd h0, h1, h2"},
                                         {0x1fc20c20, "fmadd h0, h1, h2, h3"}};
    ASSERT_TEXTS(words);
}

/* Instructions unknown to Capstone 4, as objdump 2.40 writes them. */
static void text_of_newer_branches_and_hints(void **state) {
    (void)state;
    static const struct drawn words[] = {{0xd503233f, "paciasp"},
                                         {0xd50323bf, "autiasp"},
                                         {0xd503237f, "pacibsp"},
                                         {0xd50323ff, "autibsp"},
                                         {0xd503231f, "paciaz"},
                                         {0xd503235f, "pacibz"},
                                         {0xd503239f, "autiaz"},
                                         {0xd50323df, "autibz"},
                                         {0xd503211f, "pacia1716"},
                                         {0xd503215f, "pacib1716"},
                                         {0xd503219f, "autia1716"},
                                         {0xd50321df, "autib1716"},
                                         {0xd50320ff, "xpaclri"},
                                         {0xd503241f, "bti"},
                                         {0xd503245f, "bti c"},
                                         {0xd503249f, "bti j"},
                                         {0xd50324df, "bti jc"},
                                         {0xd503221f, "esb"},
                                         {0xd503223f, "psb csync"},
                                         {0xd503225f, "tsb csync"},
                                         {0xd503229f, "csdb"},
                                         {0xd50324ff, "pacm"},
                                         {0xd50330ff, "sb"},
                                         {0xd500401f, "cfinv"},
                                         {0xd500403f, "xaflag"},
                                         {0xd500405f, "axflag"},
                                         {0xd65f0bff, "retaa"},
                                         {0xd65f0fff, "retab"},
                                         {0xd61f0a1f, "braaz x16"},
                                         {0xd61f0e1f, "brabz x16"},
                                         {0xd63f0a1f, "blraaz x16"},
                                         {0xd63f0e1f, "blrabz x16"},
                                         {0xd71f0a11, "braa x16, x17"},
                                         {0xd71f0e11, "brab x16, x17"},
                                         {0xd73f0a11, "blraa x16, x17"},
                                         {0xd73f0e11, "blrab x16, x17"}};
    ASSERT_TEXTS(words);
}

static void text_of_atomic_accesses(void **state) {
    (void)state;
    static const struct drawn words[] = {{0xb8210062, "ldadd w1, w2, [x3]"},
                                         {0xb8211062, "ldclr w1, w2, [x3]"},
                                         {0xb8212062, "ldeor w1, w2, [x3]"},
                                         {0xb8213062, "ldset w1, w2, [x3]"},
                                         {0xb8214062, "ldsmax w1, w2, [x3]"},
                                         {0xb8215062, "ldsmin w1, w2, [x3]"},
                                         {0xb8216062, "ldumax w1, w2, [x3]"},
                                         {0xb8217062, "ldumin w1, w2, [x3]"},
                                         {0xb8218062, "swp w1, w2, [x3]"},
                                         {0x38a10062, "ldaddab w1, w2, [x3]"},
                                         {0x78610062, "ldaddlh w1, w2, [x3]"},
                                         {0xf8e10062, "ldaddal x1, x2, [x3]"},
                                         {0x3821005f, "staddb w1, [x2]"},
                                         {0x7861105f, "stclrlh w1, [x2]"},
                                         {0xb821205f, "steor w1, [x2]"},
                                         {0xf821305f, "stset x1, [x2]"},
                                         {0xb861405f, "stsmaxl w1, [x2]"},
                                         {0xb821505f, "stsmin w1, [x2]"},
                                         {0xb821605f, "stumax w1, [x2]"},
                                         {0xb821705f, "stumin w1, [x2]"},
                                         {0x88a27c41, "cas w2, w1, [x2]"},
                                         {0x08e27c41, "casab w2, w1, [x2]"},
                                         {0x48a2fc41, "caslh w2, w1, [x2]"},
                                         {0xc8e2fc41, "casal x2, x1, [x2]"},
                                         {0x08207c82, "casp w0, w1, w2, w3, [x4]"},
                                         {0x4860fc82, "caspal x0, x1, x2, x3, [x4]"},
                                         {0x88807c20, "stllr w0, [x1]"},
                                         {0x08c07c20, "ldlarb w0, [x1]"},
                                         {0xb8bfc020, "ldapr w0, [x1]"},
                                         {0x38bfc020, "ldaprb w0, [x1]"},
                                         {0x19001020, "stlurb w0, [x1, #1]"},
                                         {0x59401020, "ldapurh w0, [x1, #1]"},
                                         {0xd9401020, "ldapur x0, [x1, #1]"},
                                         {0x99801020, "ldapursw x0, [x1, #1]"},
                                         {0x19c01020, "ldapursb w0, [x1, #1]"},
                                         {0xf8201420, "ldraa x0, [x1, #8]"},
                                         {0xf8e01c20, "ldrab x0, [x1, #-4088]!"}};
    ASSERT_TEXTS(words);
}

static void text_of_memory_tags(void **state) {
    (void)state;
    static const struct drawn words[] = {{0x91810420, "addg x0, x1, #0x10, #1"},
                                         {0xd1810420, "subg x0, x1, #0x10, #1"},
                                         {0x9ac20020, "subp x0, x1, x2"},
                                         {0xbac20020, "subps x0, x1, x2"},
                                         {0xbac2003f, "cmpp x1, x2"},
                                         {0x9adf1020, "irg x0, x1"},
                                         {0x9ac21020, "irg x0, x1, x2"},
                                         {0x9ac21420, "gmi x0, x1, x2"},
                                         {0xd9601020, "ldg x0, [x1, #16]"},
                                         {0xd9201820, "stg x0, [x1, #16]"},
                                         {0xd9201420, "stg x0, [x1], #16"},
                                         {0xd9601c20, "stzg x0, [x1, #16]!"},
                                         {0xd9a01820, "st2g x0, [x1, #16]"},
                                         {0xd9e01820, "stz2g x0, [x1, #16]"},
                                         {0xd9200020, "stzgm x0, [x1]"},
                                         {0xd9a00020, "stgm x0, [x1]"},
                                         {0xd9e00020, "ldgm x0, [x1]"},
                                         {0x69010440, "stgp x0, x1, [x2, #32]"},
                                         {0xba018441, "rmif x2, #3, #0x1"},
                                         {0x3a00082d, "setf8 w1"},
                                         {0x3a00482d, "setf16 w1"}};
    ASSERT_TEXTS(words);
}

static void text_of_pac_and_newer_conversions(void **state) {
    (void)state;
    static const struct drawn words[] = {
        {0x9ac23020, "pacga x0, x1, x2"}, {0xdac10020, "pacia x0, x1"},
        {0xdac10420, "pacib x0, x1"},     {0xdac10820, "pacda x0, x1"},
        {0xdac10c20, "pacdb x0, x1"},     {0xdac11020, "autia x0, x1"},
        {0xdac11420, "autib x0, x1"},     {0xdac11820, "autda x0, x1"},
        {0xdac11c20, "autdb x0, x1"},     {0xdac123e0, "paciza x0"},
        {0xdac127e0, "pacizb x0"},        {0xdac12be0, "pacdza x0"},
        {0xdac12fe0, "pacdzb x0"},        {0xdac133e0, "autiza x0"},
        {0xdac137e0, "autizb x0"},        {0xdac13be0, "autdza x0"},
        {0xdac13fe0, "autdzb x0"},        {0xdac143e0, "xpaci x0"},
        {0xdac147e0, "xpacd x0"},         {0x1e7e0020, "fjcvtzs w0, d1"},
        {0x1e634020, "bfcvt h0, s1"},     {0x1e684020, "frint32z d0, d1"},
        {0x1e28c020, "frint32x s0, s1"},  {0x1e694020, "frint64z d0, d1"},
        {0x1e29c020, "frint64x s0, s1"},  {0x1ee60020, "fmov w0, h1"},
        {0x9ee70020, "fmov h0, x1"}};
    ASSERT_TEXTS(words);
}

/* FEAT_PAuth_LR, known to binutils since 2.42. */
static void text_of_pac_lr_signatures(void **state) {
    (void)state;
    static const struct drawn words[] = {{0xdac1a3fe, "paciasppc"},
                                         {0xdac1a7fe, "pacibsppc"},
                                         {0xdac183fe, "pacnbiasppc"},
                                         {0xdac187fe, "pacnbibsppc"},
                                         {0xdac1905e, "autiasppcr x2"},
                                         {0xdac1961e, "autibsppcr x16"},
                                         {0xf380001f, "autiasppc 40000000"},
                                         {0xf3a0021f, "autibsppc 3fffffc0"},
                                         {0x5500001f, "retaasppc 40000000"},
                                         {0x552fffff, "retabsppc 3ffe0004"},
                                         {0xd65f0bf0, "retaasppcr x16"},
                                         {0xd65f0fe2, "retabsppcr x2"},
                                         {0xd65f0bff, "retaa"},
                                         {0xd50324ff, "pacm"}};
    ASSERT_TEXTS(words);
}

static void names_of_readable_registers(void **state) {
    (void)state;
    static const struct drawn words[] = {{0xd53b4200, "mrs x0, nzcv"},
                                         {0xd53b4220, "mrs x0, daif"},
                                         {0xd53b4400, "mrs x0, fpcr"},
                                         {0xd53b4420, "mrs x0, fpsr"},
                                         {0xd53b42a0, "mrs x0, dit"},
                                         {0xd53b42c0, "mrs x0, ssbs"},
                                         {0xd53b42e0, "mrs x0, tco"},
                                         {0xd53bd040, "mrs x0, tpidr_el0"},
                                         {0xd53bd060, "mrs x0, tpidrro_el0"},
                                         {0xd53bd0a0, "mrs x0, tpidr2_el0"},
                                         {0xd53be000, "mrs x0, cntfrq_el0"},
                                         {0xd53be020, "mrs x0, cntpct_el0"},
                                         {0xd53be040, "mrs x0, cntvct_el0"},
                                         {0xd53be0a0, "mrs x0, cntpctss_el0"},
                                         {0xd53be0c0, "mrs x0, cntvctss_el0"},
                                         {0xd53b0020, "mrs x0, ctr_el0"},
                                         {0xd53b00e0, "mrs x0, dczid_el0"},
                                         {0xd53b2400, "mrs x0, rndr"},
                                         {0xd53b2420, "mrs x0, rndrrs"},
                                         {0xd53b9d00, "mrs x0, pmccntr_el0"},
                                         {0xd5380000, "mrs x0, midr_el1"},
                                         {0xd53800a0, "mrs x0, mpidr_el1"},
                                         {0xd53800c0, "mrs x0, revidr_el1"},
                                         {0xd5380400, "mrs x0, id_aa64pfr0_el1"},
                                         {0xd5380420, "mrs x0, id_aa64pfr1_el1"},
                                         {0xd5380480, "mrs x0, id_aa64zfr0_el1"},
                                         {0xd5380500, "mrs x0, id_aa64dfr0_el1"},
                                         {0xd5380600, "mrs x0, id_aa64isar0_el1"},
                                         {0xd5380620, "mrs x0, id_aa64isar1_el1"},
                                         {0xd5380640, "mrs x0, id_aa64isar2_el1"},
                                         {0xd5380700, "mrs x0, id_aa64mmfr0_el1"},
                                         {0xd5380720, "mrs x0, id_aa64mmfr1_el1"},
                                         {0xd5380740, "mrs x0, id_aa64mmfr2_el1"}};
    ASSERT_TEXTS(words);
}

static void vectors_and_reserved_words_as_numbers(void **state) {
    (void)state;
    static const struct drawn words[] = {
        {0x4f03f600, ".inst 0x4f03f600"}, {0x12007fff, ".inst 0x12007fff"},
        {0x8bc20020, ".inst 0x8bc20020"}, {0x0b028020, ".inst 0x0b028020"},
        {0x8b221420, ".inst 0x8b221420"}, {0x53400000, ".inst 0x53400000"},
        {0x13808000, ".inst 0x13808000"}, {0x7d800020, ".inst 0x7d800020"},
        {0x68000440, ".inst 0x68000440"}, {0xec000440, ".inst 0xec000440"},
        {0xf8800400, ".inst 0xf8800400"}, {0xf9c00020, ".inst 0xf9c00020"},
        {0x38202820, ".inst 0x38202820"}, {0x08217c82, ".inst 0x08217c82"},
        {0x9e2a0000, ".inst 0x9e2a0000"}, {0x1e020020, ".inst 0x1e020020"},
        {0x1ea22820, ".inst 0x1ea22820"}, {0xd9800020, ".inst 0xd9800020"},
        {0xf8800820, ".inst 0xf8800820"}, {0x3c000820, ".inst 0x3c000820"},
        {0xd9201020, ".inst 0xd9201020"}, {0x1ee84020, ".inst 0x1ee84020"}};
    ASSERT_TEXTS(words);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    arch = arch_for_machine(EM_AARCH64);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
