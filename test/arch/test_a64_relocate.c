/*
 * A64 instructions moved to other addresses mean the same there: bytes in, bytes out, judged by
 * Capstone. test/arch/a64 runs them.
 */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arch/arch.h"
#include "oracle_a64.h"

#define TESTS                                                                                      \
    TEST(position_independent_words_unchanged)                                                     \
    TEST(jump_targets)                                                                             \
    TEST(branch_inverted_over_a_jump)                                                              \
    TEST(consistent_branches)                                                                      \
    TEST(adr_in_two_steps)                                                                         \
    TEST(adrp_in_one_step)                                                                         \
    TEST(literal_loads)                                                                            \
    TEST(vector_loads_from_a_copy)                                                                 \
    TEST(call_return_addresses)                                                                    \
    TEST(prefetches_left_out)                                                                      \
    TEST(unmovable_instructions)                                                                   \
    TEST(targets_out_of_reach_refused)                                                             \
    TEST(inverted_branch_skip)

static const vaddr_t FROM = 0x40000000;
static const int64_t places[] = {-0x7f00000, -0x1000, 4, 0x12344, 0x7f00000}; /* from FROM */
static const struct arch *arch;

static int relocate(uint32_t word, vaddr_t from, vaddr_t to, struct relocated *ret) {
    struct insn in;
    assert_true(arch->decode((const uint8_t *)&word, sizeof word, from, &in, NULL));
    memset(ret, 0xee, sizeof *ret);
    int r = arch->relocate(&in, (const uint8_t *)&word, to, ret);
    if (!r)
        assert_true(ret->size <= arch->relocated_bytes(&in));
    return r;
}

static uint32_t word_at(const struct relocated *r, size_t offset) {
    uint32_t word;
    memcpy(&word, r->bytes + offset, sizeof word);
    return word;
}

static struct oracle_a64 read_back(const struct relocated *r, vaddr_t to, size_t offset) {
    struct oracle_a64 o;
    assert_true(offset + 4 <= r->size);
    assert_true(oracle_a64_decode(word_at(r, offset), to + offset, &o));
    return o;
}

static void check_parts(const struct relocated *r, size_t count, const vaddr_t *resumes) {
    assert_int_equal(r->part_count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(r->parts[i].offset, 4 * i);
        assert_int_equal(r->parts[i].resume, resumes[i]);
        assert_false(r->parts[i].through);
    }
    assert_int_equal(r->address_at, 0);
}

#define EACH_PLACE(to)                                                                             \
    for (vaddr_t _i = 0, to = FROM + (vaddr_t)places[0];                                           \
         _i < sizeof places / sizeof *places && ((to = FROM + (vaddr_t)places[_i]), true); _i++)

static void position_independent_words_unchanged(void **state) {
    (void)state;
    static const uint32_t words[] = {
        0xa9bf7bfd /* stp x29, x30, [sp, #-16]! */,
        0xd10083ff /* sub sp, sp, #32 */,
        0xd65f03c0 /* ret */,
        0xd65f0bff /* retaa */,
        0xd65f0fff /* retab */,
        0xd61f0200 /* br x16 */,
        0xd71f0a11 /* braa x16, x17 */,
        0xd61f0a1f /* braaz x16 */,
        0xd53bd041 /* mrs x1, tpidr_el0 */,
        0xb8617800 /* ldr w0, [x0, x1, lsl #2] */,
        0x4ea01c01 /* mov v1.16b, v0.16b */,
        0xd503201f /* nop */,
        0xd503241f /* bti */,
        0xf8e00020 /* ldaddal x0, x0, [x1] */,
        0x04a0e3e0 /* cntw x0 */,
        0x00000000 /* udf #0 */,
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        EACH_PLACE(to) {
            struct relocated r;
            assert_int_equal(relocate(words[i], FROM, to, &r), 0);
            assert_int_equal(r.size, 4);
            assert_int_equal(word_at(&r, 0), words[i]);
            check_parts(&r, 1, &FROM);
            assert_int_equal(r.copy_bytes, 0);
        }
}

static void jump_targets(void **state) {
    (void)state;
    static const uint32_t words[] = {0x14000004 /* b +16 */, 0x17fffffc /* b -16 */,
                                     0x15000000 /* b +64 MB */, 0x5400008e /* b.al +16 */,
                                     0x5400008f /* b.nv +16 */};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        EACH_PLACE(to) {
            struct relocated r;
            struct oracle_a64 before, after;
            oracle_a64_decode(words[i], FROM, &before);
            int64_t distance = (int64_t)(before.target - to);
            bool near = distance >= -0x8000000 && distance < 0x8000000;
            assert_int_equal(relocate(words[i], FROM, to, &r), near ? 0 : -ERANGE);
            if (!near)
                continue;
            assert_int_equal(r.size, 4);
            after = read_back(&r, to, 0);
            assert_true(after.jump);
            assert_int_equal(after.target, before.target);
            check_parts(&r, 1, &FROM);
        }
}

/* The opposite condition, of the same registers and bits. */
static void branch_inverted_over_a_jump(void **state) {
    (void)state;
    static const struct {
        uint32_t word;
        const char *before, *after;
    } forms[] = {
        {0x54000080, "b.eq", "b.ne"},
        {0x54000081, "b.ne", "b.eq"},
        {0x54000082, "b.hs", "b.lo"},
        {0x54000083, "b.lo", "b.hs"},
        {0x54000084, "b.mi", "b.pl"},
        {0x54000087, "b.vc", "b.vs"},
        {0x54000088, "b.hi", "b.ls"},
        {0x5400008a, "b.ge", "b.lt"},
        {0x5400008c, "b.gt", "b.le"},
        {0x5400008d, "b.le", "b.gt"},
        {0xb4000085, "cbz x5,", "cbnz x5,"},
        {0x35ffff85, "cbnz w5,", "cbz w5,"},
        {0x36180083, "tbz w3, #3,", "tbnz w3, #3,"},
        {0xb7f80083, "tbnz x3, #0x3f,", "tbz x3, #0x3f,"},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        EACH_PLACE(to) {
            struct relocated r;
            struct oracle_a64 before, over, jump;
            assert_true(oracle_a64_decode(forms[i].word, FROM, &before));
            assert_memory_equal(before.text, forms[i].before, strlen(forms[i].before));
            assert_int_equal(relocate(forms[i].word, FROM, to, &r), 0);
            assert_int_equal(r.size, 8);
            over = read_back(&r, to, 0);
            jump = read_back(&r, to, 4);
            assert_memory_equal(over.text, forms[i].after, strlen(forms[i].after));
            assert_int_equal(over.target, to + 8);
            assert_true(jump.jump && jump.direct);
            assert_int_equal(jump.target, before.target);
            check_parts(&r, 2, (const vaddr_t[]){FROM, before.target});
        }
}

/* Consistent branches (Armv8.8) are not known to Capstone 4: bit 4 is their only difference. */
static void consistent_branches(void **state) {
    (void)state;
    struct relocated r;
    assert_int_equal(relocate(0x54000090, FROM, FROM + 0x1000, &r), 0);
    assert_int_equal(word_at(&r, 0), 0x54000051); /* bc.ne +8 */
    assert_int_equal(word_at(&r, 4), 0x14000000 | ((0x10 - 0x1004) / 4 & 0x3ffffff));
}

/* Runs adrp and add, as read by Capstone. */
static uint64_t added(const struct relocated *r, vaddr_t to, const char *reg) {
    struct oracle_a64 page = read_back(r, to, 0), low = read_back(r, to, 4);
    char head[32], tail[32];
    uint64_t low_bits = 0;
    (void)snprintf(head, sizeof head, "adrp %s, ", reg);
    (void)snprintf(tail, sizeof tail, "add %s, %s, #%%" SCNi64, reg, reg);
    assert_memory_equal(page.text, head, strlen(head));
    if (sscanf(low.text, tail, &low_bits) != 1)
        fail_msg("%s", low.text);
    return page.target + low_bits;
}

static void adr_in_two_steps(void **state) {
    (void)state;
    static const uint32_t words[] = {0x10000083 /* adr x3, +16 */, 0x50ffff83 /* adr x3, -14 */,
                                     0x707fffe3 /* adr x3, +1 MB − 1 */,
                                     0x10800003 /* adr x3, −1 MB */};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        EACH_PLACE(to) {
            struct relocated r;
            struct oracle_a64 before;
            oracle_a64_decode(words[i], FROM, &before);
            assert_int_equal(relocate(words[i], FROM, to, &r), 0);
            assert_int_equal(r.size, 8);
            assert_int_equal(added(&r, to, "x3"), before.target);
            check_parts(&r, 2, (const vaddr_t[]){FROM, FROM}); /* x3 is overwritten anyway */
        }
}

static void adrp_in_one_step(void **state) {
    (void)state;
    static const uint32_t words[] = {0x90000003, 0xf0000083, 0xd0ffff83, 0x90400003};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        EACH_PLACE(to) {
            struct relocated r;
            struct oracle_a64 before, after;
            oracle_a64_decode(words[i], FROM + 0xffc, &before);
            assert_int_equal(relocate(words[i], FROM + 0xffc, to, &r), 0);
            assert_int_equal(r.size, 4);
            after = read_back(&r, to, 0);
            assert_true(after.page);
            assert_int_equal(after.target, before.target);
            check_parts(&r, 1, (const vaddr_t[]){FROM + 0xffc});
        }
}

static void literal_loads(void **state) {
    (void)state;
    static const struct {
        uint32_t word;
        const char *load;
        unsigned scale;
    } forms[] = {
        {0x18000083, "ldr w3, [x3", 4},   {0x18ffff83, "ldr w3, [x3", 4},
        {0x58000083, "ldr x3, [x3", 8},   {0x580000a3, "ldr x3, [x3", 8}, /* +20: not aligned */
        {0x98000083, "ldrsw x3, [x3", 4}, {0x98ffffa3, "ldrsw x3, [x3", 4},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        EACH_PLACE(to) {
            struct relocated r;
            struct oracle_a64 before, load;
            uint64_t low = 0;
            oracle_a64_decode(forms[i].word, FROM, &before);
            bool aligned = before.target % forms[i].scale == 0;
            assert_int_equal(relocate(forms[i].word, FROM, to, &r), 0);
            assert_int_equal(r.size, aligned ? 8 : 12);
            load = read_back(&r, to, r.size - 4u);
            size_t head = strlen(forms[i].load);
            assert_memory_equal(load.text, forms[i].load, head);
            (void)sscanf(load.text + head, ", #%" SCNi64, &low);
            uint64_t base = aligned ? read_back(&r, to, 0).target : added(&r, to, "x3");
            assert_int_equal(base + low, before.target);
            check_parts(&r, aligned ? 2 : 3, (const vaddr_t[]){FROM, FROM, FROM});
        }
}

static void vector_loads_from_a_copy(void **state) {
    (void)state;
    static const struct {
        uint32_t word;
        const char *load;
        uint8_t bytes;
    } forms[] = {
        {0x1c000087, "ldr s7,", 4}, {0x5c000087, "ldr d7,", 8}, {0x9c000087, "ldr q7,", 16}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        EACH_PLACE(to) {
            struct relocated r;
            assert_int_equal(relocate(forms[i].word, FROM, to, &r), 0);
            assert_int_equal(r.size, 8 + forms[i].bytes);
            assert_int_equal(r.copy_bytes, forms[i].bytes);
            assert_int_equal(r.copy, FROM + 16);
            struct oracle_a64 load = read_back(&r, to, 0), jump = read_back(&r, to, 4);
            assert_memory_equal(load.text, forms[i].load, strlen(forms[i].load));
            assert_int_equal(load.target, to + r.copy_at);
            assert_int_equal(jump.target, to + r.size);
            check_parts(&r, 2, (const vaddr_t[]){FROM, FROM + 4});
        }
}

static void call_return_addresses(void **state) {
    (void)state;
    const uint32_t bl = 0x94000041; /* to FROM + 0x104 */
    struct insn in;
    arch->decode((const uint8_t *)&bl, sizeof bl, FROM, &in, NULL);
    assert_true(arch->can_call(&in, (const uint8_t *)&bl));
    EACH_PLACE(to) {
        struct relocated r;
        assert_int_equal(relocate(bl, FROM, to, &r), 0);
        assert_int_equal(r.size, 12);
        check_parts(&r, 3, (const vaddr_t[]){FROM, FROM, FROM + 0x104});
        assert_int_equal(read_back(&r, to, 0).target, FROM & ~(vaddr_t)0xfff);
        assert_int_equal(word_at(&r, 0) & 31, 30);
        assert_int_equal(word_at(&r, 4), 0x910013de); /* add x30, x30, #4 */
        assert_int_equal(read_back(&r, to, 8).target, FROM + 0x104);
        assert_false(read_back(&r, to, 8).call);
    }
}

static void prefetches_left_out(void **state) {
    (void)state;
    struct relocated r;
    assert_int_equal(relocate(0xd8000083, FROM, FROM + 0x1000, &r), 0);
    assert_int_equal(r.size, 4);
    assert_true(read_back(&r, FROM, 0).nop);
}

static void unmovable_instructions(void **state) {
    (void)state;
    static const struct {
        uint32_t word;
        uint8_t kind;
    } words[] = {
        {0xd63f0200, INSN_CALL_INDIRECT}, {0xd4000001, INSN_SYSCALL},
        {0xc85f7c20, INSN_EXCLUSIVE},                                   /* ldxr */
        {0xc8027c20, INSN_EXCLUSIVE},     {0xc87f0c22, INSN_EXCLUSIVE}, /* stxr, ldxp */
        {0x1800009f, INSN_FIXED},         {0x5800009f, INSN_FIXED},     /* ldr wzr, ldr xzr */
        {0xd503245f, INSN_LANDING},       {0xd503233f, INSN_LANDING},
        {0xd4400000, INSN_FIXED},         {0xd69f03e0, INSN_FIXED}, /* hlt, eret */
        {0xd4200000, INSN_BREAK},         {0xd4207d00, INSN_TRAP},  /* brk #0, brk #1000 */
        {0xd42000a0, INSN_BREAK},                                   /* the kernel's probes */
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct insn in;
        const uint8_t *bytes = (const uint8_t *)&words[i].word;
        assert_true(arch->decode(bytes, 4, FROM, &in, NULL));
        assert_int_equal(in.kind, words[i].kind);
        assert_false(arch->can_call(&in, bytes));
    }
}

static void targets_out_of_reach_refused(void **state) {
    (void)state;
    static const struct {
        uint32_t word;
        vaddr_t near, far;
    } forms[] = {{0x14000000, 0x8000000, 0x8000004},    {0x54000000, 0x7fffffc, 0x8000000},
                 {0x94000000, 0x7fffff8, 0x7fffffc}, /* its jump is 8 bytes on */
                 {0x10000000, 0xfffff000, 0x100001000}, {0x90000000, 0xfffff000, 0x100001000},
                 {0x58000000, 0xfffff000, 0x100001000}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct relocated r;
        assert_int_equal(relocate(forms[i].word, FROM, FROM + forms[i].near, &r), 0);
        assert_int_equal(relocate(forms[i].word, FROM, FROM + forms[i].far, &r), -ERANGE);
    }
    uint8_t jump[4];
    assert_int_equal(arch->jump(jump, FROM, FROM + 0x7fffffc), 0);
    assert_int_equal(arch->jump(jump, FROM, FROM + 0x8000000), -ERANGE);
    assert_int_equal(arch->jump(jump, FROM, FROM - 0x8000000), 0);
    assert_int_equal(arch->jump(jump, FROM, FROM - 0x8000004), -ERANGE);
    assert_int_equal(arch->jump(jump, FROM, FROM + 2), -ERANGE);
}

static void inverted_branch_skip(void **state) {
    (void)state;
    static const uint32_t words[] = {0x54000080, 0xb4000085, 0x35ffff85, 0x36180083, 0xb7f80083};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct insn in;
        uint8_t out[RELOCATED_MAX_BYTES];
        const uint8_t *bytes = (const uint8_t *)&words[i];
        arch->decode(bytes, 4, FROM, &in, NULL);
        assert_int_equal(arch->skip_unless(&in, bytes, 300, out), 4);
        uint32_t skip;
        struct oracle_a64 o;
        memcpy(&skip, out, sizeof skip);
        assert_true(oracle_a64_decode(skip, FROM, &o));
        assert_int_equal(o.target, FROM + 304);
        assert_true(o.branch);
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    arch = arch_for_machine(EM_AARCH64);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
