/* backtrace/: bytes in, frames out, on any host. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backtrace/spoor_backtrace.h"

#define TESTS                                                                                      \
    TEST(inline_entry_pops_registers)                                                              \
    TEST(entry_adds_to_sp)                                                                         \
    TEST(entry_pops_by_mask)                                                                       \
    TEST(entry_pops_authentication_code)                                                           \
    TEST(table_entry_adds_large_number)                                                            \
    TEST(language_personality_opcodes)                                                             \
    TEST(cantunwind_ends_the_walk)                                                                 \
    TEST(spare_opcodes_end_the_walk)                                                               \
    TEST(return_address_from_prologue)                                                             \
    TEST(code_followed_to_its_return)                                                              \
    TEST(return_address_without_a_call)                                                            \
    TEST(stale_lr_after_a_trap)                                                                    \
    TEST(lr_after_a_trap_behind_a_call)                                                            \
    TEST(noreturn_function_before_it_saves_lr)                                                     \
    TEST(noreturn_function_that_saves_nothing)                                                     \
    TEST(return_address_in_a_low_register)                                                         \
    TEST(circular_chains)                                                                          \
    TEST(exceptions_on_either_stack)                                                               \
    TEST(exception_padding_and_fp_registers)                                                       \
    TEST(secure_registers_behind_a_signature)                                                      \
    TEST(impossible_exception_frames)                                                              \
    TEST(call_of_an_address_without_code)                                                          \
    TEST(arbitrary_memory_within_bounds)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { TEXT = 0x1000, TABLE = 0x3000, STACK = 0x20000000, SIZE = 0x1000 };

static struct {
    uint8_t text[SIZE], table[SIZE], stack[SIZE];
    struct spoor_image image;
    struct spoor_regs regs;
    spoor_word sites[16];
    enum spoor_result end;
} given;

static int read_given(void *arg, spoor_word from, void *to, size_t size) {
    (void)arg;
    const uint8_t *bytes = from >= STACK ? given.stack : from >= TABLE ? given.table : given.text;
    spoor_word at = from - (from >= STACK ? STACK : from >= TABLE ? TABLE : TEXT);
    assert_true(at < SIZE && SIZE - at >= size);
    memcpy(to, bytes + at, size);
    return 0;
}

static int setup(void **state) {
    (void)state;
    memset(&given, 0, sizeof given);
    given.image = (struct spoor_image){.text_low = TEXT,
                                       .text_high = TEXT + SIZE,
                                       .stacks = {{STACK, STACK + SIZE}},
                                       .isa = SPOOR_ISA_M,
                                       .walkers = SPOOR_BY_ALL,
                                       .read = read_given};
    given.regs.known = ~(spoor_word)0;
    given.regs.r[SPOOR_SP] = STACK;
    return 0;
}

static void put16(spoor_word at, uint32_t first, uint32_t second) {
    uint16_t both[2] = {(uint16_t)first, (uint16_t)second};
    memcpy(given.text + (at - TEXT), both, 4);
}

static void put32(spoor_word at, uint32_t word) {
    memcpy(at >= STACK ? given.stack + (at - STACK) : given.table + (at - TABLE), &word, 4);
}

/* A bl of T32 that returns to BACK and calls TARGET. */
static void put_call(spoor_word back, spoor_word target) {
    uint32_t by = (uint32_t)(target - back), s = by >> 31;
    uint32_t j1 = !((by >> 23 & 1) ^ s), j2 = !((by >> 22 & 1) ^ s);
    put16(back - 4, 0xf000 | s << 10 | (by >> 12 & 0x3ff),
          0xd000 | j1 << 13 | j2 << 11 | (by >> 1 & 0x7ff));
}

/* Entry n of the table: START is the function, SECOND the entry's second word. */
static void put_entry(unsigned n, uint32_t start, uint32_t second) {
    put32(TABLE + n * 8, (start - (TABLE + n * 8)) & 0x7fffffff);
    put32(TABLE + n * 8 + 4, second);
    given.image.exidx_low = TABLE;
    given.image.exidx_high = TABLE + n * 8 + 8;
}

static size_t walk(spoor_word pc, enum spoor_begin how) {
    struct spoor_sites sites = {given.sites, 16};
    given.regs.r[SPOOR_PC] = pc;
    return spoor_backtrace_from(&given.image, &given.regs, how, sites, &given.end);
}

/* Makes a call behind 0x1100 in the function at 0x10f0; the return address is behind the call at
 * 0x1200. */
static void call_from_a_function(uint32_t second, unsigned saved_at) {
    put_call(0x1100, 0x1400);
    put_call(0x1200, 0x10f0);
    put_entry(0, 0x10f0, second);
    put_entry(1, 0x11f0, 1);
    put32(STACK + saved_at, 0x1201);
    given.image.walkers = SPOOR_BY_TABLE;
    assert_int_equal(walk(0x1101, SPOOR_AT_CALL), 2);
    assert_int_equal(given.sites[0], 0x10fe);
    assert_int_equal(given.sites[1], 0x11fe);
    assert_int_equal(given.end, SPOOR_NO_WAY);
}

static void inline_entry_pops_registers(void **state) {
    (void)state;
    call_from_a_function(0x80a9b0b0, 8); /* pop {r4, r5, lr} */
}

static void entry_adds_to_sp(void **state) {
    (void)state;
    call_from_a_function(0x8003a8b0, 16 + 4); /* add sp, #16; pop {r4, lr} */
}

static void entry_pops_by_mask(void **state) {
    (void)state;
    call_from_a_function(0x80848bb0, 16); /* pop {r4, r5, r7, r11, lr} */
}

static void entry_pops_authentication_code(void **state) {
    (void)state;
    call_from_a_function(0x80b48400,
                         4); /* 4 bytes; then by a mask that continues with "finish": lr */
}

static void table_entry_adds_large_number(void **state) {
    (void)state;
    given.image.text_high = TABLE + SIZE; /* such tables are not in the text */
    put32(TABLE + 0x100, 0x8101b204);     /* personality 1, one word more: 0x204 + 4 << 2 */
    put32(TABLE + 0x104, 0x8400b0b0);     /* pop {lr} by a mask */
    call_from_a_function(0x100 - 4, 0x204 + 16);
}

static void language_personality_opcodes(void **state) {
    (void)state;
    given.image.text_high = TABLE + SIZE;
    put32(TABLE + 0x100, 0x00001000);
    put32(TABLE + 0x104, 0x00a8b0b0); /* pop {r4, lr} */
    call_from_a_function(0x100 - 4, 4);
}

static void cantunwind_ends_the_walk(void **state) {
    (void)state;
    put_call(0x1100, 0x1400);
    put_entry(0, 0x10f0, 1);
    given.image.walkers = SPOOR_BY_TABLE;
    assert_int_equal(walk(0x1101, SPOOR_AT_CALL), 1);
    assert_int_equal(given.end, SPOOR_NO_WAY);
}

static void spare_opcodes_end_the_walk(void **state) {
    static const uint32_t words[] = {0x808000b0, 0x809db0b0, 0x80b100b0, 0x80cab0b0,
                                     0x80e0b0b0, 0x83b0b0b0, 0x81b0b0b0};
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        put_entry(0, 0x10f0, words[i]);
        given.image.walkers = SPOOR_BY_TABLE;
        given.regs.r[SPOOR_LR] = 0x1201;
        put_call(0x1200, 0x10f0);
        assert_int_equal(walk(0x1101, SPOOR_AT_CALL), 1);
    }
}

static void return_address_from_prologue(void **state) {
    (void)state;
    put_call(0x1100, 0x1400);
    put16(0x10f0, 0xb5f0, 0xb085); /* push {r4-r7, lr}; sub sp, #20 */
    put_call(0x1200, 0x10f0);
    put32(STACK + 20 + 16, 0x1201);
    given.image.walkers = SPOOR_BY_PROLOGUE;
    assert_int_equal(walk(0x1101, SPOOR_AT_CALL), 2);
    assert_int_equal(given.sites[1], 0x11fe);
}

static void code_followed_to_its_return(void **state) {
    (void)state;
    put_call(0x1100, 0x1400);
    put16(0x1100, 0xd001, 0xe7fe); /* beq 0x1106; b . */
    put16(0x1106, 0xb005, 0xbdf0); /* add sp, #20; pop {r4-r7, pc} */
    put_call(0x1200, 0x10f0);
    put32(STACK + 20 + 16, 0x1201);
    given.image.walkers = SPOOR_BY_RETURN;
    assert_int_equal(walk(0x1101, SPOOR_AT_CALL), 2);
    assert_int_equal(given.sites[1], 0x11fe);
}

static void return_address_without_a_call(void **state) {
    (void)state;
    put_call(0x1100, 0x1400);
    put16(0x1100, 0xbd00, 0);
    put32(STACK, 0x1301);
    assert_int_equal(walk(0x1101, SPOOR_AT_CALL), 1);
    assert_int_equal(given.end, SPOOR_NO_WAY);
}

static void stale_lr_after_a_trap(void **state) {
    (void)state;
    put_call(0x1200, 0x1100);
    put16(0x1100, 0xb510, 0xde00); /* push {r4, lr}; udf; then another function: */
    put16(0x1104, 0x2000, 0x4770); /* movs r0, #0; bx lr */
    given.regs.r[SPOOR_LR] = 0x1201;
    assert_int_equal(walk(0x1103, SPOOR_INTERRUPTED), 1);
    put16(0x1100, 0x2001, 0xde00); /* movs r0, #1; udf: a leaf function */
    assert_int_equal(walk(0x1103, SPOOR_INTERRUPTED), 2);
}

static void lr_after_a_trap_behind_a_call(void **state) {
    (void)state;
    put_call(0x1200, 0x1100);
    put16(0x1100, 0x2001, 0x2002); /* movs r0, #1; movs r0, #2 */
    put_call(0x1108, 0x1300);
    put16(0x1108, 0xde00, 0x4770); /* udf; bx lr, both of another function */
    given.regs.r[SPOOR_LR] = 0x1201;
    assert_int_equal(walk(0x1109, SPOOR_INTERRUPTED), 1);
    put16(0x1104, 0xbf00, 0xbf00); /* nops */
    assert_int_equal(walk(0x1109, SPOOR_INTERRUPTED), 2);
}

static void noreturn_function_before_it_saves_lr(void **state) {
    (void)state;
    put_call(0x1200, 0x1100);
    put16(0x1100, 0xb082, 0xbf00); /* sub sp, #8; nop */
    put16(0x1104, 0xb500, 0xe7fe); /* push {lr}; b . */
    put16(0x1200, 0xbd10, 0);      /* pop {r4, pc} */
    put_call(0x1400, 0x11f0);
    put32(STACK + 8 + 4, 0x1401);
    given.regs.r[SPOOR_LR] = 0x1201;
    assert_int_equal(walk(0x1103, SPOOR_INTERRUPTED), 3);
    assert_int_equal(given.sites[1], 0x11fe);
    assert_int_equal(given.sites[2], 0x13fe);
    put_call(0x1200, 0x1180);
    put16(0x1180, 0x2001, 0xe7bd); /* movs r0, #1; b 0x1100 */
    assert_int_equal(walk(0x1103, SPOOR_INTERRUPTED), 3);
    put_call(0x1200, 0x1100);
    put16(0x1102, 0xd000, 0xbf00); /* beq: from here on the code may branch back */
    assert_int_equal(walk(0x1105, SPOOR_INTERRUPTED), 1);
}

static void noreturn_function_that_saves_nothing(void **state) {
    (void)state;
    put_call(0x1400, 0x1100);      /* a function that another one calls */
    put16(0x1100, 0xb510, 0xbf00); /* push {r4, lr}; nop */
    put_call(0x1108, 0x1108);      /* which calls the code right behind itself: */
    put_call(0x110c, 0x1300);      /* a return address behind a call in that code */
    put16(0x110c, 0xbf00, 0xe7fe); /* nop; b . */
    put32(STACK + 4, 0x1401);
    given.regs.r[SPOOR_LR] = 0x110d;
    assert_int_equal(walk(0x110d, SPOOR_INTERRUPTED), 1);
    put16(0x1104, 0xbf00, 0xbf00); /* nops: all of it is one function */
    assert_int_equal(walk(0x110d, SPOOR_INTERRUPTED), 2);
    assert_int_equal(given.sites[1], 0x13fe);
}

/* The end of Thumb-1 functions with variable arguments. */
static void return_address_in_a_low_register(void **state) {
    (void)state;
    put_call(0x1200, 0x1100);
    put16(0x1100, 0xb40f, 0xb500); /* push {r0-r3}; push {lr} */
    put16(0x1104, 0xbc08, 0xb004); /* pop {r3}; add sp, #16 */
    put16(0x1108, 0x4718, 0);      /* bx r3 */
    given.regs.r[3] = 0x1201;
    for (spoor_word at = 0x1106; at <= 0x1108; at += 2) {
        assert_int_equal(walk(at | 1, SPOOR_INTERRUPTED), 2);
        assert_int_equal(given.sites[1], 0x11fe);
    }
    put_call(0x1200, 0x1400); /* a call of another function */
    assert_int_equal(walk(0x1107, SPOOR_INTERRUPTED), 1);
    assert_int_equal(given.end, SPOOR_NO_WAY);
}

static void circular_chains(void **state) {
    (void)state;
    given.image.walkers = SPOOR_BY_CHAIN;
    given.image.flags = SPOOR_R7_CHAIN;
    put_call(0x1100, 0x1400);
    given.regs.r[7] = STACK + 16;
    put32(STACK + 16, STACK + 32);
    put32(STACK + 20, 0x1101);
    put32(STACK + 32, STACK + 16);
    put32(STACK + 36, 0x1101);
    assert_int_equal(walk(0x1101, SPOOR_AT_CALL), 2);
    given.regs.r[7] = STACK + SIZE - 2;
    assert_int_equal(walk(0x1101, SPOOR_AT_CALL), 1);
    given.regs.r[7] = 0x50000000;
    assert_int_equal(walk(0x1101, SPOOR_AT_CALL), 1);
}

static void put_exception(spoor_word at, uint32_t xpsr) {
    put_call(0x1200, 0x1100);
    put16(0x1100, 0x2001, 0x4770); /* movs r0, #1; bx lr */
    put32(at + 20, 0x1201);
    put32(at + 24, 0x1102);
    put32(at + 28, xpsr);
}

/* The stack pointer of the interrupted code. */
static spoor_word interrupted_sp(uint32_t exc_return) {
    struct spoor_walk walk;
    struct spoor_frame frame;
    given.regs.r[SPOOR_PC] = exc_return;
    spoor_walk_begin(&walk, &given.image, &given.regs, SPOOR_INTERRUPTED);
    assert_int_equal(spoor_walk_next(&walk, &frame), SPOOR_FRAME);
    assert_int_equal(frame.by, SPOOR_BY_EXCEPTION);
    assert_int_equal(frame.site, 0x1102);
    spoor_word sp = frame.sp;
    assert_int_equal(spoor_walk_next(&walk, &frame), SPOOR_FRAME);
    assert_int_equal(frame.site, 0x11fe);
    return sp;
}

static void exceptions_on_either_stack(void **state) {
    (void)state;
    put_exception(STACK, 0x1000000);
    assert_int_equal(interrupted_sp(0xfffffff9), STACK + 32);
    put_exception(STACK, 0x1000003);
    assert_int_equal(interrupted_sp(0xfffffff1), STACK + 32);
    put_exception(STACK + 0x100, 0x1000000);
    given.regs.psp = STACK + 0x100;
    assert_int_equal(interrupted_sp(0xfffffffd), STACK + 0x120);
    assert_int_equal(interrupted_sp(0xffffffbc), STACK + 0x120);
}

static void exception_padding_and_fp_registers(void **state) {
    (void)state;
    put_exception(STACK, 0x1000200);
    assert_int_equal(interrupted_sp(0xfffffff9), STACK + 36);
    assert_int_equal(interrupted_sp(0xffffffe9), STACK + 108);
    given.image.flags = SPOOR_SECURE_FP_CALLEE;
    assert_int_equal(interrupted_sp(0xffffffe9), STACK + 172);
}

static void secure_registers_behind_a_signature(void **state) {
    (void)state;
    put32(STACK + 0x80, 0xfefa125b);
    put_exception(STACK + 0x80 + 40, 0x1000000);
    given.regs.psp = STACK + 0x80;
    assert_int_equal(interrupted_sp(0xffffffdd), STACK + 0x80 + 72);
    put32(STACK + 0x80, 0);
    assert_int_equal(walk(0xffffffdd, SPOOR_INTERRUPTED), 0);
    assert_int_equal(given.end, SPOOR_BAD_EXCEPTION);
}

static void impossible_exception_frames(void **state) {
    (void)state;
    put_exception(STACK, 0x1000003); /* a thread that is in an exception */
    assert_int_equal(walk(0xfffffff9, SPOOR_INTERRUPTED), 0);
    assert_int_equal(given.end, SPOOR_BAD_EXCEPTION);
    given.regs.psp = 0x60000000;
    assert_int_equal(walk(0xfffffffd, SPOOR_INTERRUPTED), 0);
    assert_int_equal(given.end, SPOOR_NO_STACK);
    assert_int_equal(walk(0xffffffb9, SPOOR_INTERRUPTED),
                     0); /* non-secure, seen from secure code */
    assert_int_equal(given.end, SPOOR_OTHER_STATE);
}

static void call_of_an_address_without_code(void **state) {
    (void)state;
    put16(0x11fe, 0x4798, 0); /* blx r3 */
    given.regs.r[3] = 0x50000001;
    given.regs.r[SPOOR_LR] = 0x1201;
    assert_int_equal(walk(0x50000001, SPOOR_INTERRUPTED), 2);
    assert_int_equal(given.sites[1], 0x11fe);
    given.regs.r[3] = 0;
    assert_int_equal(walk(0x50000001, SPOOR_INTERRUPTED), 1);
    assert_int_equal(given.end, SPOOR_NO_CODE);
    assert_int_equal(walk(0, SPOOR_INTERRUPTED), 2); /* a pointer that is NULL */
    assert_int_equal(given.sites[1], 0x11fe);
}

static void arbitrary_memory_within_bounds(void **state) {
    uint8_t bytes[2048];
    uint64_t seed = 88172645463325252u;
    (void)state;
    for (unsigned round = 0; round < 3000; round++) {
        for (size_t i = 0; i < sizeof bytes; i++) {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            bytes[i] = (uint8_t)seed;
        }
        LLVMFuzzerTestOneInput(bytes, sizeof bytes);
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup(name, setup),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
