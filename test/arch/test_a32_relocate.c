/*
 * A32 instructions moved to other addresses mean the same there: bytes in, bytes out, judged by
 * Capstone. test/arch/a32 runs them.
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
#include "oracle_a32.h"

#define TESTS                                                                                      \
    TEST(position_independent_words_unchanged)                                                     \
    TEST(branch_targets_and_conditions)                                                            \
    TEST(address_computations)                                                                     \
    TEST(sums_and_loads_with_pc)                                                                   \
    TEST(vector_loads_from_a_copy)                                                                 \
    TEST(literal_jump_with_its_copy)                                                               \
    TEST(call_return_addresses)                                                                    \
    TEST(prefetches_left_out)                                                                      \
    TEST(conditional_and_t32_calls_refused)                                                        \
    TEST(far_jumps)                                                                                \
    TEST(opposite_condition_skip)

enum { AHEAD = 8, ALWAYS = (int)0xe0000000 };
static const vaddr_t FROM = 0x40000000;
static const int64_t places[] = {-0x1f00000, -0x1000, 4, 0x12344, 0x1f00ff4}; /* from FROM */
static const struct arch *const arch = &arch_a32;

static int relocate(uint32_t word, vaddr_t to, struct relocated *ret) {
    struct insn in;
    assert_true(arch->decode((const uint8_t *)&word, sizeof word, FROM, &in, NULL));
    assert_false(in.stays);
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

static struct oracle_a32 read_back(const struct relocated *r, vaddr_t to, size_t offset) {
    struct oracle_a32 o;
    assert_true(offset + 4 <= r->size);
    assert_true(oracle_a32_decode(word_at(r, offset), to + offset, &o));
    return o;
}

/* COUNT parts of one word each. A thread in the last part resumes at LAST, in others at FROM. */
static void check_parts(const struct relocated *r, size_t count, vaddr_t last) {
    assert_int_equal(r->part_count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(r->parts[i].offset, 4 * i);
        assert_int_equal(r->parts[i].resume, i && i + 1 == count ? last : FROM);
        assert_false(r->parts[i].through);
    }
}

#define EACH_PLACE(to)                                                                             \
    for (vaddr_t _i = 0, to = FROM + (vaddr_t)places[0];                                           \
         _i < sizeof places / sizeof *places && ((to = FROM + (vaddr_t)places[_i]), true); _i++)

static void position_independent_words_unchanged(void **state) {
    (void)state;
    static const uint32_t words[] = {
        0xe92d4ff0 /* push {r4-fp, lr} */,
        0xe24dd008 /* sub sp, sp, #8 */,
        0xe12fff1e /* bx lr */,
        0x112fff1e /* bxne lr */,
        0xe8bd8010 /* pop {r4, pc} */,
        0x08bd8010 /* popeq {r4, pc} */,
        0xe1a0f003 /* mov pc, r3 */,
        0xe5bcf008 /* ldr pc, [ip, #8]! */,
        0xe080f001 /* add pc, r0, r1 */,
        0xee1d3f70 /* mrc p15, 0, r3, c13, c0, 3 */,
        0xe7910102 /* ldr r0, [r1, r2, lsl #2] */,
        0xf2210102 /* a vector's */,
        0xe320f000 /* nop */,
        0xe2a10000 /* adc r0, r1, #0 */,
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        EACH_PLACE(to) {
            struct relocated r;
            assert_int_equal(relocate(words[i], to, &r), 0);
            assert_int_equal(r.size, 4);
            assert_int_equal(word_at(&r, 0), words[i]);
            check_parts(&r, 1, FROM);
            assert_int_equal(r.copy_bytes, 0);
        }
}

/* A jump that loads the pc with the address of TARGET, on the same condition. If the condition
 * fails the thread continues behind the address. */
static void check_far(const struct relocated *r, vaddr_t to, vaddr_t target, uint32_t condition) {
    const bool always = condition == 14;
    struct oracle_a32 load = read_back(r, to, 0);
    assert_int_equal(r->address, target);
    assert_int_equal(r->address_at, r->size - 4);
    assert_int_equal(r->size, always ? 8 : 12);
    assert_int_equal(word_at(r, 0) >> 28, condition);
    assert_non_null(strstr(load.text, always ? "pc, [pc, #-4]" : "pc, [pc"));
    if (always) {
        check_parts(r, 1, FROM);
        return;
    }
    assert_int_equal(word_at(r, 0) & 0xfff, 0); /* two words on */
    struct oracle_a32 over = read_back(r, to, 4);
    assert_true(over.leaves && over.direct && !over.conditional);
    assert_int_equal(over.target, to + 12);
    check_parts(r, 2, FROM + 4);
}

static void branch_targets_and_conditions(void **state) {
    (void)state;
    static const uint32_t words[] = {
        0xea000002 /* b +16 */,
        0xeafffffa /* b -16 */,
        0xea400000 /* b +16 MB */,
        0x0a000002 /* beq */,
        0x9afffffa /* bls */,
        0xe28ff008 /* add pc, pc, #8 */,
        0x124ff010 /* subne pc, pc, #16 */,
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        EACH_PLACE(to) {
            struct relocated r;
            struct insn before;
            arch->decode((const uint8_t *)&words[i], 4, FROM, &before, NULL);
            int64_t distance = (int64_t)(before.target - to) - AHEAD;
            bool near = distance >= -0x2000000 && distance < 0x2000000;
            assert_int_equal(relocate(words[i], to, &r), 0);
            assert_int_equal(r.address_at == 0, near);
            if (!near) {
                check_far(&r, to, before.target, words[i] >> 28);
                continue;
            }
            assert_int_equal(r.size, 4);
            struct oracle_a32 after = read_back(&r, to, 0);
            assert_true(after.leaves && after.direct && !after.call);
            assert_int_equal(after.target, before.target);
            assert_int_equal(word_at(&r, 0) >> 28, words[i] >> 28);
            check_parts(&r, 1, FROM);
        }
}

/* ---- values that sequences compute, read from Capstone's text ---- */

struct machine {
    uint32_t r[16];
    uint32_t read; /* the place that the last load read */
};

static const char *const names[16] = {"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7",
                                      "r8", "sb", "sl", "fp", "ip", "sp", "lr", "pc"};

static int number_of(const char *name) {
    for (int i = 0; i < 16; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

static uint32_t value_of(const struct machine *m, const char *text) {
    if (text[0] == '#')
        return text[1] == '-' ? -(uint32_t)strtoul(text + 2, NULL, 0)
                              : (uint32_t)strtoul(text + 1, NULL, 0);
    int sign = text[0] == '-', reg = number_of(text + sign);
    assert_true(reg >= 0);
    return sign ? -m->r[reg] : m->r[reg];
}

/* Runs add, sub and loads, whatever their conditions. */
static void step(struct machine *m, const char *text, vaddr_t at) {
    char name[16], rd[8], a[16] = "", b[16] = "", rest[32] = "";
    m->r[15] = (uint32_t)at + AHEAD;
    assert_true(sscanf(text, "%15s %7[^,], %15[^,], %15[^,], %31[^\n]", name, rd, a, b, rest) >= 3);
    if (strncmp(name, "ldrd", 4) == 0) {
        snprintf(a, sizeof a, "%s", b);
        snprintf(b, sizeof b, "%s", rest);
    }
    b[strcspn(b, "]")] = '\0';
    char *base = a + (a[0] == '[');
    base[strcspn(base, "]")] = '\0';
    uint32_t second = b[0] ? value_of(m, b) : 0, first = value_of(m, base);
    if (strncmp(rest, "lsl #", 5) == 0)
        second <<= strtoul(rest + 5, NULL, 0);
    if (strncmp(name, "ldr", 3) == 0)
        m->read = first + second;
    else
        m->r[number_of(rd)] = strncmp(name, "add", 3) == 0 ? first + second : first - second;
}

static void run(struct machine *m, const struct relocated *r, vaddr_t to, size_t words) {
    for (size_t i = 0; i < words; i++)
        step(m, read_back(r, to, 4 * i).text, to + 4 * i);
}

static const struct machine START = {.r = {11, 0x2222, 0x33334, 4, 0x55, 6, 7, 8, 9, 10, 11, 12}};

static void address_computations(void **state) {
    (void)state;
    static const uint32_t words[] = {0xe28f3008, 0xe24f3e12, 0xe28f0102 /* + 0x80000000 */,
                                     0x028f3008, 0xe1a0e00f, 0xe1a0300f};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        EACH_PLACE(to) {
            struct relocated r;
            struct insn in;
            struct machine m = START;
            arch->decode((const uint8_t *)&words[i], 4, FROM, &in, NULL);
            assert_int_equal(in.operand, OPERAND_PC_ADDRESS);
            assert_int_equal(relocate(words[i], to, &r), 0);
            run(&m, &r, to, r.size / 4);
            assert_int_equal(m.r[words[i] >> 12 & 15], (uint32_t)in.target);
            check_parts(&r, r.size / 4, FROM);
            for (size_t k = 0; k < r.size; k += 4)
                assert_int_equal(word_at(&r, k) >> 28, words[i] >> 28);
        }
}

/* Each of these reads the pc and another register, or writes a register that it does not read. */
static void sums_and_loads_with_pc(void **state) {
    (void)state;
    static const uint32_t words[] = {
        0xe08f0003 /* add r0, pc, r3 */,
        0xe083000f /* add r0, r3, pc */,
        0xe04f0003 /* sub r0, pc, r3 */,
        0xe08f0103 /* add r0, pc, r3, lsl #2 */,
        0x108f0003 /* addne */,
        0xe59f0010 /* ldr r0, literal */,
        0xe51f0ffc /* ldr r0, before */,
        0xe5df0010 /* ldrb */,
        0xe1df01b0 /* ldrh */,
        0xe15f01d0 /* ldrsb, before */,
        0xe1df0ffe /* ldrsh, far */,
        0xe1cf01d0 /* ldrd */,
        0x059f0010 /* ldreq */,
        0xe79f0003 /* ldr r0, [pc, r3] */,
        0xe79f0103 /* …, lsl #2 */,
        0xe71f0003 /* ldr r0, [pc, -r3] */,
        0xe7df0003 /* ldrb r0, [pc, r3]*/,
        0xe19f00b3 /* ldrh r0, [pc, r3] */,
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        EACH_PLACE(to) {
            struct relocated r;
            struct oracle_a32 o;
            struct machine before = START, after = START;
            assert_true(oracle_a32_decode(words[i], FROM, &o));
            step(&before, o.text, FROM);
            assert_int_equal(relocate(words[i], to, &r), 0);
            run(&after, &r, to, r.size / 4);
            assert_int_equal(after.read, before.read);
            if (!before.read)
                assert_int_equal(after.r[0], before.r[0]);
            assert_memory_equal(after.r + 1, before.r + 1, 14 * sizeof *after.r);
            check_parts(&r, r.size / 4, FROM);
        }
}

static void vector_loads_from_a_copy(void **state) {
    (void)state;
    static const struct {
        uint32_t word;
        const char *load;
        uint8_t bytes;
    } forms[] = {{0xed9f7b02, "vldr d7, [pc]", 8},
                 {0xed1f7b06, "vldr d7, [pc]", 8},
                 {0x0ddf3a02, "vldreq s7, [pc]", 4}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        EACH_PLACE(to) {
            struct relocated r;
            struct insn in;
            arch->decode((const uint8_t *)&forms[i].word, 4, FROM, &in, NULL);
            assert_int_equal(in.copies, forms[i].bytes);
            assert_int_equal(relocate(forms[i].word, to, &r), 0);
            assert_int_equal(r.size, 8 + forms[i].bytes);
            assert_int_equal(r.copy_bytes, forms[i].bytes);
            assert_int_equal(r.copy_at, 8); /* where the pc is */
            assert_int_equal(r.copy, in.target);
            assert_string_equal(read_back(&r, to, 0).text, forms[i].load);
            struct oracle_a32 jump = read_back(&r, to, 4);
            assert_true(jump.leaves && !jump.conditional);
            assert_int_equal(jump.target, to + r.size);
            check_parts(&r, 2, FROM + 4);
        }
}

/* ldr pc, [pc, #-4]: the linker's jump to far code. */
static void literal_jump_with_its_copy(void **state) {
    (void)state;
    EACH_PLACE(to) {
        struct relocated r;
        assert_int_equal(relocate(0xe51ff004, to, &r), 0);
        assert_int_equal(r.size, 8);
        assert_int_equal(word_at(&r, 0), 0xe51ff004);
        assert_int_equal(r.copy_at, 4);
        assert_int_equal(r.copy_bytes, 4);
        assert_int_equal(r.copy, FROM + 4);
        check_parts(&r, 1, FROM);
    }
}

static void call_return_addresses(void **state) {
    (void)state;
    const uint32_t bl = 0xeb000040; /* to FROM + 0x108 */
    struct insn in;
    arch->decode((const uint8_t *)&bl, sizeof bl, FROM, &in, NULL);
    assert_true(arch->can_call(&in, (const uint8_t *)&bl));
    EACH_PLACE(to) {
        struct relocated r;
        struct machine m = START;
        assert_int_equal(relocate(bl, to, &r), 0);
        run(&m, &r, to, r.size / 4 - 1);
        assert_int_equal(m.r[14], FROM + 4);
        struct oracle_a32 jump = read_back(&r, to, r.size - 4u);
        assert_int_equal(jump.target, FROM + 0x108);
        assert_true(jump.leaves && !jump.call);
        check_parts(&r, r.size / 4, FROM + 0x108);
    }
}

static void prefetches_left_out(void **state) {
    (void)state;
    struct relocated r;
    assert_int_equal(relocate(0xf5dff010, FROM + 0x1000, &r), 0);
    assert_int_equal(r.size, 4);
    assert_int_equal(word_at(&r, 0), 0xe1a00000);
    assert_int_equal(relocate(0xf5d1f010, FROM + 0x1000, &r), 0);
    assert_int_equal(word_at(&r, 0), 0xf5d1f010);
}

static void conditional_and_t32_calls_refused(void **state) {
    (void)state;
    static const uint32_t words[] = {0x1b000001, 0xfa000001, 0xe12fff33, 0x112fff33, 0xea000001};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct insn in;
        arch->decode((const uint8_t *)&words[i], 4, FROM, &in, NULL);
        assert_false(arch->can_call(&in, (const uint8_t *)&words[i]));
    }
}

static void far_jumps(void **state) {
    (void)state;
    struct relocated r;
    assert_int_equal(relocate(0xea000000, FROM + 0x2000000, &r), 0); /* its target is 8 bytes on */
    assert_int_equal(r.address_at, 0);
    assert_int_equal(relocate(0xea000000, FROM + 0x2000004, &r), 0);
    check_far(&r, FROM + 0x2000004, FROM + 8, 14);
    assert_int_equal(relocate(0xeb000000, FROM + 0x4000000, &r), 0); /* bl */
    assert_int_equal(r.address, FROM + 8);
    assert_int_equal(r.address_at, r.size - 4);
    assert_string_equal(read_back(&r, FROM + 0x4000000, r.size - 8u).text, "ldr pc, [pc, #-4]");
    uint8_t far[8];
    const uint32_t expected[] = {0xe51ff004, 0x12345678};
    assert_int_equal(arch->far_jump(far, FROM + 4, 0x12345678), sizeof far);
    assert_memory_equal(far, expected, sizeof far);
    assert_int_equal(arch->far_bytes, sizeof far);
    assert_int_equal(relocate(0xe28f3008, FROM + 0x30000000, &r), 0);
    uint8_t jump[4];
    assert_int_equal(arch->jump(jump, FROM, FROM + 0x2000004), 0);
    assert_int_equal(arch->jump(jump, FROM, FROM + 0x2000008), -ERANGE);
    assert_int_equal(arch->jump(jump, FROM, FROM - 0x1fffff8), 0);
    assert_int_equal(arch->jump(jump, FROM, FROM - 0x1fffffc), -ERANGE);
    assert_int_equal(arch->jump(jump, FROM, FROM + 2), -ERANGE);
}

static void opposite_condition_skip(void **state) {
    (void)state;
    static const uint32_t exits[] = {0x0a000002, 0x08bd8010, 0x012fff1e, 0x01a0f003, 0x049df004};
    for (size_t i = 0; i < sizeof exits / sizeof *exits; i++)
        for (uint32_t condition = 0; condition < 14; condition++) {
            struct insn in;
            uint8_t out[RELOCATED_MAX_BYTES];
            uint32_t skip, word = exits[i] | condition << 28;
            struct oracle_a32 o;
            assert_true(arch->decode((const uint8_t *)&word, 4, FROM, &in, NULL));
            assert_int_equal(in.kind, INSN_BRANCH);
            assert_int_equal(arch->skip_unless(&in, (const uint8_t *)&word, 300, out), 4);
            memcpy(&skip, out, sizeof skip);
            assert_true(oracle_a32_decode(skip, FROM, &o));
            assert_int_equal(o.target, FROM + 304);
            assert_int_equal(skip >> 28, condition ^ 1);
        }
    const uint32_t always = (uint32_t)ALWAYS | 0x0a000002;
    struct insn in;
    uint8_t out[RELOCATED_MAX_BYTES];
    arch->decode((const uint8_t *)&always, 4, FROM, &in, NULL);
    assert_int_equal(arch->skip_unless(&in, (const uint8_t *)&always, 300, out), 0);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
