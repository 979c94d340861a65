/*
 * The A32 decoder agrees with Capstone on words of all groups and conditions: branches and their
 * targets, reads of the pc, flags tested and written, registers written.
 */
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

#include "arch/arm/arm.h"
#include "oracle_a32.h"

#define TESTS                                                                                      \
    TEST(capstone_agrees_on_all_groups)                                                            \
    TEST(capstone_agrees_on_words_with_pc)                                                         \
    TEST(capstone_agrees_on_rare_forms)                                                            \
    TEST(cut_or_misaligned_bytes)                                                                  \
    TEST(return_forms)                                                                             \
    TEST(conditional_switch_falls_through)                                                         \
    TEST(conditional_calls)                                                                        \
    TEST(unmovable_pc_accesses)                                                                    \
    TEST(privileged_instructions)                                                                  \
    TEST(traps_and_padding)                                                                        \
    TEST(xray_sled_size)                                                                           \
    TEST(flags_written_for_certain)                                                                \
    TEST(capstone_agrees_on_text)                                                                  \
    TEST(text_of_instructions)

static const vaddr_t AT = 0x40000000;
static const struct arch *const arch = &arch_a32;

/* Deterministic: xorshift, Marsaglia 2003. */
static uint32_t next_word(void) {
    static uint32_t state = 2463534242;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

static void differ(uint32_t word, const struct oracle_a32 *o, const char *what) {
    fail_msg("%08" PRIx32 " %s: %s", word, o->text, what);
}

static bool decode(uint32_t word, struct insn *ret) {
    return arch->decode((const uint8_t *)&word, sizeof word, AT, ret, NULL);
}

static bool leaves(const struct insn *in) {
    return in->kind == INSN_JUMP || in->kind == INSN_JUMP_INDIRECT || in->kind == INSN_BRANCH ||
           in->kind == INSN_RETURN;
}

static void check_flow(uint32_t word, const struct insn *in, const struct oracle_a32 *o) {
    bool call = in->kind == INSN_CALL || in->kind == INSN_CALL_INDIRECT;
    if (call != o->call || leaves(in) != o->leaves)
        differ(word, o, "another kind of flow");
    if (call && in->goes_on != o->conditional)
        differ(word, o, "a call with a condition, or without");
    if (leaves(in) && (in->kind == INSN_BRANCH || in->goes_on) != o->conditional)
        differ(word, o, "an exit with a condition, or without");
    if (o->direct && (in->target != o->target || in->turns != o->turns))
        differ(word, o, "another target");
    if ((in->kind == INSN_SYSCALL) != o->svc)
        differ(word, o, "a system call, or none");
    if ((in->kind == INSN_EXCLUSIVE) != o->exclusive)
        differ(word, o, "an exclusive access, or none");
    if (o->exclusive && (in->exclusive == EXCLUSIVE_BEGINS) != o->load)
        differ(word, o, "an exclusive load, or none");
}

/* An instruction that reads the pc is rewritten or stays; others are copied. */
static void check_pc(uint32_t word, const struct insn *in, const struct oracle_a32 *o) {
    struct relocated r = {0};
    if (in->kind == INSN_CALL || o->direct || in->kind == INSN_CALL_INDIRECT)
        return;
    bool copied = !in->stays && !arch->relocate(in, (const uint8_t *)&word, AT + 0x1000, &r) &&
                  r.size == sizeof word && !memcmp(r.bytes, &word, sizeof word);
    if (copied == o->reads_pc)
        differ(word, o, o->reads_pc ? "reads the pc" : "does not read the pc");
    if (!in->stays && (r.size > arch->relocated_bytes(in) || r.part_count > RELOCATED_MAX_PARTS))
        differ(word, o, "grows too much");
}

static uint32_t written_registers(uint32_t word) {
    struct stack_effect effects[STACK_MAX_EFFECTS];
    size_t count = arch->stack((const uint8_t *)&word, sizeof word, effects);
    uint32_t written = 0;
    assert_in_range(count, 1, STACK_MAX_EFFECTS);
    for (size_t i = 0; i < count; i++) {
        uint8_t op = effects[i].op;
        written |= effects[i].changed;
        if (op == STACK_SET || op == STACK_ALIGN || op == STACK_LOAD)
            written |= UINT32_C(1) << effects[i].reg;
    }
    return written;
}

static void check_registers(uint32_t word, const struct oracle_a32 *o) {
    if (!o->call && o->written & ~written_registers(word))
        differ(word, o, "writes a register that it is not known to write");
}

static void check_flags(uint32_t word, const struct insn *in, const struct oracle_a32 *o) {
    if (in->writes_flags != o->writes_flags)
        differ(word, o, "writes flags, or not");
    if (in->reads_flags != o->reads_flags)
        differ(word, o, "tests flags, or not");
}

struct tally {
    size_t known, fixed;
};

static void check(uint32_t word, struct tally *tally) {
    struct oracle_a32 o;
    struct insn in;
    bool known = oracle_a32_decode(word, AT, &o), good = decode(word, &in);
    if (!known)
        return;
    tally->known++;
    if (!good)
        differ(word, &o, "is no instruction to us");
    if (in.kind == INSN_FIXED) {
        tally->fixed++;
        return;
    }
    check_flow(word, &in, &o);
    check_pc(word, &in, &o);
    check_registers(word, &o);
    check_flags(word, &in, &o);
}

static void capstone_agrees_on_all_groups(void **state) {
    (void)state;
    enum { WORDS = 250000 };
    struct tally tally = {0};
    for (int i = 0; i < WORDS; i++)
        check(next_word(), &tally);
    assert_in_range(tally.known, WORDS / 2, WORDS);
    assert_in_range(tally.fixed, 0, WORDS / 4);
}

/* Each register field is the pc once, and each condition occurs. */
static void capstone_agrees_on_words_with_pc(void **state) {
    (void)state;
    enum { EACH = 100 };
    struct tally tally = {0};
    for (uint32_t group = 0; group < 4096; group++) {
        for (int k = 0; k < EACH; k++) {
            static const uint32_t fields[] = {0x000f0000, 0x0000f000, 0x00000f00, 0x0000000f, 0};
            uint32_t noise = next_word();
            check(group << 20 | (noise & 0xfffff) | fields[noise >> 20 & 3] |
                      fields[(noise >> 22) % 5],
                  &tally);
        }
    }
    assert_true(tally.known > 4096 * EACH / 4);
}

/* Varying the bits around their fixed ones makes rare instructions. */
static void capstone_agrees_on_rare_forms(void **state) {
    (void)state;
    static const uint32_t forms[] = {
        0xe12fff1e, 0xe12fff3c, 0xe1a0f00e, 0xe8bd8010, 0xe89da800, 0xe49df004, 0xe79ff103,
        0xe08ff103, 0xe51ff004, 0xe59f3008, 0xe28f3008, 0xe24f3008, 0xe08f3003, 0xe1a0e00f,
        0xe92dd800, 0xe1923f9f, 0xe1823f94, 0xe1b23f9f, 0xe1a23f94, 0xe0810392, 0xe0410392,
        0xe16f0f11, 0xe1000052, 0xe1200083, 0xe1020041, 0xe10f3000, 0xe128f003, 0xe328f20f,
        0xe320f000, 0xe1200070, 0xe7f000f0, 0xe6bf0f31, 0xe6ef0071, 0xe7e00051, 0xe7c0009f,
        0xe710f112, 0xe7000012, 0xe7800012, 0xe6a00011, 0xe6800011, 0xe6110f12, 0xf57ff05f,
        0xf5d1f000, 0xf421070d, 0xf2010802, 0xfa000001, 0xfe400a01, 0xec410b10, 0xed9f0b02,
        0xed2d8b10, 0xecbd8b10, 0xeeb40a60, 0xeef1fa10, 0xee1d3f70, 0xee073fba, 0xe1c120d8,
        0xe1cf20d8, 0xe1d120b8, 0xe1df20b8, 0xe13120b8, 0xe0d120f8, 0xef000000, 0x01a00000,
    };
    enum { EACH = 3000 };
    struct tally tally = {0};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        for (int k = 0; k < EACH; k++) {
            uint32_t noise = next_word();
            check(forms[i] ^ (noise & 0xf00f0000), &tally);
            check(forms[i] ^ (noise & 0xf00), &tally);
            check(forms[i] ^ (noise & next_word() & next_word()), &tally);
        }
    }
    assert_true(tally.fixed < tally.known / 3);
}

static void cut_or_misaligned_bytes(void **state) {
    (void)state;
    static const uint8_t ret[] = {0x1e, 0xff, 0x2f, 0xe1};
    struct insn in;
    for (size_t room = 1; room < sizeof ret; room++) {
        assert_false(arch->decode(ret, room, AT, &in, NULL));
        assert_int_equal(in.kind, INSN_BAD);
        assert_int_equal(in.size, room);
    }
    for (vaddr_t off = 1; off < 4; off++) {
        assert_false(arch->decode(ret, sizeof ret, AT + off, &in, NULL));
        assert_int_equal(in.size, 4 - off); /* up to the next aligned word */
    }
    assert_true(arch->is_return(ret, sizeof ret));
    assert_false(arch->is_return(ret, 3));
    assert_int_equal(arch->landing(ret, sizeof ret), 0);
}

struct known {
    uint32_t word;
    uint8_t kind;
    bool goes_on, stays;
};

static void check_known(const struct known *k, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct insn in;
        assert_true(decode(k[i].word, &in));
        bool same = in.kind == k[i].kind && in.goes_on == k[i].goes_on && in.stays == k[i].stays;
        if (!same)
            fail_msg("%08" PRIx32 " is of kind %u%s%s", k[i].word, in.kind,
                     in.goes_on ? ", goes on" : "", in.stays ? ", stays" : "");
    }
}
#define CHECK_KNOWN(...)                                                                           \
    check_known((const struct known[]){__VA_ARGS__},                                               \
                sizeof((const struct known[]){__VA_ARGS__}) / sizeof(struct known))

static void return_forms(void **state) {
    (void)state;
    CHECK_KNOWN({0xe12fff1e, INSN_RETURN, false, false},        /* bx lr */
                {0xe1a0f00e, INSN_RETURN, false, false},        /* mov pc, lr */
                {0xe28ef000, INSN_RETURN, false, false},        /* add pc, lr, #0 */
                {0xe8bd8010, INSN_RETURN, false, false},        /* pop {r4, pc} */
                {0xe49df004, INSN_RETURN, false, false},        /* ldr pc, [sp], #4 */
                {0xe49df008, INSN_RETURN, false, false},        /* ldr pc, [sp], #8 */
                {0xe41df004, INSN_JUMP_INDIRECT, false, false}, /* … #-4 */
                {0xe89da800, INSN_RETURN, false, false},        /* ldm sp, {fp, sp, pc} */
                {0xe91ba800, INSN_RETURN, false, false},        /* ldmdb fp, {fp, sp, pc} */
                {0xe8908010, INSN_JUMP_INDIRECT, false, false} /* ldm r0, {r4, pc} */);
    CHECK_KNOWN({0x112fff1e, INSN_BRANCH, false, false}, /* the same on conditions */
                {0x01a0f00e, INSN_BRANCH, false, false}, {0x028ef000, INSN_BRANCH, false, false},
                {0x08bd8010, INSN_BRANCH, false, false}, {0x149df004, INSN_BRANCH, false, false},
                {0xc91ba800, INSN_BRANCH, false, false},
                {0x112fff13, INSN_BRANCH, false, false}, /* bxne r3 */
                {0x01a0f003, INSN_BRANCH, false, false} /* moveq pc, r3 */);
}

static void conditional_switch_falls_through(void **state) {
    (void)state;
    CHECK_KNOWN({0x979ff103, INSN_JUMP_INDIRECT, true, true}, /* ldrls pc, [pc, r3, lsl #2] */
                {0x908ff103, INSN_JUMP_INDIRECT, true, true}, /* addls pc, pc, r3, lsl #2 */
                {0xe08ff103, INSN_JUMP_INDIRECT, false, true},
                {0xe79ff103, INSN_JUMP_INDIRECT, false, true},
                {0xe080f001, INSN_JUMP_INDIRECT, false, false}, /* add pc, r0, r1 */
                {0xe791f100, INSN_JUMP_INDIRECT, false, false}, /* ldr pc, [r1, r0, lsl #2] */
                {0x9791f100, INSN_JUMP_INDIRECT, true, false},
                {0xe51ff004, INSN_JUMP_INDIRECT, false, false}, /* ldr pc, [pc, #-4] */
                {0xe5bcf008, INSN_JUMP_INDIRECT, false, false} /* ldr pc, [ip, #8]! */);
}

static void conditional_calls(void **state) {
    (void)state;
    CHECK_KNOWN({0xeb000001, INSN_CALL, false, false}, {0x1b000001, INSN_CALL, true, false},
                {0xfa000001, INSN_CALL, false, false}, /* blx, to T32 */
                {0xe12fff33, INSN_CALL_INDIRECT, false, false},
                {0x112fff33, INSN_CALL_INDIRECT, true, false},
                {0xe28ff004, INSN_JUMP, false, false}, /* add pc, pc, #4 */
                {0x028ff004, INSN_BRANCH, false, false}, {0xe28ff002, INSN_FIXED, false, false});
}

static void unmovable_pc_accesses(void **state) {
    (void)state;
    CHECK_KNOWN({0xe92dd800, INSN_OTHER, false, true}, /* push {fp, ip, lr, pc} */
                {0xe58df004, INSN_OTHER, false, true}, /* str pc, [sp, #4] */
                {0xe08f3003, INSN_OTHER, false, true}, /* add r3, pc, r3 */
                {0xe08f3002, INSN_OTHER, false, false}, {0xe08fd002, INSN_OTHER, false, true},
                {0xe79f3003, INSN_OTHER, false, true}, /* ldr r3, [pc, r3] */
                {0xe79f3002, INSN_OTHER, false, false}, {0xe58f3008, INSN_OTHER, false, true},
                {0xe59fd008, INSN_OTHER, false, true}, /* ldr sp, literal */
                {0xe15f0003, INSN_OTHER, false, true} /* cmp pc, r3 */);
}

static void privileged_instructions(void **state) {
    (void)state;
    static const struct {
        uint32_t word;
        bool barred;
    } words[] = {{0xe1b0f00e, true} /* movs pc, lr */,
                 {0xe25ef004, true} /* subs pc, lr, #4 */,
                 {0xe8fd8010, true} /* ldm sp!, {r4, pc}^ */,
                 {0xf10c0080, true} /* cpsid i */,
                 {0xe1600070, true} /* smc */,
                 {0xe14f3000, true} /* mrs r3, spsr */,
                 {0xee111f10, true} /* mrc p15, 0, r1, c1, c0, 0 */,
                 {0xe121f003, true} /* msr cpsr_c, r3 */,
                 {0xe128f003, false} /* msr cpsr_f, r3 */,
                 {0xee1d3f70, false} /* the thread pointer */,
                 {0xee073fba, false} /* a barrier of Armv6 */,
                 {0xe1a0f00e, false},
                 {0xe28ef000, false},
                 {0xe8bd8010, false},
                 {0xef000000, false}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (arch->is_barred((const uint8_t *)&words[i].word, 4) != words[i].barred)
            fail_msg("%08" PRIx32, words[i].word);
}

static void traps_and_padding(void **state) {
    (void)state;
    uint32_t trap;
    memcpy(&trap, arch->trap, sizeof trap);
    CHECK_KNOWN({0xe7f000f0, INSN_TRAP, false, false},  /* __builtin_trap() of GCC … */
                {0xe7ffdefe, INSN_TRAP, false, false},  /* … and of Clang */
                {0xe7f001f0, INSN_BREAK, false, false}, /* gdb's */
                {0xe7f001f9, INSN_BREAK, false, false}, /* the kernel's probes */
                {0xe1200070, INSN_BREAK, false, false}, {0xd4d4d4d4, INSN_BREAK, false, false},
                {0xe320f000, INSN_NOP, false, false}, {0xe1a00000, INSN_NOP, false, false},
                {0xe1a01001, INSN_OTHER, false, false});
    struct insn in;
    assert_true(decode(trap, &in));
    assert_int_equal(in.kind, INSN_BREAK);
}

static void xray_sled_size(void **state) {
    (void)state;
    uint32_t sled[8] = {0xea000005, 0xe320f000, 0xe320f000, 0xe320f000,
                        0xe320f000, 0xe320f000, 0xe320f000, 0xe12fff1e};
    const uint8_t *bytes = (const uint8_t *)sled;
    assert_int_equal(arch->sled(bytes, sizeof sled, SLED_ENTRY), 28);
    assert_int_equal(arch->sled(bytes, 27, SLED_ENTRY), 0);
    assert_int_equal(arch->sled(bytes, sizeof sled, SLED_EVENT), 0);
    sled[6] = 0xe1a00000;
    assert_int_equal(arch->sled(bytes, sizeof sled, SLED_EXIT), 28);
    sled[3] = 0xe12fff1e;
    assert_int_equal(arch->sled(bytes, sizeof sled, SLED_EXIT), 0);
}

static void flags_written_for_certain(void **state) {
    (void)state;
    enum { V = ARM_V, C = ARM_C, Z = ARM_Z, N = ARM_N, ALL = ARM_FLAGS };
    static const struct {
        uint32_t word, tested, written;
    } words[] = {
        {0xe3530001, 0, ALL} /* cmp r3, #1 */,
        {0x03530001, Z, 0} /* cmpeq */,
        {0xe0910002, 0, ALL} /* adds */,
        {0xe0b10002, C, ALL} /* adcs */,
        {0xe0a10002, C, 0} /* adc */,
        {0xe1b00001, 0, N | Z} /* movs r0, r1: C stays */,
        {0xe1b00081, 0, N | Z | C} /* lsls r0, r1, #1 */,
        {0xe1b00211, 0, N | Z} /* lsls r0, r1, r2: by 0, perhaps */,
        {0xe1b00061, C, N | Z | C} /* rrxs */,
        {0xe3b00001, 0, N | Z} /* movs r0, #1 */,
        {0xe3b00102, 0, N | Z | C} /* movs r0, #0x80000000 */,
        {0xe0100291, 0, N | Z} /* muls */,
        {0xe10f0000, ALL, 0} /* mrs */,
        {0xe128f000, 0, ALL} /* msr */,
        {0xeef1fa10, 0, ALL} /* vmrs apsr_nzcv, fpscr */,
        {0xe7910062, C, 0} /* ldr r0, [r1, r2, rrx] */,
        {0xda000000, Z | N | V, 0} /* ble */,
        {0x8a000000, C | Z, 0} /* bhi */,
        {0xea000000, 0, 0},
        {0xe92d4010, 0, 0},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct flags_use use = arch->flags((const uint8_t *)&words[i].word, 4);
        if (use.tested != words[i].tested || use.written != words[i].written)
            fail_msg("%08" PRIx32 " tests %x, writes %x", words[i].word, use.tested, use.written);
    }
    assert_int_equal(arch->all_flags, 0); /* stubs change none */
    assert_int_equal(arch->flags((const uint8_t *)&words[0].word, 3).tested, ALL);
}

/* ---- text ---- */

/* Turns Capstone's names of registers, numbers and places into those of spoor. */
static void normalise(const char *text, char *out, size_t room) {
    size_t n = 0;
    while (*text && n + 24 < room) {
        char *end;
        bool word = n && (isalnum((unsigned char)out[n - 1]) || out[n - 1] == '_');
        if (!word && isdigit((unsigned char)*text)) {
            n += (size_t)snprintf(out + n, room - n, "%lu", strtoul(text, &end, 0) & UINT32_MAX);
            text = end;
        } else if (!word && (strncmp(text, "sb", 2) == 0 || strncmp(text, "sl", 2) == 0) &&
                   !isalnum((unsigned char)text[2])) {
            n += (size_t)snprintf(out + n, room - n, "r%s", text[1] == 'b' ? "9" : "10");
            text += 2;
        } else if (*text == ' ' && n && out[n - 1] == ',') {
            text++;
        } else {
            out[n++] = *text++;
        }
    }
    out[n] = '\0';
}

/* Also true of a bit field that would end before it begins. */
static bool is_spelt_otherwise(uint32_t word, const char *text, const struct insn *in) {
    static const char *const others[] = {"vmov", "vcmp", "vpush", "vpop", "vldm",
                                         "vstm", "mrs",  "vmrs",  "nop"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strncmp(text, others[i], strlen(others[i])) == 0)
            return true;
    bool field = (word & 0x0fe00070) == 0x07c00010 && (word >> 16 & 31) < (word >> 7 & 31);
    return field || in->operand == OPERAND_PC_MEMORY || strncmp(text, ".word", 5) == 0;
}

static bool check_text(uint32_t word) {
    struct oracle_a32 o;
    struct insn in;
    char text[FORMAT_BYTES], formatted[256], expected[256];
    if (!oracle_a32_decode(word, AT, &o) || !decode(word, &in) || in.kind == INSN_FIXED)
        return false;
    assert_int_equal(arch->format((const uint8_t *)&word, 4, AT, text), 4);
    if (in.target && text[0] == 'b') { /* addresses are written without 0x */
        char *last = strrchr(text, ' ');
        (void)snprintf(last + 1, sizeof text - (size_t)(last + 1 - text), "#0x%" PRIx64, in.target);
    }
    if (is_spelt_otherwise(word, text, &in))
        return false;
    normalise(text, formatted, sizeof formatted);
    normalise(o.text, expected, sizeof expected);
    if (strcmp(formatted, expected) != 0)
        differ(word, &o, text);
    return true;
}

static void capstone_agrees_on_text(void **state) {
    (void)state;
    enum { WORDS = 150000 };
    size_t compared = 0;
    for (int i = 0; i < WORDS; i++)
        compared += check_text(next_word());
    assert_true(compared > WORDS / 3);
}

static void text_of_instructions(void **state) {
    (void)state;
    static const struct {
        uint32_t word;
        const char *text;
    } words[] = {{0xe92d4010, "push {r4, lr}"},
                 {0xe8bd8010, "pop {r4, pc}"},
                 {0x08bd8010, "popeq {r4, pc}"},
                 {0xe24dd008, "sub sp, sp, #8"},
                 {0xe59f3008, "ldr r3, 40000010"},
                 {0xe51ff004, "ldr pc, 40000004"},
                 {0xe79ff103, "ldr pc, [pc, r3, lsl #2]"},
                 {0x908ff103, "addls pc, pc, r3, lsl #2"},
                 {0xe52de004, "str lr, [sp, #-4]!"},
                 {0xe49df004, "pop {pc}"},
                 {0xeb000001, "bl 4000000c"},
                 {0xfa000001, "blx 4000000c"},
                 {0x1afffffe, "bne 40000000"},
                 {0xe12fff1e, "bx lr"},
                 {0xe1a00102, "lsl r0, r2, #2"},
                 {0xe3051234, "movw r1, #21044"},
                 {0xed2d8b10, "vpush {d8-d15}"},
                 {0xed9f0b02, "vldr d0, 40000010"},
                 {0xe320f000, "nop"},
                 {0xef000000, "svc #0"},
                 {0xf2010802, ".word 0xf2010802"},
                 {0xec500000, ".word 0xec500000"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char text[FORMAT_BYTES];
        assert_int_equal(arch->format((const uint8_t *)&words[i].word, 4, AT, text), 4);
        assert_string_equal(text, words[i].text);
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
