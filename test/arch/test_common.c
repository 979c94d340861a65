/*
 * The fast decoder of x86-64, its flags and its effects on the stack answer as the slow ones do:
 * for every opcode of both maps, with all combinations of prefixes that occur, every ModRM byte and
 * every kind of SIB byte, and for cut-off bytes. They also know all instructions that compilers
 * write.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "arch/x86_64/x86_64.h"

#define TESTS                                                                                      \
    TEST(one_byte_opcodes)                                                                         \
    TEST(two_byte_opcodes_0f)                                                                      \
    TEST(cut_off_instructions)                                                                     \
    TEST(compiler_output)                                                                          \
    TEST(compiler_output_stack)

enum { AT = 0x401000 };

struct prefixes {
    uint8_t count, bytes[5];
};
static const struct prefixes all_prefixes[] = {
    {0, {0}},
    {1, {0x66}},
    {1, {0xf2}},
    {1, {0xf3}},
    {1, {0x2e}},
    {1, {0x3e}},
    {1, {0x67}},
    {1, {0xf0}},
    {1, {0x64}},
    {2, {0x66, 0x66}},
    {2, {0x66, 0xf2}},
    {2, {0xf3, 0x66}},
    {2, {0xf3, 0xf2}},
    {2, {0xf3, 0xf3}},
    {2, {0x66, 0x2e}},
    {3, {0x66, 0x66, 0x2e}},
    {5, {0x66, 0x66, 0x66, 0x66, 0x2e}},
};
static const uint8_t all_rex[] = {0, 0x40, 0x41, 0x42, 0x44, 0x48, 0x49, 0x4f};

static void assert_same_insn(const struct insn *a, const struct insn *b) {
    assert_int_equal(a->addr, b->addr);
    assert_int_equal(a->target, b->target);
    assert_int_equal(a->size, b->size);
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->operand, b->operand);
    assert_int_equal(a->field, b->field);
    assert_int_equal(a->reads_flags, b->reads_flags);
    assert_int_equal(a->writes_flags, b->writes_flags);
}

static void assert_same_constants(const struct insn_constants *a, const struct insn_constants *b) {
    assert_int_equal(a->immediate_count, b->immediate_count);
    for (int i = 0; i < a->immediate_count; i++)
        assert_int_equal(a->immediate[i], b->immediate[i]);
    assert_int_equal(a->has_displacement, b->has_displacement);
    if (a->has_displacement)
        assert_int_equal(a->displacement, b->displacement);
}

/* Compares the flags, for any instruction. */
static void same_flags(const uint8_t *bytes) {
    struct insn in;
    if (!x86_64_decode_any(bytes, INSN_MAX_BYTES, AT, &in, NULL))
        return;
    struct flags_use use = x86_64_flags(bytes, in.size);
    struct flags_use any = x86_64_flags_any(bytes, in.size);
    assert_int_equal(use.tested, any.tested);
    assert_int_equal(use.written, any.written);
}

/* Compares the effects on the stack. Returns whether the fast way knows the instruction. */
static bool same_stack(const uint8_t *bytes) {
    struct insn in;
    struct stack_effect common;
    if (!x86_64_decode_any(bytes, INSN_MAX_BYTES, AT, &in, NULL) ||
        !x86_64_stack_common(bytes, in.size, &common))
        return false;
    const struct stack_effect any = x86_64_stack_any(bytes, in.size);
    assert_int_equal(common.op, any.op);
    assert_int_equal(common.reg, any.reg);
    assert_int_equal(common.base, any.base);
    assert_int_equal(common.size, any.size);
    assert_int_equal(common.displacement, any.displacement);
    assert_int_equal(common.changed, any.changed);
    return true;
}

/* Decodes BYTES both ways; returns whether the fast decoder knows them. */
static bool same(const uint8_t *bytes, size_t room) {
    struct insn common, any;
    struct insn_constants common_constants, any_constants;
    if (!x86_64_decode_common(bytes, room, AT, &common, &common_constants))
        return false;
    assert_true(x86_64_decode_any(bytes, room, AT, &any, &any_constants));
    assert_same_insn(&common, &any);
    assert_same_constants(&common_constants, &any_constants);
    return true;
}

struct start { /* the bytes before ModRM */
    uint8_t bytes[INSN_MAX_BYTES];
    size_t count;
};

static struct start start_of(const struct prefixes *prefixes, uint8_t rex, bool after_0f,
                             uint8_t opcode) {
    struct start s = {.count = prefixes->count};
    memcpy(s.bytes, prefixes->bytes, prefixes->count);
    if (rex)
        s.bytes[s.count++] = rex;
    if (after_0f)
        s.bytes[s.count++] = 0x0f;
    s.bytes[s.count++] = opcode;
    return s;
}

/* Every ModRM byte; SIB bytes without and with a base; the bytes behind have their highest bits
 * set. */
static void every_operand(const struct start *s) {
    static const uint8_t after[] = {0x98, 0xba, 0xdc, 0xfe, 0x81, 0x92,
                                    0xa3, 0xb4, 0xc5, 0xd6, 0xe7, 0xf8};
    uint8_t bytes[INSN_MAX_BYTES + sizeof after];
    memcpy(bytes, s->bytes, s->count);
    for (int modrm = 0; modrm < 256; modrm++) {
        bytes[s->count] = (uint8_t)modrm;
        memcpy(bytes + s->count + 1, after, sizeof after);
        same(bytes, INSN_MAX_BYTES);
        same_stack(bytes);
        if ((modrm & 7) == 0 && (modrm < 0x40 || modrm >= 0xc0))
            same_flags(bytes); /* flags depend on no more than ModRM.reg, and memory or not */
        if ((modrm & 7) != 4 || modrm >> 6 == 3)
            continue;
        bytes[s->count + 1] = 0x25;
        same(bytes, INSN_MAX_BYTES);
        same_stack(bytes);
    }
}

static void for_each_start(bool after_0f, void (*check)(const struct start *)) {
    for (size_t p = 0; p < sizeof all_prefixes / sizeof *all_prefixes; p++) {
        for (size_t r = 0; r < sizeof all_rex; r++) {
            for (int opcode = 0; opcode < 256; opcode++) {
                struct start s = start_of(&all_prefixes[p], all_rex[r], after_0f, (uint8_t)opcode);
                check(&s);
            }
        }
    }
}

static void one_byte_opcodes(void **state) {
    (void)state;
    for_each_start(false, every_operand);
}

static void two_byte_opcodes_0f(void **state) {
    (void)state;
    for_each_start(true, every_operand);
}

/* Every shorter part of an instruction is no instruction; bytes behind it are not read. */
static void every_part(const struct start *s) {
    uint8_t bytes[INSN_MAX_BYTES] = {0};
    memcpy(bytes, s->bytes, s->count);
    for (size_t room = 1; room < INSN_MAX_BYTES; room++)
        same(bytes, room);
    bytes[s->count] = 0x84;
    for (size_t room = 1; room < INSN_MAX_BYTES; room++)
        same(bytes, room);
}

static void cut_off_instructions(void **state) {
    (void)state;
    for_each_start(false, every_part);
    for_each_start(true, every_part);
}

static void compiler_output(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        uint8_t size;
    } list[] = {
#define BYTES(text) text, sizeof(text) - 1
        {BYTES("\x55")},                             /* push %rbp */
        {BYTES("\x41\x57")},                         /* push %r15 */
        {BYTES("\x48\x89\xe5")},                     /* mov %rsp,%rbp */
        {BYTES("\x48\x83\xec\x18")},                 /* sub $24,%rsp */
        {BYTES("\x48\x8d\x3d\x00\x01\x00\x00")},     /* lea 256(%rip),%rdi */
        {BYTES("\x48\x8b\x04\x25\x28\x00\x00\x00")}, /* mov 40,%rax */
        {BYTES("\xe8\x00\x00\x00\x00")},             /* call */
        {BYTES("\xff\x25\x00\x00\x00\x00")},         /* jmp *0(%rip) */
        {BYTES("\x0f\x84\x00\x10\x00\x00")},         /* je */
        {BYTES("\xc3")},
        {BYTES("\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00")}, /* nopw */
        {BYTES("\x66\x90")},
        {BYTES("\xf3\x0f\x6f\x07")},                         /* movdqu (%rdi),%xmm0 */
        {BYTES("\xf2\x0f\x58\xc1")},                         /* addsd %xmm1,%xmm0 */
        {BYTES("\x48\xb8\x00\x00\x00\x00\x00\x00\x00\x80")}, /* movabs */
        {BYTES("\x66\xc7\x00\x00\x01")},                     /* movw $256,(%rax) */
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        assert_true(same((const uint8_t *)list[i].bytes, list[i].size));
}

static void compiler_output_stack(void **state) {
    (void)state;
    static const char list[][INSN_MAX_BYTES] = {
        "\x41\x57",                     /* push %r15 */
        "\x48\x89\xe5",                 /* mov %rsp,%rbp */
        "\x48\x83\xec\x18",             /* sub $24,%rsp */
        "\x48\x81\xc4\x00\x01\x00\x00", /* add $256,%rsp */
        "\x48\x83\xe4\xe0",             /* and $-32,%rsp */
        "\x48\x8d\x65\xd8",             /* lea -40(%rbp),%rsp */
        "\x48\x8b\x5c\x24\x08",         /* mov 8(%rsp),%rbx */
        "\x4c\x89\x6d\xf0",             /* mov %r13,-16(%rbp) */
        "\xe8\x00\x00\x00\x00",         /* call */
        "\xff\x50\x18",                 /* call *24(%rax) */
        "\x5b",                         /* pop %rbx */
        "\xc9",                         /* leave */
        "\x0f\x84\x00\x10\x00\x00",     /* je */
        "\x0f\xb6\x07",                 /* movzbl (%rdi),%eax */
        "\xc7\x44\x24\x04\x01\0\0\0",   /* movl $1,4(%rsp) */
        "\x31\xc0",                     /* xor %eax,%eax */
        "\x48\x85\xff",                 /* test %rdi,%rdi */
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        assert_true(same_stack((const uint8_t *)list[i]));
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
