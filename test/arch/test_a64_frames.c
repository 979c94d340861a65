/* Effects of A64 instructions on the stack pointer, and targets of indirect jumps. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "arch/arch.h"

#define TESTS                                                                                      \
    TEST(frame_setup_and_teardown)                                                                 \
    TEST(unknown_effect_is_a_write)                                                                \
    TEST(callee_saved_registers)                                                                   \
    TEST(gcc_switch_by_scaled_offset)                                                              \
    TEST(clang_switch_by_table_or_label)                                                           \
    TEST(switch_entry_count_from_comparison)                                                       \
    TEST(switch_with_table_out_of_sight)                                                           \
    TEST(address_tables_versus_variables)                                                          \
    TEST(stack_switch)                                                                             \
    TEST(pc_relative_addresses)

enum { FP = 29, LR = 30, SP = 31, NONE = STACK_NO_REGISTER, MOST = 10 };
static const vaddr_t AT = 0x40000000;
static const struct arch *arch;

static void check_effects(uint32_t word, size_t count, const struct stack_effect *expected) {
    struct stack_effect e[STACK_MAX_EFFECTS];
    assert_int_equal(arch->stack((const uint8_t *)&word, sizeof word, e), count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(e[i].op, expected[i].op);
        assert_int_equal(e[i].changed, expected[i].changed);
        if (e[i].op == STACK_NONE || e[i].op == STACK_CALL)
            continue;
        assert_int_equal(e[i].reg, expected[i].reg);
        assert_int_equal(e[i].base, expected[i].base);
        assert_int_equal(e[i].displacement, expected[i].displacement);
        assert_int_equal(e[i].size, expected[i].size);
    }
}
#define CHECK(word, ...)                                                                           \
    check_effects(word,                                                                            \
                  sizeof((struct stack_effect[]){__VA_ARGS__}) / sizeof(struct stack_effect),      \
                  (struct stack_effect[]){__VA_ARGS__})
#define SET(r, b, d)                                                                               \
    { .op = STACK_SET, .reg = (r), .base = (b), .displacement = (d) }
#define LOAD(r, b, d)                                                                              \
    { .op = STACK_LOAD, .reg = (r), .base = (b), .displacement = (d) }
#define STORE(r, b, d, n)                                                                          \
    { .op = STACK_STORE, .reg = (r), .base = (b), .displacement = (d), .size = (n) }
#define ROUND(r, b)                                                                                \
    { .op = STACK_ALIGN, .reg = (r), .base = (b) }
#define WRITES(mask)                                                                               \
    { .op = STACK_NONE, .changed = (mask) }

static void frame_setup_and_teardown(void **state) {
    (void)state;
    CHECK(0xa9bd7bfd, SET(SP, SP, -48), STORE(FP, SP, 0, 8), STORE(LR, SP, 8, 8));
    CHECK(0xa8c37bfd, LOAD(FP, SP, 0), LOAD(LR, SP, 8), SET(SP, SP, 48));
    CHECK(0xd10083ff, SET(SP, SP, -32));
    CHECK(0xd14007ff, SET(SP, SP, -4096)); /* sub sp, sp, #1, lsl #12 */
    CHECK(0x910043fd, SET(FP, SP, 16));
    CHECK(0x910003bf, SET(SP, FP, 0)); /* mov sp, x29 */
    CHECK(0xf9000bf3, STORE(19, SP, 16, 8));
    CHECK(0xf84107fe, LOAD(LR, SP, 0), SET(SP, SP, 16)); /* ldr x30, [sp], #16 */
    CHECK(0xf81f0ffe, SET(SP, SP, -16), STORE(LR, SP, 0, 8));
    CHECK(0x6d0227e8, STORE(NONE, SP, 32, 8), STORE(NONE, SP, 40, 8));           /* stp d8, d9 */
    CHECK(0xf81f83a3, STORE(3, FP, -8, 8));                                      /* stur */
    CHECK(0x69bf07e0, SET(SP, SP, -32), STORE(0, SP, 0, 8), STORE(1, SP, 8, 8)); /* stgp */
    CHECK(0x927be93f, ROUND(SP, 9)); /* and sp, x9, #-32 */
    CHECK(0xaa0203e1, SET(1, 2, 0)); /* mov x1, x2 */
}

static void unknown_effect_is_a_write(void **state) {
    (void)state;
    CHECK(0x8b2c63ff, WRITES(1U << SP)); /* add sp, sp, x12 */
    CHECK(0x043f57df, WRITES(1U << SP)); /* addvl sp, sp, #-2 */
    CHECK(0xb9400be0, WRITES(1));        /* ldr w0, [sp, #8] */
    CHECK(0x38401420, WRITES(1), SET(1, 1, 1));
    CHECK(0x694107e0, WRITES(1), WRITES(2)); /* ldpsw */
    CHECK(0xaa1f03e0, WRITES(1));            /* mov x0, xzr */
    CHECK(0xa9400400, WRITES(1), LOAD(1, 0, 8));
    CHECK(0xf10043ff, WRITES(0)); /* cmp sp, #16: register 31 is zero there */
    CHECK(0xf10043e0, SET(0, SP, -16));
    uint32_t ld1 = 0x4cdf7020;
    struct stack_effect e[STACK_MAX_EFFECTS];
    assert_int_equal(arch->stack((const uint8_t *)&ld1, sizeof ld1, e), 1);
    assert_true(e[0].changed & 2); /* the base register is written back */
}

static void callee_saved_registers(void **state) {
    (void)state;
    struct stack_effect e[STACK_MAX_EFFECTS];
    uint32_t blr = 0xd63f0060, nothing = 0x00010000;
    assert_int_equal(arch->stack((const uint8_t *)&blr, sizeof blr, e), 1);
    assert_int_equal(e[0].op, STACK_CALL);
    assert_int_equal(e[0].changed, 0x4007ffff); /* x0 to x18, x30 */
    arch->stack((const uint8_t *)&nothing, sizeof nothing, e);
    assert_int_equal(e[0].changed, UINT32_MAX);
}

/* CODE in the order of execution; its last word is the jump. */
static struct dispatch ask(const uint32_t *code, size_t count) {
    struct code_bytes past[MOST];
    for (size_t i = 0; i + 1 < count; i++)
        past[i] =
            (struct code_bytes){(const uint8_t *)&code[count - 2 - i], 4, AT + 4 * (count - 2 - i)};
    struct code_bytes jump = {(const uint8_t *)&code[count - 1], 4, AT + 4 * (count - 1)};
    return arch->dispatch(jump, past, count - 1);
}
#define ASK(...)                                                                                   \
    ask((const uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

enum {
    ADRP_X2 = (int)0xb0000002, /* AT + 0x1000 */
    ADD_X2 = (int)0x91048c42,  /* + 0x123 */
    LDRB_W1 = 0x38614841,      /* ldrb w1, [x2, w1, uxtw] */
    LDRH_W1 = 0x78615841,
    LDR_W1 = (int)0xb8615841,
    ADR_X0 = 0x100000a0, /* + 20 */
    BR_X1 = (int)0xd61f0020,
};

static void check_offsets(struct dispatch d, vaddr_t base, uint8_t bytes, uint8_t shift,
                          bool sign) {
    assert_int_equal(d.kind, DISPATCH_OFFSETS);
    assert_int_equal(d.table, AT + 0x1123);
    assert_int_equal(d.base, base);
    assert_int_equal(d.entry_bytes, bytes);
    assert_int_equal(d.shift, shift);
    assert_int_equal(d.is_signed, sign);
}

static void gcc_switch_by_scaled_offset(void **state) {
    (void)state;
    const vaddr_t label = AT + 12 + 20;
    check_offsets(ASK(ADRP_X2, ADD_X2, LDRB_W1, ADR_X0, 0x8b218801, BR_X1), label, 1, 2, true);
    check_offsets(ASK(ADRP_X2, ADD_X2, LDRH_W1, ADR_X0, 0x8b21a801, BR_X1), label, 2, 2, true);
    check_offsets(ASK(ADRP_X2, ADD_X2, LDR_W1, ADR_X0, 0x8b21c801, BR_X1), label, 4, 2, true);
}

static void clang_switch_by_table_or_label(void **state) {
    (void)state;
    /* ldrsw x3, [x2, x1, lsl #2]; add x2, x2, x3; br x2 */
    check_offsets(ASK(ADRP_X2, ADD_X2, 0xb8a17843, 0x8b030042, 0xd61f0040), AT + 0x1123, 4, 0,
                  true);
    /* adr x9; ldrb w10, [x2, x1]; add x9, x9, x10, lsl #2; br x9 */
    check_offsets(ASK(ADRP_X2, ADD_X2, 0x10000089, 0x3861684a, 0x8b0a0929, 0xd61f0120), AT + 8 + 16,
                  1, 2, false);
}

static void switch_entry_count_from_comparison(void **state) {
    (void)state;
    enum { CMP_W1 = 0x71002c3f, B_HI = 0x54000148, B_CS = 0x54000142, B_EQ = 0x54000140 };
    enum { MOV_W1_W0 = 0x2a0003e1, ADD_X1 = (int)0x8b218801 };
    const struct {
        uint32_t code[6], count;
    } cases[] = {
        {{CMP_W1, B_HI, ADRP_X2, ADD_X2, LDRB_W1, ADR_X0}, 12},
        {{CMP_W1, B_CS, ADRP_X2, ADD_X2, LDRB_W1, ADR_X0}, 11},
        {{CMP_W1, B_EQ, ADRP_X2, ADD_X2, LDRB_W1, ADR_X0}, 0},
        {{0x71002c1f /* cmp w0 */, B_HI, ADRP_X2, ADD_X2, LDRB_W1, ADR_X0}, 0},
        {{0x710ffc3f /* cmp w1, #1023 */, B_HI, ADRP_X2, ADD_X2, LDRB_W1, ADR_X0}, 1024},
        {{B_HI, CMP_W1, ADRP_X2, ADD_X2, LDRB_W1, ADR_X0}, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint32_t *c = cases[i].code;
        struct dispatch d = ASK(c[0], c[1], c[2], c[3], c[4], c[5], ADD_X1, BR_X1);
        assert_int_equal(d.table, AT + 0x1123);
        assert_int_equal(d.count, cases[i].count);
    }
    /* The register may have been copied since the comparison, but not written otherwise. */
    const uint32_t cmp_w0 = 0x71002c1f, load = 0x38404441; /* ldrb w1, [x2], #4 */
    assert_int_equal(
        ASK(cmp_w0, B_HI, MOV_W1_W0, ADRP_X2, ADD_X2, LDRB_W1, ADR_X0, ADD_X1, BR_X1).count, 12);
    assert_int_equal(ASK(CMP_W1, B_HI, load, ADRP_X2, ADD_X2, LDRB_W1, ADR_X0, ADD_X1, BR_X1).count,
                     0);
}

static void switch_with_table_out_of_sight(void **state) {
    (void)state;
    struct dispatch d = ASK(LDRB_W1, 0x8b218801, BR_X1);
    assert_int_equal(d.kind, DISPATCH_OFFSETS);
    assert_int_equal(d.table, 0);
    /* sub x5, x5, x6; br x5: into a row of equal instructions */
    assert_int_equal(ASK(0xcb0600a5, 0xd61f00a0).kind, DISPATCH_OFFSETS);
}

static void address_tables_versus_variables(void **state) {
    (void)state;
    struct dispatch d = ASK(ADRP_X2, ADD_X2, 0xf8617841, BR_X1); /* ldr x1, [x2, x1, lsl #3] */
    assert_int_equal(d.kind, DISPATCH_ADDRESSES);
    assert_int_equal(d.table, AT + 0x1123);
    assert_int_equal(ASK(0x90000010, 0xf9400611, 0xd61f0220).kind, DISPATCH_VARIABLE);
    assert_int_equal(ASK(0xf9400c01, BR_X1).kind, DISPATCH_ANY); /* ldr x1, [x0, #24] */
    assert_int_equal(ASK(0xaa0103f0, 0xd61f0200).kind, DISPATCH_ANY);
}

static void stack_switch(void **state) {
    (void)state;
    assert_int_equal(ASK(0x910000bf, 0xd61f03c0).kind, DISPATCH_STACK); /* mov sp, x5; br x30 */
    assert_int_equal(ASK(0x8b2563ff, 0xd61f00c0).kind, DISPATCH_STACK); /* add sp, sp, x5; br x6 */
    assert_int_equal(ASK(0x910003bf, BR_X1).kind, DISPATCH_ANY);        /* mov sp, x29 */
    assert_int_equal(ASK(0xd282020c, 0x8b2c63ff, BR_X1).kind, DISPATCH_ANY); /* a large frame */
}

static void pc_relative_addresses(void **state) {
    (void)state;
    static const uint32_t code[] = {
        ADRP_X2,   ADD_X2, 0xd503201f, 0xf9400443 /* ldr x3, [x2, #8] */, 0xd63f0060 /* blr x3 */,
        0xf9400443};
    static const uint8_t operands[] = {0, OPERAND_PC_ADDRESS, 0, OPERAND_PC_MEMORY, 0, 0};
    static const vaddr_t targets[] = {0, 0x1123, 0, 0x112b, 0, 0};
    struct trail trail = {.known = 0};
    for (size_t i = 0; i < sizeof code / sizeof *code; i++) {
        struct insn in, whole;
        const uint8_t *bytes = (const uint8_t *)&code[i];
        arch->decode(bytes, 4, AT + 4 * i, &in, NULL);
        assert_int_equal(arch->follow(&trail, &in, bytes, &whole), operands[i] != 0);
        if (!operands[i])
            continue;
        assert_int_equal(whole.operand, operands[i]);
        assert_int_equal(whole.target, AT + targets[i]);
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    arch = arch_for_machine(EM_AARCH64);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
