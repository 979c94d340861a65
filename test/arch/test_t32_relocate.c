/*
 * T32 instructions moved to other addresses mean the same there: bytes in, bytes out, judged by
 * Capstone. test/arch/t32 runs them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arm/arm.h"
#include "oracle_t32.h"

#define TESTS                                                                                      \
    TEST(position_independent_words_unchanged)                                                     \
    TEST(jump_targets)                                                                             \
    TEST(branch_inverted_over_a_jump)                                                              \
    TEST(address_computations)                                                                     \
    TEST(literal_loads)                                                                            \
    TEST(vector_and_pc_loads_from_a_copy)                                                          \
    TEST(pc_sums_by_a_borrowed_register)                                                           \
    TEST(call_return_addresses)                                                                    \
    TEST(state_changing_calls_by_address)                                                          \
    TEST(prefetches_left_out)                                                                      \
    TEST(it_block_conditions)                                                                      \
    TEST(unmovable_instructions)                                                                   \
    TEST(far_jumps)                                                                                \
    TEST(far_branches_skip_a_far_jump)                                                             \
    TEST(it_block_with_optional_far_jump)                                                          \
    TEST(jumps_to_any_address)                                                                     \
    TEST(hop_reach)                                                                                \
    TEST(untaken_exit_skip)

static const struct arch *const arch = &arch_t32;
static const vaddr_t FROM = 0x40000000;
static const int64_t distances[] = {-0xf00000, -0x1000, 0x24, 0x12346, 0xf00002};

struct code {
    uint8_t bytes[16];
    size_t size;
};
static struct code halves(const uint16_t *half, size_t count) {
    struct code c = {.size = 2 * count};
    memcpy(c.bytes, half, c.size);
    return c;
}
#define CODE(...)                                                                                  \
    halves((const uint16_t[]){__VA_ARGS__}, sizeof((const uint16_t[]){__VA_ARGS__}) / 2)

/* Moved from FROM, and from two bytes behind it, to all places. */
#define EACH_PLACE(from, to)                                                                       \
    for (vaddr_t _n = 0, from = FROM, to = FROM + (vaddr_t)distances[0];                           \
         _n < 2 * (sizeof distances / sizeof *distances) &&                                        \
         ((from = FROM + _n % 2 * 2), (to = FROM + (vaddr_t)distances[_n / 2]), true);             \
         _n++)

static struct insn decode(const struct code *c, vaddr_t from) {
    struct insn in;
    assert_true(arch->decode(c->bytes, c->size, from, &in, NULL));
    assert_int_equal(in.size, c->size);
    return in;
}

static int relocate(const struct code *c, vaddr_t from, vaddr_t to, struct relocated *ret) {
    struct insn in = decode(c, from);
    assert_false(in.stays);
    memset(ret, 0xee, sizeof *ret);
    int r = arch->relocate(&in, c->bytes, to, ret);
    assert_true(ret->size <= arch->relocated_bytes(&in));
    assert_true(ret->part_count <= RELOCATED_MAX_PARTS);
    assert_true(!ret->address_at || ret->address_at + 4 == ret->size);
    for (size_t i = 0; i < ret->part_count; i++)
        assert_false(ret->parts[i].through);
    return r;
}

/* Part I, which stands for the original at RESUME, as Capstone reads it. */
static struct oracle_t32 part(const struct relocated *r, vaddr_t to, size_t i, vaddr_t resume) {
    struct oracle_t32 o;
    assert_true(i < r->part_count);
    uint8_t at = r->parts[i].offset;
    assert_int_equal(r->parts[i].resume, resume);
    assert_true(oracle_t32_decode(r->bytes + at, r->size - (size_t)at, to + at, &o));
    return o;
}

static void position_independent_words_unchanged(void **state) {
    (void)state;
    const struct code codes[] = {
        CODE(0xb510) /* push {r4, lr} */,
        CODE(0xbd10) /* pop {r4, pc} */,
        CODE(0x4770) /* bx lr */,
        CODE(0x46f7) /* mov pc, lr */,
        CODE(0x4718) /* bx r3 */,
        CODE(0xb082) /* sub sp, #8 */,
        CODE(0xe92d, 0x4ff0) /* push.w */,
        CODE(0xf85d, 0xfb04) /* ldr pc, [sp], #4 */,
        CODE(0xf8d0, 0x3004) /* ldr.w r3, [r0, #4] */,
        CODE(0x1c40) /* adds r0, r0, #1 */,
        CODE(0xde00) /* udf #0 */,
        CODE(0xee1d, 0x3f70) /* mrc p15 */,
        CODE(0xbf08, 0x2001) /* it eq; moveq */,
        CODE(0xbf18, 0x4770) /* it ne; bxne lr */,
        CODE(0xbf0c, 0x2001, 0x2002) /* ite eq */,
    };
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        EACH_PLACE(from, to) {
            struct relocated r;
            assert_int_equal(relocate(&codes[i], from, to, &r), 0);
            assert_int_equal(r.size, codes[i].size);
            assert_memory_equal(r.bytes, codes[i].bytes, r.size);
            assert_int_equal(r.parts[0].offset, 0);
            assert_int_equal(r.parts[0].resume, from);
            assert_int_equal(r.copy_bytes, 0);
        }
}

static void jump_targets(void **state) {
    (void)state;
    const struct code codes[] = {CODE(0xe002) /* b.n +8 */, CODE(0xe7fc) /* b.n -4 */,
                                 CODE(0xf000, 0xb802) /* b.w +8 */,
                                 CODE(0xf7ff, 0xbffc) /* b.w -4 */};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        EACH_PLACE(from, to) {
            struct relocated r;
            assert_int_equal(relocate(&codes[i], from, to, &r), 0);
            struct oracle_t32 jump = part(&r, to, 0, from);
            assert_int_equal(r.size, 4);
            assert_true(jump.jump && jump.direct);
            assert_int_equal(jump.target, decode(&codes[i], from).target);
        }
}

static void branch_inverted_over_a_jump(void **state) {
    (void)state;
    static const char *const opposite[] = {"bne", "beq", "blo", "bhs", "bpl", "bmi", "bvc",
                                           "bvs", "bls", "bhi", "blt", "bge", "ble", "bgt"};
    struct relocated r;
    for (uint16_t condition = 0; condition < 14; condition++)
        for (int wide = 0; wide < 2; wide++)
            EACH_PLACE(from, to) {
                uint16_t head = (uint16_t)(0xf000 | condition << 6);
                struct code c =
                    wide ? CODE(head, 0x8040) : CODE((uint16_t)(0xd010 | condition << 8));
                assert_int_equal(relocate(&c, from, to, &r), 0);
                struct oracle_t32 over = part(&r, to, 0, from);
                struct oracle_t32 jump = part(&r, to, 1, decode(&c, from).target);
                assert_int_equal(r.size, 6);
                assert_string_equal(over.mnemonic, opposite[condition]);
                assert_int_equal(over.target, to + 6);
                assert_int_equal(jump.target, decode(&c, from).target);
            }
    for (uint16_t reg = 0; reg < 8; reg++)
        for (int set = 0; set < 2; set++)
            EACH_PLACE(from, to) {
                char text[32];
                struct code c = CODE((uint16_t)((set ? 0xbb10 : 0xb310) | reg)); /* far on */
                assert_int_equal(relocate(&c, from, to, &r), 0);
                struct oracle_t32 over = part(&r, to, 0, from);
                (void)snprintf(text, sizeof text, "%s r%u, ", set ? "cbz" : "cbnz", reg);
                assert_memory_equal(over.text, text, strlen(text));
                assert_int_equal(over.target, to + 6);
                assert_int_equal(part(&r, to, 1, from + 72).target, from + 72);
            }
}

/* The address that movw, movt and `add reg, pc` compute: their parts begin at FIRST. */
static uint64_t made(const struct relocated *r, vaddr_t to, size_t first, const char *reg,
                     vaddr_t resume) {
    struct oracle_t32 low = part(r, to, first, resume), high = part(r, to, first + 1, resume),
                      add = part(r, to, first + 2, resume);
    char text[64];
    unsigned values[2] = {0};
    (void)snprintf(text, sizeof text, "movw %s, #%%i", reg);
    if (sscanf(low.text, text, &values[0]) != 1)
        fail_msg("%s", low.text);
    (void)snprintf(text, sizeof text, "movt %s, #%%i", reg);
    if (sscanf(high.text, text, &values[1]) != 1)
        fail_msg("%s", high.text);
    (void)snprintf(text, sizeof text, "add %s, pc", reg);
    assert_string_equal(add.text, text);
    return (uint32_t)(to + r->parts[first + 2].offset + 4 + (values[0] | values[1] << 16));
}

static void address_computations(void **state) {
    (void)state;
    const struct {
        struct code code;
        const char *reg;
    } forms[] = {{CODE(0xa310), "r3"},
                 {CODE(0xf20f, 0x0c11), "ip"},
                 {CODE(0xf2af, 0x0c12), "ip"},
                 {CODE(0x467b), "r3"}, /* mov r3, pc */
                 {CODE(0x46fc), "ip"}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        EACH_PLACE(from, to) {
            struct relocated r;
            assert_int_equal(relocate(&forms[i].code, from, to, &r), 0);
            assert_int_equal(r.size, 10);
            assert_int_equal(made(&r, to, 0, forms[i].reg, from),
                             decode(&forms[i].code, from).target);
        }
}

static void literal_loads(void **state) {
    (void)state;
    const struct {
        struct code code;
        const char *reg, *load;
    } forms[] = {{CODE(0x4b10), "r3", "ldr r3, [r3]"},
                 {CODE(0xf8df, 0xc040), "ip", "ldr.w ip, [ip]"},
                 {CODE(0xf85f, 0xe040), "lr", "ldr.w lr, [lr]"},
                 {CODE(0xf89f, 0x3041), "r3", "ldrb.w r3, [r3]"},
                 {CODE(0xf8bf, 0x3042), "r3", "ldrh.w r3, [r3]"},
                 {CODE(0xf99f, 0x3041), "r3", "ldrsb.w r3, [r3]"},
                 {CODE(0xf93f, 0x3042), "r3", "ldrsh.w r3, [r3]"},
                 {CODE(0xe9df, 0x2310), "r2", "ldrd r2, r3, [r2]"},
                 {CODE(0xe95f, 0x2310), "r2", "ldrd r2, r3, [r2]"}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        EACH_PLACE(from, to) {
            struct relocated r;
            assert_int_equal(relocate(&forms[i].code, from, to, &r), 0);
            assert_int_equal(r.size, forms[i].code.size == 2 ? 12 : 14);
            assert_int_equal(made(&r, to, 0, forms[i].reg, from),
                             decode(&forms[i].code, from).target);
            assert_string_equal(part(&r, to, 3, from).text, forms[i].load);
        }
}

static void vector_and_pc_loads_from_a_copy(void **state) {
    (void)state;
    const struct {
        struct code code;
        uint8_t bytes;
    } forms[] = {{CODE(0xed9f, 0x3a10), 4},
                 {CODE(0xed1f, 0x3b10), 8},
                 {CODE(0xeddf, 0x3b10), 8},
                 {CODE(0xf8df, 0xf040), 4}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        EACH_PLACE(from, to) {
            struct relocated r;
            assert_int_equal(relocate(&forms[i].code, from, to, &r), 0);
            struct oracle_t32 load = part(&r, to, 0, from);
            struct insn in = decode(&forms[i].code, from);
            assert_int_equal(r.copy, in.target);
            assert_int_equal(r.copy_bytes, forms[i].bytes);
            assert_int_equal(in.copies, forms[i].bytes);
            assert_true(load.literal);
            assert_int_equal(load.target, to + r.copy_at);
            assert_int_equal(load.target % 4, 0);
            assert_int_equal(r.copy_at + r.copy_bytes, r.size);
            if (in.kind == INSN_JUMP_INDIRECT)
                continue;
            assert_int_equal(part(&r, to, 1, from + 4).target, to + r.size);
        }
}

/* Until it has run, the register is unchanged, and a borrowed register is on the stack. */
static void pc_sums_by_a_borrowed_register(void **state) {
    (void)state;
    const struct {
        struct code code;
        const char *borrowed, *push, *add, *pop;
        uint8_t reg;
    } forms[] = {{CODE(0x447b), "r0", "push {r0}", "add r3, r0", "pop {r0}", 0},
                 {CODE(0x4478), "r1", "push {r1}", "add r0, r1", "pop {r1}", 1},
                 {CODE(0x44fc), "r0", "push {r0}", "add ip, r0", "pop {r0}", 0}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        EACH_PLACE(from, to) {
            struct relocated r;
            assert_int_equal(relocate(&forms[i].code, from, to, &r), 0);
            assert_int_equal(r.part_count, 6);
            assert_string_equal(part(&r, to, 0, from).text, forms[i].push);
            assert_int_equal(made(&r, to, 1, forms[i].borrowed, from), from + 4);
            assert_string_equal(part(&r, to, 4, from).text, forms[i].add);
            assert_string_equal(part(&r, to, 5, from + 2).text, forms[i].pop);
            assert_int_equal(r.parts[0].pushed, 0);
            for (size_t k = 1; k < 6; k++)
                assert_int_equal(r.parts[k].pushed, forms[i].reg + 1);
        }
}

static void call_return_addresses(void **state) {
    (void)state;
    const struct code bl = CODE(0xf000, 0xf880), blx = CODE(0x4798), lr = CODE(0x47f0);
    EACH_PLACE(from, to) {
        struct relocated r;
        struct insn in = decode(&bl, from);
        assert_true(arch->can_call(&in, bl.bytes));
        assert_int_equal(relocate(&bl, from, to, &r), 0);
        assert_int_equal(made(&r, to, 0, "lr", from), from + 4 + 1);
        assert_int_equal(part(&r, to, 3, in.target).target, in.target);
        assert_false(part(&r, to, 3, in.target).call);
        in = decode(&blx, from);
        assert_true(arch->can_call(&in, blx.bytes));
        assert_int_equal(relocate(&blx, from, to, &r), 0);
        assert_int_equal(made(&r, to, 0, "lr", from), from + 2 + 1);
        assert_string_equal(part(&r, to, 3, from).text, "bx r3");
    }
    struct insn in = decode(&lr, FROM);
    assert_false(arch->can_call(&in, lr.bytes));
}

static void state_changing_calls_by_address(void **state) {
    (void)state;
    const struct code turns = CODE(0xf000, 0xe880), in_block = CODE(0xbf18, 0xf000, 0xe880);
    EACH_PLACE(from, to) {
        struct relocated r;
        struct insn in = decode(&turns, from);
        assert_true(in.turns);
        assert_int_equal(in.target, ((from + 4) & ~UINT64_C(3)) + 0x100);
        assert_true(arch->can_call(&in, turns.bytes));
        assert_int_equal(relocate(&turns, from, to, &r), 0);
        assert_int_equal(made(&r, to, 0, "lr", from), from + 4 + 1);
        struct oracle_t32 load = part(&r, to, 3, from);
        assert_true(load.literal);
        assert_int_equal(load.target, to + r.address_at);
        assert_int_equal(load.target % 4, 0);
        assert_int_equal(r.address, in.target); /* without the T32 bit */
        assert_int_equal(r.address_at + 4, r.size);
    }
    struct insn in = decode(&in_block, FROM);
    assert_false(arch->can_call(&in, in_block.bytes));
}

static void prefetches_left_out(void **state) {
    (void)state;
    struct relocated r;
    const struct code pld = CODE(0xf89f, 0xf040);
    assert_int_equal(relocate(&pld, FROM, FROM + 0x1000, &r), 0);
    assert_int_equal(r.size, 4);
    assert_true(part(&r, FROM, 0, FROM).nop);
}

static void check_text(const struct relocated *r, vaddr_t to, size_t nth, const char *text) {
    char found[192];
    assert_true(oracle_t32_text(r->bytes, r->size, to, nth, found));
    assert_string_equal(found, text);
}

static void it_block_conditions(void **state) {
    (void)state;
    /* itt lt; addlt r0, r2, r3; blt.n +64 */
    const struct code jumps = CODE(0xbfbc, 0x18d0, 0xe01e);
    /* ite hi; ldrhi r0, literal; addls r0, r2 */
    const struct code loads = CODE(0xbf8c, 0x4810, 0x4410);
    struct relocated r;
    struct insn in = decode(&jumps, FROM);
    assert_int_equal(in.kind, INSN_LOOP);
    assert_int_equal(relocate(&jumps, FROM, FROM + 0x1002, &r), 0);
    assert_int_equal(r.size, 8);
    char text[64];
    (void)snprintf(text, sizeof text, "blt.w #0x%" PRIx64, in.target);
    check_text(&r, FROM + 0x1002, 0, "itt lt");
    check_text(&r, FROM + 0x1002, 1, "addlt r0, r2, r3");
    check_text(&r, FROM + 0x1002, 2, text);
    assert_int_equal(r.parts[1].resume, FROM + 2);
    assert_int_equal(r.parts[2].resume, FROM + 4);
    assert_int_equal(relocate(&loads, FROM, FROM + 0x1000, &r), 0);
    check_text(&r, FROM + 0x1000, 0, "itttt hi");
    check_text(&r, FROM + 0x1000, 3, "addhi r0, pc");
    check_text(&r, FROM + 0x1000, 4, "ldrhi r0, [r0]");
    check_text(&r, FROM + 0x1000, 5, "it ls");
    check_text(&r, FROM + 0x1000, 6, "addls r0, r2");
    assert_int_equal(r.parts[0].resume, FROM);
    assert_int_equal(r.parts[4].resume, FROM + 2);
    assert_int_equal(r.parts[6].resume, FROM + 4);
}

static void unmovable_instructions(void **state) {
    (void)state;
    const struct {
        struct code code;
        uint8_t kind;
        bool stays;
    } forms[] = {
        {CODE(0xdf00), INSN_SYSCALL, false},
        {CODE(0xe8d1, 0x0f4f), INSN_EXCLUSIVE, false},    /* ldrexb */
        {CODE(0xe851, 0x0f00), INSN_EXCLUSIVE, false},    /* ldrex */
        {CODE(0xe841, 0x2000), INSN_EXCLUSIVE, false},    /* strex */
        {CODE(0xe8df, 0xf003), INSN_JUMP_INDIRECT, true}, /* tbb [pc, r3] */
        {CODE(0xe8df, 0xf013), INSN_JUMP_INDIRECT, true}, /* tbh */
        {CODE(0x449f), INSN_JUMP_INDIRECT, true},         /* add pc, r3 */
        {CODE(0x4778), INSN_JUMP, true},                  /* bx pc */
        {CODE(0xf8df, 0xd040), INSN_OTHER, true},         /* ldr sp, literal */
        {CODE(0xbf18, 0xf000, 0xf880), INSN_CALL, true},  /* it ne; blne */
        {CODE(0xbf18, 0x447b), INSN_OTHER, true},         /* it ne; addne r3, pc */
        {CODE(0x44fd), INSN_FIXED, false},                /* add sp, pc */
        {CODE(0xbe00), INSN_BREAK, false},                /* bkpt */
        {CODE(0xde01), INSN_BREAK, false},                /* gdb's */
        {CODE(0xf3de, 0x8f00), INSN_FIXED, false},        /* eret */
        {CODE(0xb662), INSN_FIXED, false},                /* cps */
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct insn in = decode(&forms[i].code, FROM);
        assert_int_equal(in.kind, forms[i].kind);
        if (forms[i].kind != INSN_FIXED)
            assert_int_equal(in.stays, forms[i].stays);
        assert_false(arch->can_call(&in, forms[i].code.bytes));
    }
}

/* The distance from LOAD's pc to its literal. */
static unsigned distance_of(const struct oracle_t32 *load) {
    const char *number = strchr(load->text, '#');
    assert_non_null(strstr(load->text, "pc, [pc"));
    return number ? (unsigned)strtoul(number + 1, NULL, 0) : 0;
}

/* Part I of R loads the pc from the word at the end, the address of TARGET. */
static void check_far(const struct relocated *r, vaddr_t to, size_t i, vaddr_t target) {
    struct oracle_t32 load = part(r, to, i, r->parts[i].resume);
    const vaddr_t pc = (to + r->parts[i].offset + 4) & ~(vaddr_t)3, at = to + r->address_at;
    assert_int_equal(r->address, target | 1);
    assert_int_equal(at % 4, 0);
    assert_int_equal(distance_of(&load), at - pc);
}

static void far_jumps(void **state) {
    (void)state;
    static const struct {
        int64_t distance;
        bool far;
    } forms[] = {{0xfffffc, false},   {0xfffffe, true},   {0x1000000, true},
                 {-0x1000002, false}, {-0x1000004, true}, {-0x1000006, true}};
    struct relocated r;
    const struct code b = CODE(0xe7fe) /* to itself */, bl = CODE(0xf7ff, 0xfffe);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const vaddr_t to = FROM + (vaddr_t)forms[i].distance;
        assert_int_equal(relocate(&b, FROM, to, &r), 0);
        assert_int_equal(r.address_at != 0, forms[i].far);
        assert_int_equal(r.size, !forms[i].far ? 4 : to % 4 ? 10 : 8);
        if (forms[i].far)
            check_far(&r, to, 0, FROM);
    }
    assert_int_equal(relocate(&bl, FROM, FROM + 0xfffff2, &r), 0); /* its jump is 10 bytes on */
    assert_int_equal(r.address_at, 0);
    assert_int_equal(relocate(&bl, FROM, FROM + 0xfffff4, &r), 0);
    check_far(&r, FROM + 0xfffff4, 3, FROM);
}

/* The opposite branch skips the whole far jump. */
static void far_branches_skip_a_far_jump(void **state) {
    (void)state;
    const struct code codes[] = {CODE(0xd0fe) /* beq */, CODE(0xb103) /* cbz r3 */,
                                 CODE(0xf000, 0x8000) /* beq.w */};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        for (vaddr_t to = FROM + 0x2000000; to < FROM + 0x2000004; to += 2) {
            struct relocated r;
            assert_int_equal(relocate(&codes[i], FROM, to, &r), 0);
            struct oracle_t32 over = part(&r, to, 0, FROM);
            assert_true(over.direct);
            assert_int_equal(over.target, to + r.size);
            check_far(&r, to, 1, decode(&codes[i], FROM).target);
        }
}

/* If the condition fails the thread continues behind the address. */
static void it_block_with_optional_far_jump(void **state) {
    (void)state;
    const struct code codes[] = {CODE(0xbf08, 0xe7fe) /* it eq; beq */,
                                 CODE(0xbf0c, 0x2001, 0xe7fe) /* ite eq; moveq; bne */,
                                 CODE(0xbf08, 0xf7ff, 0xbffe) /* it eq; beq.w */,
                                 CODE(0xbf04, 0x4b01, 0xe7fe) /* itt eq; ldreq r3; beq */};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        for (vaddr_t to = FROM + 0x2000000; to < FROM + 0x2000004; to += 2) {
            struct relocated r;
            assert_int_equal(relocate(&codes[i], FROM, to, &r), 0);
            const size_t last = r.part_count - 1u;
            struct oracle_t32 over = part(&r, to, last, FROM + codes[i].size);
            assert_true(over.jump && over.direct);
            assert_int_equal(r.parts[last].it, 0);
            assert_int_equal(over.target, to + r.size);
            check_far(&r, to, last - 1, decode(&codes[i], FROM).target);
        }
}

static void jumps_to_any_address(void **state) {
    (void)state;
    for (vaddr_t at = FROM; at < FROM + 4; at += 2) {
        uint8_t far[10];
        uint32_t address;
        struct oracle_t32 o;
        size_t size = arch->far_jump(far, at, 0x7654320);
        assert_int_equal(size, at % 4 ? 10 : 8);
        assert_true(size <= arch->far_bytes);
        memcpy(&address, far + size - 4, sizeof address);
        assert_int_equal(address, 0x7654321);
        assert_true(oracle_t32_decode(far, size, at, &o));
        assert_int_equal(distance_of(&o), at % 4 ? 4 : 0);
    }
}

static void hop_reach(void **state) {
    (void)state;
    uint8_t hop[2];
    assert_int_equal(arch->hop(hop, FROM, FROM + (vaddr_t)arch->hop_on), 0);
    assert_int_equal(arch->hop(hop, FROM, FROM + (vaddr_t)arch->hop_on + 2), -ERANGE);
    assert_int_equal(arch->hop(hop, FROM, FROM + (vaddr_t)arch->hop_back), 0);
    assert_int_equal(arch->hop(hop, FROM, FROM + (vaddr_t)arch->hop_back - 2), -ERANGE);
    struct oracle_t32 o;
    assert_int_equal(arch->hop(hop, FROM, FROM - 0x400), 0);
    assert_true(oracle_t32_decode(hop, sizeof hop, FROM, &o));
    assert_true(o.jump);
    assert_int_equal(o.target, FROM - 0x400);
}

static void untaken_exit_skip(void **state) {
    (void)state;
    static const uint32_t skips[] = {4, 126, 128, 130, 300, 3000, 100000};
    const struct {
        struct code code;
        const char *opposite;
    } forms[] = {{CODE(0xd010), "bne.w"},         {CODE(0xf340, 0x8040), "bgt.w"},
                 {CODE(0xbf18, 0x4770), "beq.w"}, {CODE(0xbf0c, 0x2001, 0x4770), "beq.w"},
                 {CODE(0xb183), "cbnz"},          {CODE(0xb983), "cbz"}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        for (size_t k = 0; k < sizeof skips / sizeof *skips; k++) {
            struct insn in = decode(&forms[i].code, FROM);
            uint8_t out[RELOCATED_MAX_BYTES];
            struct oracle_t32 o;
            assert_int_equal(in.kind, INSN_BRANCH);
            size_t size = arch->skip_unless(&in, forms[i].code.bytes, skips[k], out);
            assert_true(size > 0);
            assert_true(oracle_t32_decode(out, size, FROM, &o));
            if (size == 6) { /* cbz over a jump */
                assert_int_equal(o.target, FROM + 6);
                assert_true(oracle_t32_decode(out + 2, 4, FROM + 2, &o));
                assert_true(o.jump);
            } else {
                assert_string_equal(o.mnemonic, forms[i].opposite);
            }
            assert_int_equal(o.target, FROM + size + skips[k]);
        }
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
