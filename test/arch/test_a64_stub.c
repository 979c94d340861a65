/*
 * Properties of A64 stubs that can be read from their bytes alone, without knowing which stub it
 * is.
 */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "arch/aarch64/stub.h"
#include "arch/arch.h"

#define TESTS                                                                                      \
    TEST(stub_end_from_every_instruction)                                                          \
    TEST(stub_only_instructions)                                                                   \
    TEST(program_instructions_are_not_stub_only)

enum { WORD = 4, VARIANTS = 8, OVERFLOWS = OVERFLOW_OVERWRITE + 1 };
static const uint8_t variants[VARIANTS] = {0,
                                           STUB_HOOK,
                                           STUB_CALLER,
                                           STUB_GO_FIRST,
                                           STUB_GO_SECOND,
                                           STUB_CALLER | STUB_SAVE_FLAGS,
                                           STUB_SLICE,
                                           STUB_CAPTURE};

/* Writes two stubs of one kind, one behind the other. Returns the size of one. */
static size_t write_two(uint8_t variant, enum overflow overflow, uint8_t out[2 * STUB_MAX_BYTES]) {
    struct stub_spec spec = {.variant = variant,
                             .site = 0x12345,
                             .ring_bytes = 4096,
                             .overflow = overflow,
                             .agent = -65536};
    size_t size = a64_stub_emit(out, &spec);
    spec.agent -= (int64_t)size;
    assert_int_equal(a64_stub_emit(out + size, &spec), size);
    return size;
}

/* From `end` on a stub only restores registers. A search from behind `end` finds the next one. */
static void check_ends(uint8_t variant, enum overflow overflow) {
    uint8_t code[2 * STUB_MAX_BYTES];
    size_t size = write_two(variant, overflow, code), end = 0, at;
    size_t last = a64_stub_saved(variant) / 2 * WORD; /* two registers each */
    assert_true(a64_find_stub_end(code, size, &end));
    assert_int_equal(end, size - last);
    for (size_t from = 0; from <= end; from += WORD) {
        assert_true(a64_find_stub_end(code + from, 2 * size - from, &at));
        assert_int_equal(from + at, end);
        assert_false(a64_find_stub_end(code + from, end + last - WORD - from, &at));
    }
    struct stub_state state;
    assert_true(a64_stub_state(variant, overflow, (uint32_t)end, &state));
    assert_int_equal(state.pushed, a64_stub_saved(variant));
    assert_true(a64_find_stub_end(code + end + WORD, 2 * size - end - WORD, &at));
    assert_int_equal(end + WORD + at, size + end);
}

static void stub_end_from_every_instruction(void **unused) {
    (void)unused;
    for (int v = 0; v < VARIANTS; v++)
        for (int o = 0; o < OVERFLOWS; o++)
            check_ends(variants[v], (enum overflow)o);
}

/* ldxr, stlxr, and the addresses that the agent gets: these cannot run elsewhere. */
static void stub_only_instructions(void **unused) {
    (void)unused;
    uint8_t code[2 * STUB_MAX_BYTES];
    size_t size = write_two(0, OVERFLOW_WAIT, code), count = 0;
    for (size_t at = 0; at < size; at += WORD) {
        uint32_t word;
        memcpy(&word, code + at, sizeof word);
        bool wanted = word == 0xc85f7c61 || word == 0xc800fc62 || (word & 0x9f000000) == 0x10000000;
        assert_int_equal(a64_is_stub_code(code + at, size - at), wanted);
        count += wanted;
    }
    assert_int_equal(count, 4);
    assert_false(a64_is_stub_code(code, WORD - 1));
}

/* Holds for a program's instruction in each form that relocation gives it. */
static void program_instructions_are_not_stub_only(void **unused) {
    (void)unused;
    static const uint32_t words[] = {0x10000400, 0x30000401, 0xb0000402, 0x58000403,
                                     0x18000404, 0x98000405, 0x1c000406, 0x9c000407,
                                     0xd8000400, 0x54000409, 0xb400040a, 0x3700040b,
                                     0x14000100, 0x94000100, 0xa9bf7bfd, 0xd503201f};
    const struct arch *arch = arch_for_machine(EM_AARCH64);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const uint8_t *bytes = (const uint8_t *)&words[i];
        struct relocated moved;
        struct insn insn;
        assert_true(arch->decode(bytes, WORD, 0x40000, &insn, NULL));
        assert_int_equal(arch->relocate(&insn, bytes, 0x80000, &moved), 0);
        size_t code = moved.copy_bytes ? moved.copy_at : moved.size;
        for (size_t at = 0; at < code; at += WORD)
            assert_false(a64_is_stub_code(moved.bytes + at, moved.size - at));
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("arch/a64 stub", tests, NULL, NULL);
}
