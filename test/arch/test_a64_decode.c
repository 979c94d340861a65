/*
 * The A64 decoder agrees with Capstone on words of all groups: branches and their targets,
 * operands relative to the pc, flags tested and written, registers written.
 */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arch/arch.h"
#include "oracle_a64.h"

#define TESTS                                                                                      \
    TEST(capstone_agrees_on_all_groups)                                                            \
    TEST(capstone_agrees_on_rare_forms)                                                            \
    TEST(cut_or_misaligned_bytes)                                                                  \
    TEST(bti_landing_instructions)                                                                 \
    TEST(landing_on_pac_lr_signing)                                                                \
    TEST(unmovable_pac_lr_signatures)

static const vaddr_t AT = 0x40000000;
static const struct arch *arch;

/* Deterministic: xorshift, Marsaglia 2003. */
static uint32_t next_word(void) {
    static uint32_t state = 2463534242;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

static void differ(uint32_t word, const struct oracle_a64 *o, const char *what) {
    fail_msg("%08" PRIx32 " %s: %s", word, o->text, what);
}

static bool decode(uint32_t word, struct insn *ret) {
    return arch->decode((const uint8_t *)&word, sizeof word, AT, ret, NULL);
}

static void check_flow(uint32_t word, const struct insn *in, const struct oracle_a64 *o) {
    bool call = in->kind == INSN_CALL || in->kind == INSN_CALL_INDIRECT;
    bool jump = in->kind == INSN_JUMP || in->kind == INSN_JUMP_INDIRECT;
    /* To the decoder a return by another register than the link register is a jump. */
    bool other_return = o->ret && jump && !in->target;
    if (call != o->call || (jump != o->jump && !other_return) ||
        (in->kind == INSN_BRANCH) != o->branch)
        differ(word, o, "another kind of flow");
    if ((in->kind == INSN_RETURN) != (o->ret && !other_return))
        differ(word, o, "a return, or none");
    if (o->direct && in->target != o->target)
        differ(word, o, "another target");
    if ((in->kind == INSN_SYSCALL) != o->svc || (in->kind == INSN_NOP) != o->nop)
        differ(word, o, "a system call, a nop, or none");
    if ((in->kind == INSN_EXCLUSIVE) != o->exclusive)
        differ(word, o, "an exclusive access, or none");
    if (o->exclusive && (in->exclusive == EXCLUSIVE_BEGINS) != o->load)
        differ(word, o, "an exclusive load, or none");
}

static void check_operand(uint32_t word, const struct insn *in, const struct oracle_a64 *o) {
    uint8_t expected = o->address   ? OPERAND_PC_ADDRESS
                       : o->page    ? OPERAND_PC_PAGE
                       : o->literal ? OPERAND_PC_MEMORY
                                    : OPERAND_PLAIN;
    if (in->operand != expected)
        differ(word, o, "another pc-relative operand");
    if (expected != OPERAND_PLAIN && in->target != o->target)
        differ(word, o, "another address");
}

static uint32_t written_registers(uint32_t word) {
    struct stack_effect effects[STACK_MAX_EFFECTS];
    size_t count = arch->stack((const uint8_t *)&word, sizeof word, effects);
    uint32_t written = 0;
    for (size_t i = 0; i < count; i++) {
        uint8_t op = effects[i].op;
        written |= effects[i].changed;
        if (op == STACK_SET || op == STACK_ALIGN || op == STACK_LOAD)
            written |= UINT32_C(1) << effects[i].reg;
    }
    return written;
}

/* More registers may count as written than are, where that is hard to tell, never fewer. */
static void check_registers(uint32_t word, const struct oracle_a64 *o) {
    if (!o->call && o->written & ~written_registers(word))
        differ(word, o, "writes a register that it is not known to write");
}

static void check_flags(uint32_t word, const struct insn *in, const struct oracle_a64 *o) {
    if (in->writes_flags != o->writes_flags)
        differ(word, o, "writes flags, or not");
    if (in->reads_flags != o->reads_flags)
        differ(word, o, "tests flags, or not");
}

static bool check(uint32_t word) {
    struct oracle_a64 o;
    struct insn in;
    bool known = oracle_a64_decode(word, AT, &o), good = decode(word, &in);
    if (!known)
        return false;
    if (!good)
        differ(word, &o, "is no instruction to us");
    check_flow(word, &in, &o);
    check_operand(word, &in, &o);
    check_registers(word, &o);
    check_flags(word, &in, &o);
    return true;
}

static void capstone_agrees_on_all_groups(void **state) {
    (void)state;
    enum { WORDS = 600000 };
    size_t known = 0;
    for (int i = 0; i < WORDS; i++)
        known += check(next_word());
    assert_in_range(known, WORDS / 4, WORDS);
}

/* Varying the bits around their fixed ones makes rare instructions. */
static void capstone_agrees_on_rare_forms(void **state) {
    (void)state;
    static const uint32_t forms[] = {
        0xd61f0000, 0xd63f0000, 0xd65f0000, 0xd61f081f, 0xd71f0800, 0xd65f0bff, 0xd4000001,
        0xd4200000, 0xd503201f, 0xd51b4200, 0xd53b4200, 0xd5000000, 0x08000000, 0x88000000,
        0x1a000000, 0x3a400000, 0x1e202000, 0x1e200400, 0x9ac00000, 0xd8000000, 0x38000000,
        0xf8200800, 0x28000000, 0xa9000000, 0x10000000, 0x54000000, 0x8b200000, 0x92000000,
    };
    enum { EACH = 8000, KEPT = (int)0xfffff000 };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        for (int k = 0; k < EACH; k++) {
            uint32_t noise = next_word();
            check(forms[i] ^ (noise & 0x3ff));
            check(forms[i] ^ (noise & next_word() & next_word()));
        }
    }
}

static void cut_or_misaligned_bytes(void **state) {
    (void)state;
    static const uint8_t ret[] = {0xc0, 0x03, 0x5f, 0xd6};
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
}

static void bti_landing_instructions(void **state) {
    (void)state;
    static const struct {
        uint32_t word;
        bool lands;
    } words[] = {{0xd503245f, true},  {0xd503249f, true}, {0xd50324df, true},  {0xd503241f, false},
                 {0xd503233f, true},  {0xd503237f, true}, {0xd503231f, false}, {0xd503201f, false},
                 {0xd50323bf, false}, {0xd65f03c0, false}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        assert_int_equal(arch->landing((const uint8_t *)&words[i].word, 4), words[i].lands ? 4 : 0);
    }
    static const uint32_t both[] = {0xd503245f, 0xd503233f, 0xd503201f};
    assert_int_equal(arch->landing((const uint8_t *)both, sizeof both), 8);
    assert_int_equal(arch->landing((const uint8_t *)both, 7), 4);
    assert_int_equal(arch->landing((const uint8_t *)both, 3), 0);
}

/* FEAT_PAuth_LR (Arm ARM, C6.2). Some of these are for indirect branches, too. */
static void landing_on_pac_lr_signing(void **state) {
    (void)state;
    static const uint32_t words[] = {0xdac1a3fe, 0xdac1a7fe, 0xdac183fe, 0xdac187fe};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        assert_int_equal(arch->landing((const uint8_t *)&words[i], 4), 4);
    static const uint32_t behind_bti[] = {0xd503245f, 0xdac183fe, 0xd503201f};
    assert_int_equal(arch->landing((const uint8_t *)behind_bti, sizeof behind_bti), 8);
    static const uint32_t by_hints[] = {0xd503245f, 0xd50324ff, 0xd503233f, 0xd503201f};
    assert_int_equal(arch->landing((const uint8_t *)by_hints, sizeof by_hints), 12);
}

/* Only instructions that use their own address stay, and those that follow `pacm` directly. */
static void unmovable_pac_lr_signatures(void **state) {
    (void)state;
    static const struct {
        uint32_t word;
        uint8_t kind, exclusive;
        bool stays;
    } words[] = {
        {0xdac1a3fe, INSN_LANDING, EXCLUSIVE_NO, true}, /* paciasppc, pacibsppc */
        {0xdac1a7fe, INSN_LANDING, EXCLUSIVE_NO, true},
        {0xdac183fe, INSN_LANDING, EXCLUSIVE_NO, true}, /* pacnbiasppc, pacnbibsppc */
        {0xdac187fe, INSN_LANDING, EXCLUSIVE_NO, true},
        {0xf380001f, INSN_OTHER, EXCLUSIVE_NO, true}, /* autiasppc, autibsppc */
        {0xf3bfffff, INSN_OTHER, EXCLUSIVE_NO, true},
        {0xdac1921e, INSN_OTHER, EXCLUSIVE_NO, false}, /* autiasppcr, autibsppcr x16 */
        {0xdac1961e, INSN_OTHER, EXCLUSIVE_NO, false},
        {0x5500001f, INSN_RETURN, EXCLUSIVE_NO, true}, /* retaasppc, retabsppc */
        {0x553fffff, INSN_RETURN, EXCLUSIVE_NO, true},
        {0xd65f0bf0, INSN_RETURN, EXCLUSIVE_NO, false}, /* retaasppcr, retabsppcr x16 */
        {0xd65f0ff0, INSN_RETURN, EXCLUSIVE_NO, false},
        {0xd65f0bff, INSN_RETURN, EXCLUSIVE_NO, false}, /* retaa */
        {0xd50324ff, INSN_LANDING, EXCLUSIVE_WITH_NEXT, false},
        {0xd50323bf, INSN_OTHER, EXCLUSIVE_NO, false}, /* autiasp */
        {0xdac18bfe, INSN_OTHER, EXCLUSIVE_NO, false}, /* pacia171615 */
        {0x5540001f, INSN_BAD, EXCLUSIVE_NO, false},   /* reserved */
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct insn in;
        assert_int_equal(decode(words[i].word, &in), words[i].kind != INSN_BAD);
        assert_int_equal(in.kind, words[i].kind);
        assert_int_equal(in.exclusive, words[i].exclusive);
        assert_int_equal(in.stays, words[i].stays);
        assert_int_equal(in.target, 0);
        if (in.stays || in.kind == INSN_RETURN)
            assert_int_equal(written_registers(words[i].word), 0); /* x30 is unchanged */
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    arch = arch_for_machine(EM_AARCH64);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
