/* Values of rules and expressions, one a test. */
#include <dwarf.h>

#include "../target/child.h"
#include "unwind/rows.h"
#include "unwind/unwind.h"

#define TESTS                                                                                      \
    TEST(rules_without_expressions)                                                                \
    TEST(plt_expression)                                                                           \
    TEST(binary_operations)                                                                        \
    TEST(unary_operations)                                                                         \
    TEST(invalid_expressions)                                                                      \
    TEST(missing_memory)

enum { CFA = 0x1040 };
static uint64_t words[16]; /* at 0x1000 */

static struct machine machine_with(const struct unwind_stack *stack) {
    struct machine m = {.known = UINT64_MAX,
                        .count = REGS_DWARF_COUNT,
                        .word = 8,
                        .pieces = stack->pieces,
                        .piece_count = stack->count};
    for (unsigned i = 0; i < REGS_DWARF_COUNT; i++)
        m.registers[i] = 0x100 * i;
    for (unsigned i = 0; i < 16; i++)
        words[i] = 0x1000 + 8 * ((i + 1) % 16);
    return m;
}

static bool apply(const struct rule *rule, uint64_t *ret, bool *ret_missed) {
    struct unwind_piece piece = {0x1000, (const uint8_t *)words, sizeof words};
    struct unwind_stack stack = {.pieces = &piece, .count = 1};
    struct machine m = machine_with(&stack);
    bool ok = rule_apply(&m, rule, CFA, ret);
    *ret_missed = m.missed;
    return ok;
}

static void expect(struct rule rule, uint64_t value) {
    uint64_t got;
    bool missed;
    assert_true(apply(&rule, &got, &missed));
    assert_int_equal(got, value);
    assert_false(missed);
}

static void expect_nothing(struct rule rule, bool missed) {
    uint64_t got;
    bool is_missed;
    assert_false(apply(&rule, &got, &is_missed));
    assert_int_equal(is_missed, missed);
}

#define OPS(...)                                                                                   \
    .ops = (const Dwarf_Op[]){__VA_ARGS__},                                                        \
    .op_count = sizeof((const Dwarf_Op[]){__VA_ARGS__}) / sizeof(Dwarf_Op)
#define EXPRESSION(...)                                                                            \
    (struct rule) { .kind = RULE_EXPRESSION_VALUE, OPS(__VA_ARGS__) }

static void rules_without_expressions(void **state) {
    (void)state;
    expect((struct rule){.kind = RULE_AT, .offset = -8}, 0x1040);
    expect((struct rule){.kind = RULE_VALUE, .offset = 16}, 0x1050);
    expect((struct rule){.kind = RULE_REGISTER, .reg = 3, .offset = -1}, 0x2ff);
    expect((struct rule){.kind = RULE_EXPRESSION, OPS({DW_OP_call_frame_cfa, 0, 0, 0})}, 0x1048);
}

/* The expression that the linker writes for the PLT: CFA = rsp + 8 + ((rip & 15) >= 11) * 8. */
static void plt_expression(void **state) {
    (void)state;
#define PLT(limit)                                                                                 \
    {DW_OP_breg7, 8, 0, 0}, {DW_OP_breg16, 0, 0, 1}, {DW_OP_lit15, 0, 0, 2}, {DW_OP_and, 0, 0, 3}, \
        {limit, 0, 0, 4}, {DW_OP_ge, 0, 0, 5}, {DW_OP_lit3, 0, 0, 6}, {DW_OP_shl, 0, 0, 7},        \
        {DW_OP_plus, 0, 0, 8}
    expect(EXPRESSION(PLT(DW_OP_lit0)), 0x710);
    expect(EXPRESSION(PLT(DW_OP_lit11)), 0x708);
}

static void binary_operations(void **state) {
    (void)state;
    static const struct {
        unsigned atom;
        uint64_t value; /* of 12 and 5 */
    } cases[] = {{DW_OP_plus, 17}, {DW_OP_minus, 7}, {DW_OP_mul, 60},  {DW_OP_and, 4},
                 {DW_OP_or, 13},   {DW_OP_xor, 9},   {DW_OP_shl, 384}, {DW_OP_shr, 0},
                 {DW_OP_eq, 0},    {DW_OP_ne, 1},    {DW_OP_ge, 1},    {DW_OP_gt, 1},
                 {DW_OP_le, 0},    {DW_OP_lt, 0},    {DW_OP_swap, 12}, {DW_OP_over, 12}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(EXPRESSION({DW_OP_const1u, 12, 0, 0}, {DW_OP_lit5, 0, 0, 1},
                          {(uint8_t)cases[i].atom, 0, 0, 2}),
               cases[i].value);
}

static void unary_operations(void **state) {
    (void)state;
    expect(EXPRESSION({DW_OP_breg2, 1, 0, 0}, {DW_OP_neg, 0, 0, 1}), (uint64_t)-0x201);
    expect(EXPRESSION({DW_OP_bregx, 2, 1, 0}, {DW_OP_not, 0, 0, 1}), ~(uint64_t)0x201);
    expect(EXPRESSION({DW_OP_call_frame_cfa, 0, 0, 0}, {DW_OP_deref, 0, 0, 1},
                      {DW_OP_plus_uconst, 8, 0, 2}, {DW_OP_nop, 0, 0, 3},
                      {DW_OP_stack_value, 0, 0, 4}),
           0x1050);
    expect(EXPRESSION({DW_OP_lit3, 0, 0, 0}, {DW_OP_dup, 0, 0, 1}, {DW_OP_drop, 0, 0, 2}), 3);
}

static void invalid_expressions(void **state) {
    (void)state;
    expect_nothing(EXPRESSION({DW_OP_plus, 0, 0, 0}), false);
    expect_nothing(EXPRESSION({DW_OP_lit1, 0, 0, 0}, {DW_OP_plus, 0, 0, 1}), false);
    expect_nothing(EXPRESSION({DW_OP_lit1, 0, 0, 0}, {DW_OP_drop, 0, 0, 1}), false);
    expect_nothing(EXPRESSION({DW_OP_breg31, 0, 0, 0}), false);
    expect_nothing(EXPRESSION({DW_OP_lit1, 0, 0, 0}, {DW_OP_lit1, 0, 0, 1}, {DW_OP_div, 0, 0, 2}),
                   false);
    expect_nothing((struct rule){.kind = RULE_EXPRESSION_VALUE}, false);
    expect_nothing((struct rule){.kind = RULE_UNDEFINED}, false);
    Dwarf_Op many[40];
    for (int i = 0; i < 40; i++)
        many[i] = (Dwarf_Op){.atom = DW_OP_lit1};
    expect_nothing((struct rule){.kind = RULE_EXPRESSION_VALUE, .ops = many, .op_count = 40},
                   false);
}

static void missing_memory(void **state) {
    (void)state;
    expect_nothing((struct rule){.kind = RULE_AT, .offset = 64}, true);
    expect_nothing((struct rule){.kind = RULE_AT, .offset = 57}, true); /* half of it is */
    expect_nothing((struct rule){.kind = RULE_AT, .offset = -72}, true);
    expect_nothing((struct rule){.kind = RULE_EXPRESSION, OPS({DW_OP_lit0, 0, 0, 0})}, true);
    expect_nothing(EXPRESSION({DW_OP_lit0, 0, 0, 0}, {DW_OP_deref, 0, 0, 1}), true);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("unwind evaluate", tests, NULL, NULL);
}
