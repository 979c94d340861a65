/*
 * Steps to the caller by tables of 32-bit Arm or by code, on any host. The stack is the one that a
 * program with these functions leaves:
 *
 *     callee   T32   push {r4, lr}; sub sp, #8; bl callee; nop; add sp, #8; pop {r4, pc}
 *     restorer T32   mov.w r7, #119; svc #0
 *     caller   A32   push {r4, fp, lr}; add fp, sp, #8; sub sp, sp, #20; blx callee; nop;
 *                    sub sp, fp, #8; pop {r4, fp, pc}
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "unwind/code.h"

#define TESTS                                                                                      \
    TEST(t32_called_from_a32_left_by_its_table)                                                    \
    TEST(code_walk_without_a_table_entry)                                                          \
    TEST(caller_state_by_entries_and_frame_pointers)                                               \
    TEST(no_call_before_a_signal_restorer)                                                         \
    TEST(missing_memory_gives_nothing)                                                             \
    TEST(every_point_of_prologue_and_epilogue)

enum { TEXT = 0x10000, TABLE = 0x11000, STACK = 0xbef0000, SP = STACK + 64, WORDS = 64 };
enum { CALLEE = TEXT, RESTORER = TEXT + 14, CALLER = TEXT + 0x18, T32 = 1 };
enum { IN_CALLEE = TEXT + 8 + T32, IN_CALLER = TEXT + 0x28 }; /* places behind the calls */
enum { FP = 11, CANTUNWIND = 1 };

static const uint16_t text[] = {0xb510, 0xb082, 0xf7ff, 0xfffc, 0xbf00, 0xb002, 0xbd10,
                                0xf04f, 0x0777, 0xdf00, 0xbf00, 0xbf00, 0x4810, 0xe92d,
                                0xb008, 0xe28d, 0xd014, 0xe24d, 0xfff5, 0xfaff, 0xf000,
                                0xe320, 0xd008, 0xe24b, 0x8810, 0xe8bd};

static uint32_t table[8], stack[WORDS];
static struct spoor_image image;
static struct machine machine;
static struct code_frame frame;

static int read_part(const void *part, size_t room, uint64_t at, void *to, size_t size) {
    if (at >= room || room - at < size)
        return -1;
    memcpy(to, (const uint8_t *)part + at, size);
    return 0;
}

static int read_given(void *arg, spoor_word from, void *to, size_t size) {
    (void)arg;
    if (from >= STACK)
        return read_part(stack, sizeof stack, from - STACK, to, size);
    if (from >= TABLE)
        return read_part(table, sizeof table, from - TABLE, to, size);
    return read_part(text, sizeof text, from - TEXT, to, size);
}

static int returns_behind(void *arg, spoor_word address) {
    (void)arg;
    return (address & ~(spoor_word)T32) == RESTORER;
}

static int setup(void **state) {
    (void)state;
    memset(table, 0, sizeof table);
    memset(stack, 0, sizeof stack);
    image = (struct spoor_image){.text_low = TEXT,
                                 .text_high = TABLE + sizeof table,
                                 .stacks = {{STACK, STACK + sizeof stack}},
                                 .walkers = SPOOR_BY_TABLE | SPOOR_BY_RETURN | SPOOR_BY_PROLOGUE,
                                 .isa = SPOOR_ISA_ARM,
                                 .read = read_given};
    machine = (struct machine){.count = 16, .word = 4, .known = 0xffff};
    machine.registers[SPOOR_SP] = SP;
    return 0;
}

/* Entry N of the table: START is the function, SECOND the entry's second word. */
static void put_entry(unsigned n, uint32_t start, uint32_t second) {
    table[2 * n] = (start - (TABLE + 8 * n)) & INT32_MAX;
    table[2 * n + 1] = second;
    image.exidx_low = TABLE;
    image.exidx_high = TABLE + 8 * n + 8;
}

static void put_word(uint32_t at, uint32_t word) { stack[(at - STACK) / 4] = word; }

/* The pc is in callee, whose return address is the word BACK. */
static void start_in_callee(uint32_t back) {
    frame = (struct code_frame){.pc = IN_CALLEE};
    put_word(SP + 8, 0x44444444);
    put_word(SP + 12, back);
}

static void expect(uint64_t pc, uint64_t sp, uint8_t by) {
    assert_true(code_step(&image, &machine, 0, &frame));
    assert_int_equal(frame.pc, pc);
    assert_int_equal(machine.registers[SPOOR_PC], pc);
    assert_int_equal(machine.registers[SPOOR_SP], sp);
    assert_int_equal(machine.registers[4], 0x44444444);
    assert_int_equal(frame.by, by);
    assert_false(machine.known & 1); /* r0 */
}

static void t32_called_from_a32_left_by_its_table(void **state) {
    (void)state;
    put_entry(0, CALLEE, 0x8001a8b0); /* vsp += 8; pop {r4, lr} */
    start_in_callee(IN_CALLER);
    expect(IN_CALLER, SP + 16, SPOOR_BY_TABLE);
}

static void code_walk_without_a_table_entry(void **state) {
    (void)state;
    start_in_callee(IN_CALLER);
    expect(IN_CALLER, SP + 16, SPOOR_BY_RETURN);
    put_entry(0, CALLEE, CANTUNWIND);
    machine.registers[SPOOR_SP] = SP;
    machine.known = 0xffff;
    start_in_callee(IN_CALLER);
    expect(IN_CALLER, SP + 16, SPOOR_BY_RETURN);
}

static void caller_state_by_entries_and_frame_pointers(void **state) {
    (void)state;
    put_entry(0, CALLEE, CANTUNWIND);
    put_entry(1, CALLER, 4); /* points to the words behind it */
    table[4] = 0x81019b41;   /* personality 1, one word more: vsp = fp; vsp -= 8; */
    table[5] = 0x8481b0b0;   /* pop {r4, fp, lr} */
    frame = (struct code_frame){.pc = IN_CALLER};
    machine.registers[FP] = SP + 48;
    put_word(SP + 40, 0x44444444);
    put_word(SP + 44, STACK + 200);
    put_word(SP + 48, IN_CALLEE);
    expect(IN_CALLEE, SP + 52, SPOOR_BY_TABLE);
    assert_int_equal(machine.registers[FP], STACK + 200);
}

static void no_call_before_a_signal_restorer(void **state) {
    (void)state;
    struct machine before = machine;
    put_entry(0, CALLEE, 0x8001a8b0);
    start_in_callee(RESTORER + T32);
    assert_false(code_step(&image, &machine, 0, &frame));
    assert_memory_equal(&machine, &before, sizeof before);
    assert_int_equal(frame.pc, IN_CALLEE);
    image.goes_back = returns_behind;
    expect(RESTORER + T32, SP + 16, SPOOR_BY_TABLE);
}

static void missing_memory_gives_nothing(void **state) {
    (void)state;
    struct machine before;
    put_entry(0, CALLEE, 0x8001a8b0);
    start_in_callee(IN_CALLER);
    machine.registers[SPOOR_SP] = STACK + sizeof stack - 8;
    before = machine;
    assert_false(code_step(&image, &machine, 0, &frame));
    assert_memory_equal(&machine, &before, sizeof before);
}

static void every_point_of_prologue_and_epilogue(void **state) {
    (void)state;
    put_entry(0, CALLEE, 0x8001a8b0);
    frame = (struct code_frame){.pc = CALLEE + 2 + T32, .exact = true}; /* behind push */
    machine.registers[SPOOR_LR] = IN_CALLER;
    put_word(SP, 0x44444444);
    put_word(SP + 4, IN_CALLER);
    expect(IN_CALLER, SP + 8, SPOOR_BY_RETURN);
    frame = (struct code_frame){.pc = CALLEE + 12 + T32, .exact = true}; /* at pop */
    machine.registers[SPOOR_SP] = SP;
    machine.known = 0xffff;
    expect(IN_CALLER, SP + 8, SPOOR_BY_RETURN);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup(name, setup),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
