/*
 * Effects of T32 instructions on the stack and on registers, IT blocks, targets of switches, and
 * addresses that a line of instructions computes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "arch/arm/arm.h"

#define TESTS                                                                                      \
    TEST(registers_set_with_offsets)                                                               \
    TEST(push_stores_and_pop_loads)                                                                \
    TEST(loaded_base_comes_last)                                                                   \
    TEST(stack_rounding)                                                                           \
    TEST(it_block_kind_from_its_end)                                                               \
    TEST(it_block_with_literal_branch)                                                             \
    TEST(single_condition_of_it_blocks)                                                            \
    TEST(invalid_it_blocks)                                                                        \
    TEST(longest_it_block)                                                                         \
    TEST(it_block_stack_effects)                                                                   \
    TEST(flags_written_outside_it_blocks)                                                          \
    TEST(tables_behind_their_jumps)                                                                \
    TEST(word_tables)                                                                              \
    TEST(computed_jump_places)                                                                     \
    TEST(kinds_of_other_jumps)                                                                     \
    TEST(table_reader_call_entries)                                                                \
    TEST(table_readers_known_by_name)                                                              \
    TEST(table_readers_known_by_code)                                                              \
    TEST(returning_function_reads_no_table)                                                        \
    TEST(addresses_from_lines)                                                                     \
    TEST(text_of_instructions)

static const struct arch *const arch = &arch_t32;
static const vaddr_t AT = 0x10000;

struct code {
    uint8_t bytes[32];
    size_t size;
};
static struct code halves(const uint16_t *half, size_t count) {
    struct code c = {.size = 2 * count};
    memcpy(c.bytes, half, c.size);
    return c;
}
#define CODE(...)                                                                                  \
    halves((const uint16_t[]){__VA_ARGS__}, sizeof((const uint16_t[]){__VA_ARGS__}) / 2)

/* ---- the stack ---- */

static size_t effects_of(struct code c, struct stack_effect *ret) {
    return arch->stack(c.bytes, c.size, ret);
}

static void check_set(struct code c, uint8_t reg, uint8_t base, int64_t displacement) {
    struct stack_effect e[STACK_MAX_EFFECTS];
    assert_int_equal(effects_of(c, e), 1);
    assert_int_equal(e[0].op, STACK_SET);
    assert_int_equal(e[0].reg, reg);
    assert_int_equal(e[0].base, base);
    assert_int_equal(e[0].displacement, displacement);
}

static void check_access(const struct stack_effect *e, uint8_t op, uint8_t reg, int64_t at) {
    assert_int_equal(e->op, op);
    assert_int_equal(e->reg, reg);
    assert_int_equal(e->displacement, at);
    if (op == STACK_STORE)
        assert_int_equal(e->size, 4);
}

static void registers_set_with_offsets(void **state) {
    (void)state;
    check_set(CODE(0xb082), 13, 13, -8);              /* sub sp, #8 */
    check_set(CODE(0xb002), 13, 13, 8);               /* add sp, #8 */
    check_set(CODE(0xaf02), 7, 13, 8);                /* add r7, sp, #8 */
    check_set(CODE(0x46bd), 13, 7, 0);                /* mov sp, r7 */
    check_set(CODE(0x370c), 7, 7, 12);                /* adds r7, #12 */
    check_set(CODE(0x3f0c), 7, 7, -12);               /* subs r7, #12 */
    check_set(CODE(0x1d3b), 3, 7, 4);                 /* adds r3, r7, #4 */
    check_set(CODE(0x0033), 3, 6, 0);                 /* movs r3, r6 */
    check_set(CODE(0xf5ad, 0x5d80), 13, 13, -0x1000); /* sub.w sp, sp, #4096 */
    check_set(CODE(0xf20d, 0x4b04), 11, 13, 0x404);   /* addw fp, sp, #1028 */
    check_set(CODE(0xf2ad, 0x4d04), 13, 13, -0x404);  /* subw sp, sp, #1028 */
    check_set(CODE(0xea4f, 0x0b0d), 11, 13, 0);       /* mov.w fp, sp */
}

static void push_stores_and_pop_loads(void **state) {
    (void)state;
    struct stack_effect e[STACK_MAX_EFFECTS];
    assert_int_equal(effects_of(CODE(0xb590), e), 4); /* push {r4, r7, lr} */
    check_access(&e[0], STACK_STORE, 4, -12);
    check_access(&e[1], STACK_STORE, 7, -8);
    check_access(&e[2], STACK_STORE, 14, -4);
    check_access(&e[3], STACK_SET, 13, -12);
    assert_int_equal(effects_of(CODE(0xe92d, 0x4ff0), e), 10); /* push.w {r4-fp, lr} */
    check_access(&e[0], STACK_STORE, 4, -36);
    check_access(&e[9], STACK_SET, 13, -36);
    assert_int_equal(effects_of(CODE(0xbd90), e), 4); /* pop {r4, r7, pc} */
    check_access(&e[0], STACK_LOAD, 4, 0);
    check_access(&e[1], STACK_LOAD, 7, 4);
    check_access(&e[3], STACK_SET, 13, 12);
    assert_int_equal(effects_of(CODE(0xe8bd, 0x5fff), e), 15); /* pop.w {r0-ip, lr} */
    assert_int_equal(effects_of(CODE(0xf84d, 0x7d04), e), 2);  /* push.w {r7} */
    check_access(&e[0], STACK_STORE, 7, -4);
    check_access(&e[1], STACK_SET, 13, -4);
    assert_int_equal(effects_of(CODE(0xed2d, 0x8b06), e), 2); /* vpush {d8-d10} */
    assert_int_equal(e[0].op, STACK_STORE);
    assert_int_equal(e[0].size, 24);
    check_access(&e[1], STACK_SET, 13, -24);
    assert_int_equal(effects_of(CODE(0xecbd, 0x8b06), e), 1); /* vpop {d8-d10} */
    check_access(&e[0], STACK_SET, 13, 24);
    assert_int_equal(effects_of(CODE(0xe9cd, 0x7802), e), 2); /* strd r7, r8, [sp, #8] */
    check_access(&e[0], STACK_STORE, 7, 8);
    check_access(&e[1], STACK_STORE, 8, 12);
    assert_int_equal(effects_of(CODE(0x9f03), e), 1); /* ldr r7, [sp, #12] */
    check_access(&e[0], STACK_LOAD, 7, 12);
    assert_int_equal(effects_of(CODE(0xf92d, 0x8b1f), e),
                     1); /* vld1 {d8, d9}, [sp]: not with an offset from sp … */
}

static void loaded_base_comes_last(void **state) {
    (void)state;
    struct stack_effect e[STACK_MAX_EFFECTS];
    assert_int_equal(effects_of(CODE(0xe9d3, 0x3402), e), 2); /* ldrd r3, r4, [r3, #8] */
    check_access(&e[0], STACK_LOAD, 4, 12);
    check_access(&e[1], STACK_LOAD, 3, 8);
}

static void stack_rounding(void **state) {
    (void)state;
    struct stack_effect e[STACK_MAX_EFFECTS];
    assert_int_equal(effects_of(CODE(0xf023, 0x0307), e), 1); /* bic.w r3, r3, #7 */
    assert_int_equal(e[0].op, STACK_ALIGN);
    assert_int_equal(effects_of(CODE(0xf023, 0x0306), e), 1); /* … #6 */
    assert_int_equal(e[0].op, STACK_NONE);
    assert_int_equal(e[0].changed, 8);
}

/* ---- blocks ---- */

static void check_block(struct code c, uint8_t kind, bool goes_on) {
    struct insn in;
    assert_true(arch->decode(c.bytes, c.size, AT, &in, NULL));
    assert_int_equal(in.size, c.size);
    assert_int_equal(in.kind, kind);
    assert_int_equal(in.goes_on, goes_on);
    assert_true(in.reads_flags);
}

static void it_block_kind_from_its_end(void **state) {
    (void)state;
    check_block(CODE(0xbf08, 0xbd10), INSN_BRANCH, false);               /* popeq {r4, pc} */
    check_block(CODE(0xbf18, 0x4770), INSN_BRANCH, false);               /* bxne lr */
    check_block(CODE(0xbf18, 0x4718), INSN_BRANCH, false);               /* bxne r3 */
    check_block(CODE(0xbf18, 0xe8bd, 0x81f0), INSN_BRANCH, false);       /* popne.w {…, pc} */
    check_block(CODE(0xbf04, 0x2001, 0x4770), INSN_BRANCH, false);       /* moveq; bxeq lr */
    check_block(CODE(0xbf04, 0x4288, 0x4770), INSN_BRANCH, false);       /* cmpeq; bxeq lr */
    check_block(CODE(0xbf04, 0x4288, 0xe010), INSN_LOOP, false);         /* cmpeq; beq */
    check_block(CODE(0xbf18, 0xe010), INSN_BRANCH, false);               /* bne */
    check_block(CODE(0xbf0c, 0x2001, 0xe010), INSN_LOOP, false);         /* moveq; bne */
    check_block(CODE(0xbf04, 0xb002, 0xe010), INSN_LOOP, false);         /* addeq sp, #8; beq */
    check_block(CODE(0xbf18, 0x4798), INSN_CALL_INDIRECT, true);         /* blxne r3 */
    check_block(CODE(0xbf18, 0xf000, 0xf880), INSN_CALL, true);          /* blne */
    check_block(CODE(0xbf98, 0xe8df, 0xf003), INSN_JUMP_INDIRECT, true); /* tbbls */
    check_block(CODE(0xbf08, 0x2001), INSN_OTHER, false);                /* moveq */
    check_block(CODE(0xbf08, 0xde00), INSN_OTHER, false);                /* udfeq */
    check_block(CODE(0xbf08, 0xdf00), INSN_SYSCALL, false);              /* svceq */
    check_block(CODE(0xbf08, 0xe841, 0x2000), INSN_EXCLUSIVE, false);    /* strexeq */
    check_block(CODE(0xbf08, 0xbe00), INSN_FIXED, false);                /* bkpt */
    check_block(CODE(0xbf01, 0x2001, 0x2002, 0x2003, 0x2004), INSN_OTHER, false);
}

/* A literal that an IT block reads is no branch target. */
static void it_block_with_literal_branch(void **state) {
    (void)state;
    struct insn in;
    const struct code returns = CODE(0xbf04, 0x4810, 0x4770), jumps = CODE(0xbf04, 0x4810, 0xe010),
                      loads = CODE(0xbf08, 0x4810);
    arch->decode(returns.bytes, returns.size, AT, &in, NULL);
    assert_int_equal(in.kind, INSN_BRANCH);
    assert_int_equal(in.target, 0);
    arch->decode(jumps.bytes, jumps.size, AT, &in, NULL);
    assert_int_equal(in.kind, INSN_LOOP);
    assert_int_equal(in.target, AT + 8 + 32);
    arch->decode(loads.bytes, loads.size, AT, &in, NULL);
    assert_int_equal(in.operand, OPERAND_PC_MEMORY);
    assert_int_equal(in.target, AT + 4 + 64);
    assert_true(arch->relocated_bytes(&in) >= 16);
}

static void single_condition_of_it_blocks(void **state) {
    (void)state;
    const struct {
        struct code code;
        uint8_t condition;
    } forms[] = {
        {CODE(0xbf04, 0xb002, 0x2001), 2}, /* addeq sp, #8; moveq */
        {CODE(0xbf18, 0xbd10), 3},         /* popne {r4, pc} */
        {CODE(0xd010), 2},
        /* beq */ {CODE(0xf040, 0x8010), 3}, /* bne.w */
        {CODE(0xbf0c, 0x2001, 0x2002), 0},   /* moveq; movne */
        {CODE(0xbf04, 0x4288, 0xb002), 0},   /* cmpeq; addeq sp, #8 */
        {CODE(0xb002), 0},
        {CODE(0xe010), 0}, /* add sp, #8; b */
        {CODE(0xde00), 0},
        {CODE(0xbf00), 0},         /* udf; nop */
        {CODE(0xf000, 0xf880), 0}, /* bl */
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        assert_int_equal(arch->condition(forms[i].code.bytes, forms[i].code.size),
                         forms[i].condition);
    const struct code both = CODE(0xbf04, 0xb002, 0x4604);
    struct stack_effect effects[STACK_MAX_EFFECTS];
    assert_int_equal(arch->stack_if(both.bytes, both.size, effects), 2);
    assert_int_equal(effects[0].op, STACK_SET);
    assert_int_equal(effects[0].reg, 13);
    assert_int_equal(effects[0].displacement, 8);
    assert_int_equal(arch->stack(both.bytes, both.size, effects), 2);
    assert_int_equal(effects[0].op, STACK_NONE);
    assert_int_equal(effects[0].changed, 1 << 13);
}

static void invalid_it_blocks(void **state) {
    (void)state;
    const struct code codes[] = {
        CODE(0xbf08),                 /* cut off */
        CODE(0xbf04, 0x4770, 0x2001), /* a branch that is not the last */
        CODE(0xbf08, 0xd010),         /* with a condition of its own */
        CODE(0xbf08, 0xb110),         /* cbz */
        CODE(0xbf08, 0xbf08, 0x2001), /* a block in it */
        CODE(0xbf0c, 0x4288, 0x4770), /* cmpeq; bxne: by other flags than the rest of the block */
        CODE(0xbfe8, 0x4770),         /* always */
        CODE(0xbf0c, 0xb002, 0xbd10), /* addeq sp, #8; popne {r4, pc} */
        CODE(0xbf0c, 0xb002, 0xe010), /* addeq sp, #8; bne */
    };
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        struct insn in;
        assert_false(arch->decode(codes[i].bytes, codes[i].size, AT, &in, NULL));
        assert_int_equal(in.kind, INSN_BAD);
        assert_int_equal(in.size, 2);
    }
}

static void longest_it_block(void **state) {
    (void)state;
    const struct code longest =
        CODE(0xbf01, 0xf8d0, 0x1000, 0xf8d0, 0x2000, 0xf8d0, 0x3000, 0xf8d0, 0x4000);
    struct insn in;
    struct relocated r = {.size = 0};
    assert_true(arch->decode(longest.bytes, longest.size, AT, &in, NULL));
    assert_int_equal(in.kind, INSN_OTHER);
    assert_int_equal(in.size, UNIT_MAX_BYTES);
    assert_int_equal(in.size, longest.size);
    assert_int_equal(arch->relocate(&in, longest.bytes, AT + 0x1000, &r), 0);
    assert_int_equal(r.size, longest.size);
    assert_memory_equal(r.bytes, longest.bytes, longest.size);
}

/* Instructions that may have run are unknown writes; the ones that ran if the block is left are
 * known. */
static void it_block_stack_effects(void **state) {
    (void)state;
    struct stack_effect e[STACK_MAX_EFFECTS];
    assert_int_equal(effects_of(CODE(0xbf08, 0x2301), e), 1);
    assert_int_equal(e[0].changed, 8);
    assert_int_equal(effects_of(CODE(0xbf18, 0xb002), e), 1); /* addne sp, #8 */
    assert_int_equal(e[0].changed, 1 << 13);
    assert_int_equal(effects_of(CODE(0xbf08, 0xbd10), e), 3); /* popeq {r4, pc} */
    check_access(&e[0], STACK_LOAD, 4, 0);
    check_access(&e[2], STACK_SET, 13, 8);
    assert_int_equal(effects_of(CODE(0xbf18, 0x9302), e), 2); /* strne r3, [sp, #8] */
    assert_int_equal(e[0].op, STACK_STORE);
    assert_int_equal(e[0].reg, STACK_NO_REGISTER);
    assert_int_equal(effects_of(CODE(0xbf18, 0x4798), e), 1);
    assert_int_equal(e[0].op, STACK_CALL);
}

static void flags_written_outside_it_blocks(void **state) {
    (void)state;
    struct insn in;
    const struct code plain = CODE(0x2001), block = CODE(0xbf08, 0x2001),
                      compares = CODE(0xbf08, 0x2801);
    arch->decode(plain.bytes, plain.size, AT, &in, NULL);
    assert_true(in.writes_flags);
    arch->decode(block.bytes, block.size, AT, &in, NULL);
    assert_false(in.writes_flags);
    assert_int_equal(arch->flags(block.bytes, block.size).tested, ARM_Z);
    arch->decode(compares.bytes, compares.size, AT, &in, NULL);
    assert_true(in.writes_flags);
    assert_int_equal(arch->flags(compares.bytes, compares.size).written, 0);
}

/* ---- switches ---- */

/* The last instruction of CODE is the jump. */
static struct dispatch dispatch_of(const struct code *c) {
    struct code_bytes past[DISPATCH_PAST], jump = {0};
    size_t count = 0, n = 0;
    struct code_bytes all[DISPATCH_PAST];
    for (size_t at = 0; at < c->size;) {
        struct insn in;
        assert_true(arch->decode(c->bytes + at, c->size - at, AT + at, &in, NULL));
        all[n++] = (struct code_bytes){c->bytes + at, in.size, AT + at};
        at += in.size;
    }
    jump = all[--n];
    while (n)
        past[count++] = all[--n];
    return arch->dispatch(jump, past, count);
}

static void tables_behind_their_jumps(void **state) {
    (void)state;
    const struct code bytes = CODE(0x2b05, 0xd810, 0xe8df, 0xf003); /* cmp r3, #5; bhi; tbb */
    const struct code words = CODE(0x2b05, 0xd210, 0xe8df, 0xf013); /* cmp r3, #5; bcs; tbh */
    const struct code open = CODE(0xe8df, 0xf003);
    struct dispatch d = dispatch_of(&bytes);
    assert_int_equal(d.kind, DISPATCH_OFFSETS);
    assert_int_equal(d.table, AT + 8);
    assert_int_equal(d.base, AT + 8);
    assert_int_equal(d.entry_bytes, 1);
    assert_int_equal(d.shift, 1);
    assert_int_equal(d.count, 6);
    assert_false(d.is_signed);
    d = dispatch_of(&words);
    assert_int_equal(d.entry_bytes, 2);
    assert_int_equal(d.count, 5);
    assert_int_equal(dispatch_of(&open).count, 0);
}

static void word_tables(void **state) {
    (void)state;
    /* cmp r3, #9; bhi; adr r2, +32; ldr.w r3, [r2, r3, lsl #2]; add r3, r2; bx r3 */
    const struct code gcc = CODE(0x2b09, 0xd810, 0xa208, 0xf852, 0x3023, 0x4413, 0x4718);
    /* …; add r3, r2; orr.w r3, r3, #1; bx r3 */
    const struct code label =
        CODE(0x2b09, 0xd810, 0xa208, 0xf852, 0x3023, 0x4413, 0xf043, 0x0301, 0x4718);
    /* adr.w r1, …; ldr.w r0, [r1, r0, lsl #2]; adds r0, r0, r1; mov pc, r0 */
    const struct code clang = CODE(0x2809, 0xd810, 0xf20f, 0x0120, 0xf851, 0x0020, 0x1840, 0x4687);
    /* adr r2, …; ldr.w pc, [r2, r3, lsl #2] */
    const struct code addresses = CODE(0x2b09, 0xd810, 0xa208, 0xf852, 0xf023);
    struct dispatch d = dispatch_of(&gcc);
    assert_int_equal(d.kind, DISPATCH_OFFSETS);
    assert_int_equal(d.table, AT + 8 + 32);
    assert_int_equal(d.base, AT + 8 + 32 - 1); /* entries have the bit of the state */
    assert_int_equal(d.entry_bytes, 4);
    assert_int_equal(d.shift, 0);
    assert_int_equal(d.count, 10);
    assert_true(d.is_signed);
    d = dispatch_of(&label);
    assert_int_equal(d.kind, DISPATCH_OFFSETS);
    assert_int_equal(d.base, AT + 8 + 32);
    d = dispatch_of(&clang);
    assert_int_equal(d.kind, DISPATCH_OFFSETS);
    assert_int_equal(d.table, AT + 8 + 32);
    assert_int_equal(d.base, AT + 8 + 32);
    assert_int_equal(d.count, 10);
    d = dispatch_of(&addresses);
    assert_int_equal(d.kind, DISPATCH_ADDRESSES);
    assert_int_equal(d.table, AT + 8 + 32);
}

static void computed_jump_places(void **state) {
    (void)state;
    /* and r1, r1, #3; adr r2, +16; add.w r2, r2, r1, lsl #4; movs r0, #0; mov pc, r2 */
    const struct code divides = CODE(0xf001, 0x0103, 0xa204, 0xeb02, 0x1201, 0x2000, 0x4697);
    /* cmp r1, #5; bhi; adr r2, +16; add.w r2, r2, r1, lsl #2; mov pc, r2 */
    const struct code guarded = CODE(0x2905, 0xd810, 0xa204, 0xeb02, 0x0281, 0x4697);
    /* …; bx r2: to A32, if anything */
    const struct code turns = CODE(0xa204, 0xeb02, 0x1201, 0x4710);
    struct dispatch d = dispatch_of(&divides);
    assert_int_equal(d.kind, DISPATCH_COMPUTED);
    assert_int_equal(d.table, AT + 8 + 16);
    assert_int_equal(d.entry_bytes, 16);
    assert_int_equal(d.count, 0);
    d = dispatch_of(&guarded);
    assert_int_equal(d.entry_bytes, 4);
    assert_int_equal(d.count, 6);
    assert_int_equal(dispatch_of(&turns).kind, DISPATCH_ANY);
}

static void kinds_of_other_jumps(void **state) {
    (void)state;
    const struct {
        struct code code;
        uint8_t kind;
    } jumps[] = {
        {CODE(0x4b10, 0x4718), DISPATCH_VARIABLE},         /* ldr r3, literal; bx r3 */
        {CODE(0x4b10, 0x447b, 0x4718), DISPATCH_VARIABLE}, /* …; add r3, pc; bx r3 */
        {CODE(0x4b10, 0x447b, 0x469f), DISPATCH_ANY}, /* the same, mov pc, r3: a label of its own */
        {CODE(0xf240, 0x0c00, 0xf2c0, 0x0c00, 0x44fc, 0x4760), DISPATCH_VARIABLE},
        {CODE(0xf8df, 0xf000), DISPATCH_VARIABLE},            /* ldr.w pc, literal */
        {CODE(0x681b, 0x4718), DISPATCH_ANY},                 /* ldr r3, [r3]; bx r3 */
        {CODE(0x449f), DISPATCH_COMPUTED},                    /* add pc, r3 */
        {CODE(0x46ad, 0x4718), DISPATCH_STACK},               /* mov sp, r5; bx r3 */
        {CODE(0xf8d3, 0xd008, 0x4710), DISPATCH_STACK},       /* ldr.w sp, [r3, #8]; bx r2 */
        {CODE(0xf8d7, 0xd008, 0x4710), DISPATCH_ANY},         /* ldr.w sp, [r7, #8] */
        {CODE(0x46bd, 0x4718), DISPATCH_ANY},                 /* mov sp, r7 */
        {CODE(0xf1a7, 0x0418, 0x46a5, 0x4718), DISPATCH_ANY}, /* sub.w r4, r7, #24; mov sp, r4 */
    };
    for (size_t i = 0; i < sizeof jumps / sizeof *jumps; i++)
        assert_int_equal(dispatch_of(&jumps[i].code).kind, jumps[i].kind);
}

static void table_reader_call_entries(void **state) {
    (void)state;
    /* cmp r3, #8; bhi; movs r0, r3; bl */
    const struct code call = CODE(0x2b08, 0xd810, 0x0018, 0xf000, 0xf880);
    const struct code open = CODE(0x2b08, 0x0018, 0xf000, 0xf880);
    assert_int_equal(dispatch_of(&call).kind, DISPATCH_OFFSETS);
    assert_int_equal(dispatch_of(&call).count, 9);
    assert_int_equal(dispatch_of(&open).count, 0);
}

/* SIZE 0: the form of its table is unknown. */
static void check_reader(struct dispatch d, uint8_t size, bool is_signed) {
    assert_int_equal(d.kind, DISPATCH_OFFSETS);
    assert_int_equal(d.entry_bytes, size);
    assert_int_equal(d.is_signed, is_signed);
    assert_int_equal(d.shift, size && size < 4);
}

static struct dispatch read_by(struct code c) { return arch->inline_table_read(c.bytes, c.size); }

static void table_readers_known_by_name(void **state) {
    (void)state;
    check_reader(arch->inline_table_named("__gnu_thumb1_case_sqi"), 1, true);
    check_reader(arch->inline_table_named("__gnu_thumb1_case_uqi"), 1, false);
    check_reader(arch->inline_table_named("__gnu_thumb1_case_shi"), 2, true);
    check_reader(arch->inline_table_named("__gnu_thumb1_case_uhi"), 2, false);
    check_reader(arch->inline_table_named("__gnu_thumb1_case_si"), 4, true);
    assert_int_equal(arch->inline_table_named("__gnu_thumb1_case").kind, DISPATCH_ANY);
    assert_int_equal(arch->inline_table_named(NULL).kind, DISPATCH_ANY);
}

static void table_readers_known_by_code(void **state) {
    (void)state;
    check_reader(
        read_by(CODE(0xb402, 0x4671, 0x0849, 0x0049, 0x5c09, 0x0049, 0x448e, 0xbc02, 0x4770)), 1,
        false);
    check_reader(read_by(CODE(0xb403, 0x4671, 0x0849, 0x0040, 0x0049, 0x5e09, 0x0049, 0x448e,
                              0xbc03, 0x4770)),
                 2, true);
    check_reader(read_by(CODE(0xb403, 0x4671, 0x3102, 0x0889, 0x0080, 0x0089, 0x5808, 0x1840,
                              0x4686, 0xbc03, 0x46f7)),
                 4, true);
    /* mov r3, lr; adds r3, #4; bx r3 */
    check_reader(read_by(CODE(0x4673, 0x3304, 0x4718)), 0, false);
    /* add lr, r0; mov pc, lr */
    check_reader(read_by(CODE(0x4486, 0x46f7)), 0, false);
}

static void returning_function_reads_no_table(void **state) {
    (void)state;
    const struct code codes[] = {
        CODE(0x1840, 0x4770),                 /* adds r0, r0, r1; bx lr */
        CODE(0xb510, 0x44a6, 0x4770),         /* push {r4, lr}; … */
        CODE(0x4673, 0x469e, 0x4770),         /* mov r3, lr; mov lr, r3; bx lr */
        CODE(0x4673, 0x3304, 0x4770),         /* mov r3, lr; adds r3, #4; bx lr */
        CODE(0x4673, 0x3304, 0x0003, 0x4718), /* …; movs r3, r0; bx r3 */
        CODE(0x4486, 0xd010, 0x4770),         /* add lr, r0; beq; … */
        CODE(0x46a6, 0x4770),                 /* mov lr, r4; bx lr */
        CODE(0x4486),                         /* cut off */
    };
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        assert_int_equal(read_by(codes[i]).kind, DISPATCH_ANY);
}

/* ---- addresses ---- */

/* Follows CODE; returns the last instruction with its address operand. LITERAL: the word that
 * pc-relative loads read. */
static struct insn followed(struct code c, uint32_t literal) {
    struct trail trail = {.known = 0};
    struct insn in, whole = {0};
    for (size_t at = 0; at < c.size; at += in.size) {
        assert_true(arch->decode(c.bytes + at, c.size - at, AT + at, &in, NULL));
        trail.literal = in.operand == OPERAND_PC_MEMORY ? (const uint8_t *)&literal : NULL;
        if (!arch->follow(&trail, &in, c.bytes + at, &whole))
            whole = in;
    }
    return whole;
}

static void check_followed(struct code c, uint32_t literal, uint8_t operand, vaddr_t target) {
    struct insn in = followed(c, literal);
    assert_int_equal(in.operand, operand);
    assert_int_equal(in.target, target);
}

static void addresses_from_lines(void **state) {
    (void)state;
    /* movw r3, #0x1234; movt r3, #0x5678 */
    check_followed(CODE(0xf241, 0x2334, 0xf2c5, 0x6378), 0, OPERAND_ABSOLUTE, 0x56781234);
    /* ldr r3, literal; add r3, pc */
    check_followed(CODE(0x4b10, 0x447b), 0x101, OPERAND_PC_ADDRESS, AT + 2 + 4 + 0x101);
    check_followed(CODE(0x4b10, 0x447b), 0xffffff00, OPERAND_PC_ADDRESS, AT + 2 + 4 - 0x100);
    /* …; ldr r0, [r3, #8] */
    check_followed(CODE(0x4b10, 0x447b, 0x6898), 0x100, OPERAND_PC_MEMORY, AT + 6 + 0x108);
    /* ldr r3, literal; ldr r2, literal; add r3, pc; ldr r0, [r3, r2] */
    check_followed(CODE(0x4b10, 0x4a10, 0x447b, 0x5898), 0x100, OPERAND_PC_MEMORY, AT + 8 + 0x200);
    /* the IT block may have written r3 */
    check_followed(CODE(0x4b10, 0xbf08, 0x2301, 0x447b), 0x100, OPERAND_PC_PAGE, AT + 6 + 4);
    /* the call may have written r3, but not r4 to fp */
    check_followed(CODE(0x4b10, 0x4788, 0x447b), 0x100, OPERAND_PC_PAGE, AT + 4 + 4);
    check_followed(CODE(0x4c10, 0x4788, 0x447c), 0x100, OPERAND_PC_ADDRESS, AT + 4 + 4 + 0x100);
    /* ldr pc, literal; the first entries of a table are none: tbb [pc, r3] */
    check_followed(CODE(0xf8df, 0xf010), 0x20101, OPERAND_ABSOLUTE, 0x20101);
    check_followed(CODE(0xe8df, 0xf003), 0x04030201, OPERAND_PC_MEMORY, AT + 4);
}

static void text_of_instructions(void **state) {
    (void)state;
    const struct {
        struct code code;
        const char *text;
    } codes[] = {
        {CODE(0xb590), "push {r4, r7, lr}"},
        {CODE(0xe8bd, 0x87f0), "pop {r4, r5, r6, r7, r8, r9, sl, pc}"},
        {CODE(0xf85d, 0xfb04), "ldr.w pc, [sp], #4"},
        {CODE(0x2001), "movs r0, #1"},
        {CODE(0x4b10), "ldr r3, 10044"},
        {CODE(0x447b), "add r3, pc"},
        {CODE(0xd010), "beq.n 10024"},
        {CODE(0xf340, 0x8040), "ble.w 10084"},
        {CODE(0xf000, 0xf880), "bl 10104"},
        {CODE(0xf000, 0xe880), "blx 10104"},
        {CODE(0x4770), "bx lr"},
        {CODE(0xb110), "cbz r0, 10008"},
        {CODE(0xe8df, 0xf013), "tbh [pc, r3, lsl #1]"},
        {CODE(0xf852, 0x3023), "ldr.w r3, [r2, r3, lsl #2]"},
        {CODE(0xf851, 0x3b04), "ldr.w r3, [r1], #4"},
        {CODE(0xe96d, 0x2302), "strd r2, r3, [sp, #-8]!"},
        {CODE(0xf5ad, 0x5d80), "sub.w sp, sp, #4096"},
        {CODE(0xeb03, 0x0382), "add.w r3, r3, r2, lsl #2"},
        {CODE(0xbf18, 0x4770), "it ne; bxne lr"},
        {CODE(0xbf0c, 0x2001, 0xe010), "ite eq; moveq r0, #1; bne.n 10028"},
        {CODE(0xed2d, 0x8b06), "vpush {d8-d10}"},
        {CODE(0xee30, 0x0b41), "vsub.f64 d0, d0, d1"},
        {CODE(0xef02, 0x0150), ".word 0xef020150"},
        {CODE(0xde00), "udf #0"},
        {CODE(0xbf08), "(bad)"},
    };
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        char text[FORMAT_BYTES];
        arch->format(codes[i].code.bytes, codes[i].code.size, AT, text);
        assert_string_equal(text, codes[i].text);
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
