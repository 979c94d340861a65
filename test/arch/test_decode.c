/* Kinds of instructions that the x86-64 decoder distinguishes. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "arch/arch.h"

#define TESTS                                                                                      \
    TEST(near_returns)                                                                             \
    TEST(direct_branch_targets)                                                                    \
    TEST(indirect_and_far_branches)                                                                \
    TEST(padding_of_every_length)                                                                  \
    TEST(system_calls_and_traps)                                                                   \
    TEST(unmovable_instructions)                                                                   \
    TEST(pc_relative_operands)                                                                     \
    TEST(absolute_operands_without_relocations)                                                    \
    TEST(invalid_bytes)                                                                            \
    TEST(flags_tested_or_written)                                                                  \
    TEST(plain_return_bytes)                                                                       \
    TEST(string_port_instructions)                                                                 \
    TEST(lane_filter_finds_each_write)                                                             \
    TEST(no_backend_for_foreign_machines)

enum { AT = 0x401000 };

struct example {
    const char *bytes;
    uint8_t size, kind;
    vaddr_t target;
};
#define BYTES(text) text, sizeof(text) - 1

static void decode_all(const struct example *examples, size_t count) {
    const struct arch *arch = arch_for_machine(EM_X86_64);
    for (size_t i = 0; i < count; i++) {
        struct insn in;
        uint8_t bytes[16] = {0};
        memcpy(bytes, examples[i].bytes, examples[i].size);
        arch->decode(bytes, examples[i].size, AT, &in, NULL);
        assert_int_equal(in.kind, examples[i].kind);
        assert_int_equal(in.size, examples[i].size);
        assert_int_equal(in.target, examples[i].target);
    }
}
#define DECODE(...)                                                                                \
    do {                                                                                           \
        static const struct example list[] = {__VA_ARGS__};                                        \
        decode_all(list, sizeof list / sizeof *list);                                              \
    } while (0)

static void near_returns(void **state) {
    (void)state;
    DECODE({BYTES("\xc3"), INSN_RETURN, 0}, {BYTES("\xf3\xc3"), INSN_RETURN, 0},
           {BYTES("\xf2\xc3"), INSN_RETURN, 0}, {BYTES("\xc2\x08\x00"), INSN_RETURN, 0},
           {BYTES("\xcb"), INSN_FIXED, 0}, {BYTES("\x48\xcf"), INSN_FIXED, 0});
}

static void direct_branch_targets(void **state) {
    (void)state;
    DECODE({BYTES("\xeb\x10"), INSN_JUMP, AT + 0x12},
           {BYTES("\xe9\xfb\xff\xff\xff"), INSN_JUMP, AT},
           {BYTES("\xf2\xe9\x00\x01\x00\x00"), INSN_JUMP, AT + 0x106},
           {BYTES("\x74\xfe"), INSN_BRANCH, AT}, {BYTES("\x2e\x75\x00"), INSN_BRANCH, AT + 3},
           {BYTES("\x0f\x84\x00\x10\x00\x00"), INSN_BRANCH, AT + 0x1006},
           {BYTES("\xe2\xfe"), INSN_LOOP, AT}, {BYTES("\xe3\x00"), INSN_LOOP, AT + 2},
           {BYTES("\x67\xe3\x00"), INSN_LOOP, AT + 3},
           {BYTES("\xe8\x00\x00\x00\x00"), INSN_CALL, AT + 5},
           {BYTES("\x66\x66\x48\xe8\x00\x00\x00\x00"), INSN_CALL, AT + 8});
}

static void indirect_and_far_branches(void **state) {
    (void)state;
    DECODE({BYTES("\xff\xe0"), INSN_JUMP_INDIRECT, 0},
           {BYTES("\x3e\xff\xe2"), INSN_JUMP_INDIRECT, 0},
           {BYTES("\xff\x24\xc5\x00\x00\x00\x00"), INSN_JUMP_INDIRECT, 0},
           {BYTES("\xff\x25\x10\x00\x00\x00"), INSN_JUMP_INDIRECT, AT + 0x16},
           {BYTES("\xff\xd0"), INSN_CALL_INDIRECT, 0}, {BYTES("\xff\x28"), INSN_FIXED, 0});
}

static void padding_of_every_length(void **state) {
    (void)state;
    DECODE({BYTES("\x90"), INSN_NOP, 0}, {BYTES("\x66\x90"), INSN_NOP, 0},
           {BYTES("\x0f\x1f\x00"), INSN_NOP, 0}, {BYTES("\x0f\x1f\x40\x00"), INSN_NOP, 0},
           {BYTES("\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00"), INSN_NOP, 0},
           {BYTES("\x66\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00"), INSN_NOP, 0},
           {BYTES("\xcc"), INSN_BREAK, 0}, {BYTES("\xf3\x90"), INSN_OTHER, 0},
           {BYTES("\x66\x41\x90"), INSN_OTHER, 0});
}

static void system_calls_and_traps(void **state) {
    (void)state;
    DECODE({BYTES("\x0f\x05"), INSN_SYSCALL, 0}, {BYTES("\x0f\x34"), INSN_SYSCALL, 0},
           {BYTES("\xcd\x80"), INSN_SYSCALL, 0}, {BYTES("\x0f\x0b"), INSN_TRAP, 0},
           {BYTES("\xf4"), INSN_TRAP, 0}, {BYTES("\xf3\x0f\x1e\xfa"), INSN_LANDING, 0},
           {BYTES("\xf3\x0f\x1e\xc8"), INSN_OTHER, 0}); /* rdsspd */
}

static void unmovable_instructions(void **state) {
    (void)state;
    DECODE({BYTES("\xc7\xf8\x00\x00\x00\x00"), INSN_FIXED, AT + 6},      /* xbegin */
           {BYTES("\x66\xe9\x00\x00\x00\x00"), INSN_FIXED, AT + 6},      /* processors disagree */
           {BYTES("\x67\x8b\x05\x00\x00\x00\x00"), INSN_FIXED, AT + 7}); /* mov (%eip),%eax */
}

static void pc_relative_operands(void **state) {
    (void)state;
    const struct arch *arch = arch_for_machine(EM_X86_64);
    static const struct {
        const char *bytes;
        uint8_t size, operand, field;
    } list[] = {
        {BYTES("\x48\x8d\x05\x00\x01\x00\x00"), OPERAND_PC_ADDRESS, 3},
        {BYTES("\x48\x8b\x05\x00\x01\x00\x00"), OPERAND_PC_MEMORY, 3},
        {BYTES("\x83\x3d\x00\x01\x00\x00\x07"), OPERAND_PC_MEMORY, 2},
        {BYTES("\xc7\x05\x00\x01\x00\x00\x78\x56\x34\x12"), OPERAND_PC_MEMORY, 2},
        {BYTES("\xc5\xf8\x28\x05\x00\x01\x00\x00"), OPERAND_PC_MEMORY, 4},
        {BYTES("\x62\xf1\x7c\x48\x28\x05\x00\x01\x00\x00"), OPERAND_PC_MEMORY, 6},
        {BYTES("\x66\x0f\x3a\x0f\x05\x00\x01\x00\x00\x08"), OPERAND_PC_MEMORY, 5},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        struct insn in;
        assert_true(arch->decode((const uint8_t *)list[i].bytes, list[i].size, AT, &in, NULL));
        assert_int_equal(in.operand, list[i].operand);
        assert_int_equal(in.field, list[i].field);
        assert_int_equal(in.target, AT + 0x100u + list[i].size);
    }
}

static void absolute_operands_without_relocations(void **state) {
    (void)state;
    const struct arch *arch = arch_for_machine(EM_X86_64);
    struct insn in;
    struct insn_constants c;
    arch->decode((const uint8_t *)"\xbf\x10\x20\x40\x00", 5, AT, &in, &c);
    assert_int_equal(c.immediate_count, 1);
    assert_int_equal(c.immediate[0], 0x402010);
    arch->decode((const uint8_t *)"\x48\xc7\x04\xc5\x00\x30\x40\x00\x10\x20\x40\x00", 12, AT, &in,
                 &c);
    assert_int_equal(c.immediate[0], 0x402010);
    assert_true(c.has_displacement);
    assert_int_equal(c.displacement, 0x403000);
    arch->decode((const uint8_t *)"\x48\xb8\x10\x20\x40\x00\x00\x00\x00\x00", 10, AT, &in, &c);
    assert_int_equal(c.immediate[0], 0x402010);
}

static void invalid_bytes(void **state) {
    (void)state;
    const struct arch *arch = arch_for_machine(EM_X86_64);
    static const struct {
        const char *bytes;
        uint8_t size;
    } list[] = {{BYTES("\x06")}, {BYTES("\x0f")}, {BYTES("\xe9\x00\x00")}, {BYTES("\x48")}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        struct insn in;
        assert_false(arch->decode((const uint8_t *)list[i].bytes, list[i].size, AT, &in, NULL));
        assert_int_equal(in.kind, INSN_BAD);
        assert_int_equal(in.size, 1);
    }
}

static void flags_tested_or_written(void **state) {
    (void)state;
    enum { CARRY = 1, ZERO = 0x40 };
    const struct arch *arch = arch_for_machine(EM_X86_64);
    struct flags_use add = arch->flags((const uint8_t *)"\x48\x01\xd8", 3);
    assert_int_equal(add.tested, 0);
    assert_int_equal(add.written, arch->all_flags);
    struct flags_use adc = arch->flags((const uint8_t *)"\x48\x11\xd8", 3);
    assert_int_equal(adc.tested, CARRY);
    struct flags_use inc = arch->flags((const uint8_t *)"\x48\xff\xc0", 3);
    assert_int_equal(inc.written, arch->all_flags & ~(uint32_t)CARRY);
    struct flags_use je = arch->flags((const uint8_t *)"\x74\x00", 2);
    assert_int_equal(je.tested, ZERO);
    struct flags_use shl = arch->flags((const uint8_t *)"\x48\xd3\xe0", 3); /* by %cl: maybe by 0 */
    assert_int_equal(shl.written, 0);
    struct flags_use mov = arch->flags((const uint8_t *)"\x48\x89\xd8", 3);
    assert_int_equal(mov.tested | mov.written, 0);
}

static void plain_return_bytes(void **state) {
    (void)state;
    const struct arch *arch = arch_for_machine(EM_X86_64);
    assert_true(arch->is_return((const uint8_t *)"\xc3", 1));
    assert_true(arch->is_return((const uint8_t *)"\xf3\xc3", 2));
    assert_true(arch->is_return((const uint8_t *)"\xf2\xc3", 2));
    assert_false(arch->is_return((const uint8_t *)"\xf3\xc3", 1));
    assert_false(arch->is_return((const uint8_t *)"\xc2\x08\x00", 3));
    assert_false(arch->is_return((const uint8_t *)"\xcb", 1));
}

static void string_port_instructions(void **state) {
    (void)state;
    const struct arch *arch = arch_for_machine(EM_X86_64);
    static const char *const barred[] = {"\x6c", "\x6f", "\x66\x6d", "\xf3\x6e", "\xf3\x48\x6d"};
    for (size_t i = 0; i < sizeof barred / sizeof *barred; i++)
        assert_true(arch->is_barred((const uint8_t *)barred[i], strlen(barred[i])));
    static const char *const others[] = {
        "\x0f\x6f\xc1", "\x66\x0f\x6f\x6f\x6f", "\x8b\x6c\x24\x6c", "\xec", "\xb0\x6c", "\x70\x6e"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(arch->is_barred((const uint8_t *)others[i], strlen(others[i])));
}

/* Each instruction that writes gs passes the filter, with any prefixes and wherever it stands. */
static void lane_filter_finds_each_write(void **state) {
    (void)state;
    static const char *const prefixes[] = {"", "\x48", "\xf3", "\xf3\x48", "\x66\xf3\x49"};
    const struct arch *arch = arch_for_machine(EM_X86_64);
    size_t writes = 0;
    for (uint32_t op = 0; op < 1 << 16; op++)
        for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
            uint8_t code[64];
            size_t size = strlen(prefixes[i]), before = op % 40;
            memset(code, 0x90, sizeof code);
            memcpy(code + before, prefixes[i], size);
            code[before + size] = (uint8_t)(op >> 8);
            code[before + size + 1] = (uint8_t)op;
            code[before + size + 2] = 0xdb; /* with f3 0f ae: wrgsbase %rbx */
            if (!arch->writes_lane(code + before, size + 3))
                continue;
            writes++;
            for (size_t end = before + size + 2; end <= sizeof code; end++)
                assert_true(arch->may_write_lane(code, end));
        }
    assert_in_range(writes, 100, 1000);
    uint8_t other[64];
    memset(other, 0x90, sizeof other);
    assert_false(arch->may_write_lane(other, sizeof other));
}

static void no_backend_for_foreign_machines(void **state) {
    (void)state;
    assert_null(arch_for_machine(EM_S390));
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
