/*
 * Effects of A32 instructions on the stack pointer, targets of indirect jumps, and values that a
 * straight line of code computes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "arch/arm/arm.h"

#define TESTS                                                                                      \
    TEST(frame_setup_and_teardown)                                                                 \
    TEST(apcs_frame_return_loads_sp)                                                               \
    TEST(return_address_when_sp_is_loaded)                                                         \
    TEST(words_popped_behind_return_address)                                                       \
    TEST(push_of_all_registers)                                                                    \
    TEST(unknown_effect_is_a_write)                                                                \
    TEST(callee_saved_registers)                                                                   \
    TEST(gcc_switch_by_address_table)                                                              \
    TEST(gcc_switch_by_branch_table)                                                               \
    TEST(memory_value_is_no_switch_offset)                                                         \
    TEST(clang_switch_by_offset_table)                                                             \
    TEST(address_tables_versus_variables)                                                          \
    TEST(armv4_call_return_address)                                                                \
    TEST(stack_switch)                                                                             \
    TEST(pc_relative_addresses)                                                                    \
    TEST(linker_stub_slots)                                                                        \
    TEST(absolute_numbers_versus_addresses)                                                        \
    TEST(registers_lost_at_calls)

enum { R4 = 4, FP = 11, SP = 13, LR = 14, NONE = STACK_NO_REGISTER, MOST = 10 };
static const vaddr_t AT = 0x40000000;
static const struct arch *const arch = &arch_a32;

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
    CHECK(0xe92d4810, STORE(R4, SP, -12, 4), STORE(FP, SP, -8, 4), STORE(LR, SP, -4, 4),
          SET(SP, SP, -12)); /* push {r4, fp, lr} */
    CHECK(0xe8bd8810, LOAD(R4, SP, 0), LOAD(FP, SP, 4), WRITES(0), SET(SP, SP, 12)); /* pop */
    CHECK(0x08bd8010, LOAD(R4, SP, 0), WRITES(0), SET(SP, SP, 8)); /* popeq, if it is taken */
    CHECK(0xe52de004, STORE(LR, SP, -4, 4), SET(SP, SP, -4));      /* str lr, [sp, #-4]! */
    CHECK(0xe49de004, LOAD(LR, SP, 0), SET(SP, SP, 4));            /* ldr lr, [sp], #4 */
    CHECK(0xe49df004, WRITES(0), SET(SP, SP, 4));                  /* ldr pc, [sp], #4 */
    CHECK(0xe24ddf41, SET(SP, SP, -260));
    CHECK(0xe28db004, SET(FP, SP, 4));
    CHECK(0xe24bd004, SET(SP, FP, -4));
    CHECK(0xe1a0c00d, SET(12, SP, 0)); /* mov ip, sp */
    CHECK(0xe1a0d00b, SET(SP, FP, 0));
    CHECK(0xe3cdd007, ROUND(SP, SP)); /* bic sp, sp, #7 */
    CHECK(0xe58d3008, STORE(3, SP, 8, 4));
    CHECK(0xe50b3008, STORE(3, FP, -8, 4));
    CHECK(0xe59d3008, LOAD(3, SP, 8));
    CHECK(0xe1cd20f8, STORE(2, SP, 8, 4), STORE(3, SP, 12, 4)); /* strd */
    CHECK(0xe1cd20d8, LOAD(2, SP, 8), LOAD(3, SP, 12));
    CHECK(0xed2d8b04, STORE(NONE, SP, -16, 16), SET(SP, SP, -16)); /* vpush {d8, d9} */
    CHECK(0xecbd8b04, SET(SP, SP, 16));
    CHECK(0xed8d8b02, STORE(NONE, SP, 8, 8)); /* vstr d8, [sp, #8] */
}

/* mov ip, sp; push {fp, ip, lr, pc}; … ldmdb fp, {fp, sp, pc} */
static void apcs_frame_return_loads_sp(void **state) {
    (void)state;
    CHECK(0xe92dd800, STORE(FP, SP, -16, 4), STORE(12, SP, -12, 4), STORE(LR, SP, -8, 4),
          STORE(NONE, SP, -4, 4), SET(SP, SP, -16));
    CHECK(0xe91ba800, LOAD(SP, FP, -8), WRITES(0), LOAD(FP, FP, -12));
}

/* Such returns do not name the stack slots they read; loads of the pc do. */
static void return_address_when_sp_is_loaded(void **state) {
    (void)state;
    static const struct {
        uint32_t word;
        bool loads;
        uint8_t base;
        int32_t link;
    } returns[] = {{0xe89da800, true, SP, 8},  /* ldm sp, {fp, sp, pc} */
                   {0xe91ba810, true, FP, -4}, /* ldmdb fp, {r4, fp, sp, pc} */
                   {0x091ba800, true, FP, -4}, /* ldmdbeq fp, {fp, sp, pc} */
                   {0xe99ba800, true, FP, 12}, /* ldmib fp, {fp, sp, pc} */
                   {0xe81ba800, true, FP, 0},  /* ldmda fp, {fp, sp, pc} */
                   {0xe8bda800, false, 0, 0},  /* ldm sp!, {fp, sp, pc}: the new sp is unknown */
                   {0xe8bd8800, false, 0, 0},  /* pop {fp, pc} */
                   {0xe89d6800, false, 0, 0},  /* ldm sp, {fp, sp, lr} */
                   {0xe92dd800, false, 0, 0},  /* push {fp, ip, lr, pc} */
                   {0xe12fff1e, false, 0, 0}}; /* bx lr */
    for (size_t i = 0; i < sizeof returns / sizeof *returns; i++) {
        const uint8_t *bytes = (const uint8_t *)&returns[i].word;
        uint8_t base = 0, behind = 0;
        int32_t link = 0;
        assert_int_equal(arch->return_loads_sp(bytes, 4, &base, &link), returns[i].loads);
        assert_int_equal(base, returns[i].base);
        assert_int_equal(link, returns[i].link);
        if (returns[i].loads)
            assert_int_equal(arch->return_pops(bytes, 4, &behind), -1);
    }
}

static void words_popped_behind_return_address(void **state) {
    (void)state;
    static const struct {
        uint32_t word;
        int pops;
        uint8_t behind;
    } returns[] = {{0xe12fff1e, 0, 0},      /* bx lr */
                   {0xe8bd8800, 8, 0},      /* pop {fp, pc} */
                   {0x08bd8010, 8, 0},      /* popeq {r4, pc} */
                   {0xe49df004, 4, 0},      /* ldr pc, [sp], #4 */
                   {0xe49df008, 8, 1},      /* ldr pc, [sp], #8 */
                   {0xe49df010, 16, 3},     /* ldr pc, [sp], #16 */
                   {0xe49df3fc, 1020, 254}, /* ldr pc, [sp], #1020 */
                   {0xe59df004, 0, 0},      /* ldr pc, [sp, #4]: a jump */
                   {0xe8bda800, -1, 0}};    /* ldm sp!, {fp, sp, pc} */
    for (size_t i = 0; i < sizeof returns / sizeof *returns; i++) {
        uint8_t behind = 0;
        assert_int_equal(arch->return_pops((const uint8_t *)&returns[i].word, 4, &behind),
                         returns[i].pops);
        assert_int_equal(behind, returns[i].behind);
    }
}

static void push_of_all_registers(void **state) {
    (void)state;
    struct stack_effect e[STACK_MAX_EFFECTS];
    uint32_t all = 0xe92dffff;
    assert_int_equal(arch->stack((const uint8_t *)&all, sizeof all, e), 17);
    assert_int_equal(e[16].op, STACK_SET);
    assert_int_equal(e[16].displacement, -64);
    assert_int_equal(e[13].reg, NONE); /* sp's value is undefined there */
}

static void unknown_effect_is_a_write(void **state) {
    (void)state;
    CHECK(0xe08dd003, WRITES(1U << SP)); /* add sp, sp, r3 */
    CHECK(0x028dd008, WRITES(1U << SP)); /* addeq sp, sp, #8 */
    CHECK(0xe5dd0008, WRITES(1));        /* ldrb r0, [sp, #8] */
    CHECK(0xe7900102, WRITES(1));
    CHECK(0xe7b10102, WRITES(3)); /* with write-back */
    CHECK(0xe6910102, WRITES(3));
    CHECK(0xe3a00001, WRITES(1));
    CHECK(0xe3530001, WRITES(0));
    CHECK(0x05900004, WRITES(1));             /* ldreq r0, [r0, #4] */
    CHECK(0x058d0004, STORE(NONE, SP, 4, 4)); /* streq */
    CHECK(0xe0810392, WRITES(3));             /* umull r0, r1, r2, r3 */
    CHECK(0xe1b23f9f, WRITES(0x18));          /* ldrexd r3, r4, [r2] */
    CHECK(0xec532b10, WRITES(0xc));           /* vmov r2, r3, d0 */
    CHECK(0xee1d3f70, WRITES(8));
    CHECK(0xef000000, WRITES(1));
    CHECK(0xf421070d, WRITES(2)); /* vld1.8 {d0}, [r1]! */
    CHECK(0xf421070f, WRITES(0));
    CHECK(0xf400070d, STORE(NONE, 0, 0, 32), WRITES(1)); /* vst1 */
}

static void callee_saved_registers(void **state) {
    (void)state;
    struct stack_effect e[STACK_MAX_EFFECTS];
    const uint32_t calls[] = {0xeb000000, 0xe12fff33, 0x1b000000};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        assert_int_equal(arch->stack((const uint8_t *)&calls[i], 4, e), 1);
        assert_int_equal(e[0].op, STACK_CALL);
        assert_int_equal(e[0].changed, 0x500f);
    }
}

/* ---- switches ---- */

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
    CMP_R3 = (int)0xe353000b, /* cmp r3, #11 */
    LDRLS_PC = (int)0x979ff103,
    LDRLO_PC = 0x379ff103,
    ADDLS_PC = (int)0x908ff103,
    BHI = (int)0x8a000010,
    BHS = 0x2a000010,
    ADR_R1 = (int)0xe28f1f40, /* AT + 8 + 0x100, if it is the first instruction */
    NOP = (int)0xe320f000,
};

static void gcc_switch_by_address_table(void **state) {
    (void)state;
    struct dispatch d = ASK(CMP_R3, LDRLS_PC);
    assert_int_equal(d.kind, DISPATCH_OFFSETS);
    assert_int_equal(d.table, AT + 12);
    assert_int_equal(d.base, 0);
    assert_int_equal(d.entry_bytes, 4);
    assert_int_equal(d.shift, 0);
    assert_int_equal(d.count, 12);
    assert_int_equal(ASK(CMP_R3, LDRLO_PC).count, 11);
    assert_int_equal(ASK(NOP, LDRLS_PC).count, 0);
    assert_int_equal(ASK(0xe3540001 /* cmp r4 */, LDRLS_PC).count, 0);
    assert_int_equal(ASK(CMP_R3, 0xe2922001 /* adds r2 */, LDRLS_PC).count, 0);
    assert_int_equal(ASK(CMP_R3, 0xe2833001 /* add r3, r3, #1 */, LDRLS_PC).count, 0);
    assert_int_equal(ASK(CMP_R3, BHI, NOP, 0xe79ff103).count, 12);
}

static void gcc_switch_by_branch_table(void **state) {
    (void)state;
    struct dispatch d = ASK(CMP_R3, ADDLS_PC);
    assert_int_equal(d.kind, DISPATCH_COMPUTED);
    assert_int_equal(d.table, AT + 12);
    assert_int_equal(d.entry_bytes, 4);
    assert_int_equal(d.count, 12);
    d = ASK(0x108ff00c); /* addne pc, pc, ip */
    assert_int_equal(d.kind, DISPATCH_COMPUTED);
    assert_int_equal(d.table, AT + 8);
    assert_int_equal(d.count, 0);
}

/* ldr r3, [r1, r2]; cmp r3, #11; addls pc, pc, r3, lsl #2 */
static void memory_value_is_no_switch_offset(void **state) {
    (void)state;
    struct dispatch d = ASK(0xe7913002, CMP_R3, ADDLS_PC);
    assert_int_equal(d.kind, DISPATCH_COMPUTED);
    assert_int_equal(d.count, 12);
    /* ldr r2, literal; cmp r3, r2; addls …: the count is unknown */
    d = ASK(0xe7913002, 0xe59f2000, 0xe1530002, ADDLS_PC);
    assert_int_equal(d.kind, DISPATCH_COMPUTED);
    assert_int_equal(d.count, 0);
    /* ldr r3, literal; add r3, pc, r3; bx r3: a tail call */
    assert_int_equal(ASK(0xe59f3004, 0xe08f3003, 0xe12fff13).kind, DISPATCH_ANY);
}

static void clang_switch_by_offset_table(void **state) {
    (void)state;
    /* ldr r0, [r1, r3, lsl #2]; add pc, r0, r1 */
    struct dispatch d = ASK(ADR_R1, CMP_R3, BHI, 0xe7910103, 0xe080f001);
    assert_int_equal(d.kind, DISPATCH_OFFSETS);
    assert_int_equal(d.table, AT + 0x108);
    assert_int_equal(d.base, AT + 0x108);
    assert_int_equal(d.entry_bytes, 4);
    assert_true(d.is_signed);
    assert_int_equal(d.count, 12);
    d = ASK(ADR_R1, CMP_R3, BHS, 0xe7910103, 0xe081f000); /* the other way around */
    assert_int_equal(d.base, AT + 0x108);
    assert_int_equal(d.count, 11);
    /* lsl r0, r3, #2; ldr r0, [r0, r1]; add pc, r0, r1 */
    d = ASK(ADR_R1, CMP_R3, BHI, 0xe1a00103, 0xe7900001, 0xe080f001);
    assert_int_equal(d.table, AT + 0x108);
    assert_int_equal(d.count, 12);
    /* ldrb r0, [r1, r3]; add pc, pc, r0, lsl #2 */
    d = ASK(ADR_R1, CMP_R3, BHI, 0xe7d10003, 0xe08ff100);
    assert_int_equal(d.kind, DISPATCH_OFFSETS);
    assert_int_equal(d.table, AT + 0x108);
    assert_int_equal(d.base, AT + 16 + 8);
    assert_int_equal(d.entry_bytes, 1);
    assert_int_equal(d.shift, 2);
    assert_false(d.is_signed);
    /* ldrsh r0, [r1, r3]; add r0, r1, r0; bx r0 */
    d = ASK(ADR_R1, 0xe19100f3, 0xe0810000, 0xe12fff10);
    assert_int_equal(d.table, AT + 0x108);
    assert_int_equal(d.entry_bytes, 2);
    assert_true(d.is_signed);
}

static void address_tables_versus_variables(void **state) {
    (void)state;
    struct dispatch d = ASK(ADR_R1, CMP_R3, BHI, 0xe791f103); /* ldr pc, [r1, r3, lsl #2] */
    assert_int_equal(d.kind, DISPATCH_OFFSETS); /* from 0, in the code: Clang's, for Armv5 */
    assert_int_equal(d.table, AT + 0x108);
    assert_int_equal(d.base, 0);
    assert_int_equal(d.count, 12);
    /* movw r1, #0x1234; movt r1, #0x5; ldr r2, [r1, r3, lsl #2]; bx r2 */
    d = ASK(0xe3011234, 0xe3401005, 0xe7912103, 0xe12fff12);
    assert_int_equal(d.kind, DISPATCH_ADDRESSES);
    assert_int_equal(d.table, 0x51234);
    assert_int_equal(ASK(0xe51ff004).kind, DISPATCH_VARIABLE);
    /* add ip, pc, #0, 12; add ip, ip, #0x10000; ldr pc, [ip, #8]! */
    assert_int_equal(ASK(0xe28fc600, 0xe28cca10, 0xe5bcf008).kind, DISPATCH_VARIABLE);
    assert_int_equal(ASK(0xe5932008, 0xe12fff12).kind, DISPATCH_ANY); /* ldr r2, [r3, #8] */
    assert_int_equal(ASK(0xe12fff12).kind, DISPATCH_ANY);
    assert_int_equal(ASK(0xe1a02003, 0xe12fff12).kind, DISPATCH_ANY);
    /* sub pc, r0, #31: the kernel's helpers */
    assert_int_equal(ASK(0xe3e00a0f, 0xe240f01f).kind, DISPATCH_ANY);
}

static void armv4_call_return_address(void **state) {
    (void)state;
    assert_int_equal(ASK(0xe1a0e00f, 0xe12fff13).kind, DISPATCH_CALL); /* mov lr, pc; bx r3 */
    assert_int_equal(ASK(0xe1a0e00f, 0xe593f008).kind, DISPATCH_CALL); /* ldr pc, [r3, #8] */
    assert_int_equal(ASK(0xe28fe000, 0xe1a0f003).kind, DISPATCH_CALL); /* add lr, pc, #0 */
    assert_int_equal(ASK(0xe28fe004, 0xe1a0f003).kind, DISPATCH_ANY);  /* to elsewhere */
    assert_int_equal(ASK(0xe1a0e00f, NOP, 0xe12fff13).kind, DISPATCH_ANY);
}

static void stack_switch(void **state) {
    (void)state;
    assert_int_equal(ASK(0xe1a0d003, 0xe12fff14).kind, DISPATCH_STACK); /* mov sp, r3; bx r4 */
    assert_int_equal(ASK(0xe08dd002, 0xe12fff14).kind, DISPATCH_STACK); /* add sp, sp, r2 */
    assert_int_equal(ASK(0xe593d000, 0xe12fff14).kind, DISPATCH_STACK); /* ldr sp, [r3] */
    assert_int_equal(ASK(0xe890e010).kind, DISPATCH_STACK);             /* ldm r0, {r4, sp, …} */
    assert_int_equal(ASK(0xe1a0d00b, 0xe12fff14).kind, DISPATCH_ANY);   /* mov sp, fp */
    assert_int_equal(ASK(0xe24bd00c, 0xe12fff14).kind, DISPATCH_ANY);   /* sub sp, fp, #12 */
}

/* ---- addresses ---- */

struct followed {
    uint32_t word;
    uint8_t operand;
    vaddr_t target; /* of OPERAND_PC_*: from AT */
};

static void check_line(const struct followed *line, size_t count) {
    static const uint8_t literal[4] = {0x00, 0x10, 0x00, 0x00};
    struct trail trail = {.known = 0};
    for (size_t i = 0; i < count; i++) {
        struct insn in, whole;
        const uint8_t *bytes = (const uint8_t *)&line[i].word;
        assert_true(arch->decode(bytes, 4, AT + 4 * i, &in, NULL));
        trail.literal = in.operand == OPERAND_PC_MEMORY ? literal : NULL;
        assert_int_equal(arch->follow(&trail, &in, bytes, &whole), line[i].operand != 0);
        if (!line[i].operand)
            continue;
        assert_int_equal(whole.operand, line[i].operand);
        bool absolute = whole.operand == OPERAND_ABSOLUTE;
        assert_int_equal(whole.target, (absolute ? 0 : AT) + line[i].target);
        assert_int_equal(whole.kind, in.kind);
    }
}
#define CHECK_LINE(...)                                                                            \
    check_line((const struct followed[]){__VA_ARGS__},                                             \
               sizeof((const struct followed[]){__VA_ARGS__}) / sizeof(struct followed))

static void pc_relative_addresses(void **state) {
    (void)state;
    CHECK_LINE({0xe59f3008, 0, 0}, /* ldr r3, literal: 0x1000 */
               {0xe08f4003, OPERAND_PC_ADDRESS, 0x100c}, {0xe2845010, OPERAND_PC_ADDRESS, 0x101c},
               {0xe5942008, OPERAND_PC_MEMORY, 0x1014},  /* ldr r2, [r4, #8] */
               {0xe7942003, OPERAND_PC_MEMORY, 0x200c},  /* ldr r2, [r4, r3]: of the GOT */
               {0xe79f2003, OPERAND_PC_MEMORY, 0x101c},  /* ldr r2, [pc, r3] */
               {0xe1a06004, OPERAND_PC_ADDRESS, 0x100c}, /* mov r6, r4 */
               {0x12844010, 0, 0},                       /* addne r4, r4, #16: result unknown */
               {0xe5942008, 0, 0}, {0xe5962008, OPERAND_PC_MEMORY, 0x1014});
}

static void linker_stub_slots(void **state) {
    (void)state;
    CHECK_LINE({0xe28fc600, 0, 0}, {0xe28cca10, OPERAND_PC_ADDRESS, 0x10008},
               {0xe5bcf020, OPERAND_PC_MEMORY, 0x10028});
    CHECK_LINE({0xe59fc000, 0, 0}, {0xe08cc00f, OPERAND_PC_ADDRESS, 0x100c},
               {0xe59cf000, OPERAND_PC_MEMORY, 0x100c});
}

static void absolute_numbers_versus_addresses(void **state) {
    (void)state;
    CHECK_LINE({0xe3013234, 0, 0}, {0xe3403005, OPERAND_ABSOLUTE, 0x51234},
               {0xe08f4003, OPERAND_PC_ADDRESS, 0x51244}, {0xe2833001, 0, 0},
               {0xe3403005, OPERAND_ABSOLUTE, 0x51235}, {0xe5932000, 0, 0});
    CHECK_LINE({0xe3403005, 0, 0}, {0xe08f4003, 0, 0}); /* half of one */
}

static void registers_lost_at_calls(void **state) {
    (void)state;
    CHECK_LINE({0xe28f3008, 0, 0}, {0xe28f4008, 0, 0}, {0xeb000000, 0, 0}, {0xe5932000, 0, 0},
               {0xe5942000, OPERAND_PC_MEMORY, 0x14});
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
