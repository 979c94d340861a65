/* Effects of x86-64 instructions on the stack pointer and on copies of it. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "arch/arch.h"

#define TESTS                                                                                      \
    TEST(push_and_pop)                                                                             \
    TEST(frame_arithmetic)                                                                         \
    TEST(saves_and_loads)                                                                          \
    TEST(other_writes_make_registers_unknown)                                                      \
    TEST(callee_saved_registers)

/* DWARF's numbers, System V ABI, figure 3.36 */
enum { AX, DX, CX, BX, SI, DI, BP, SP, R8, R9, R10, R11, R12, NONE = STACK_NO_REGISTER };
#define BIT(reg) (1U << (reg))
#define BYTES(text) text, sizeof(text) - 1

struct example {
    const char *bytes;
    uint8_t size, op, reg, base;
    int64_t displacement;
};

static struct stack_effect effect_of(const char *bytes, size_t size) {
    uint8_t code[16] = {0};
    memcpy(code, bytes, size);
    struct stack_effect effects[STACK_MAX_EFFECTS];
    assert_int_equal(arch_for_machine(EM_X86_64)->stack(code, size, effects), 1);
    return effects[0];
}

static void check(const struct example *x, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct stack_effect e = effect_of(x[i].bytes, x[i].size);
        assert_int_equal(e.op, x[i].op);
        assert_int_equal(e.reg, x[i].reg);
        assert_int_equal(e.base, x[i].base);
        assert_int_equal(e.displacement, x[i].displacement);
        assert_int_equal(e.changed, 0);
    }
}
#define CHECK(...)                                                                                 \
    do {                                                                                           \
        static const struct example list[] = {__VA_ARGS__};                                        \
        check(list, sizeof list / sizeof *list);                                                   \
    } while (0)
#define CHANGES(text, registers)                                                                   \
    do {                                                                                           \
        struct stack_effect e = effect_of(BYTES(text));                                            \
        assert_int_equal(e.op, STACK_NONE);                                                        \
        assert_int_equal(e.changed, registers);                                                    \
    } while (0)

static void push_and_pop(void **state) {
    (void)state;
    CHECK({BYTES("\x55"), STACK_PUSH, BP, 0, 0},               /* push %rbp */
          {BYTES("\x41\x54"), STACK_PUSH, R12, 0, 0},          /* push %r12 */
          {BYTES("\x54"), STACK_PUSH, SP, 0, 0},               /* push %rsp */
          {BYTES("\x6a\x00"), STACK_PUSH, NONE, 0, 0},         /* push $0 */
          {BYTES("\x41\xff\x72\xf8"), STACK_PUSH, NONE, 0, 0}, /* push -8(%r10) */
          {BYTES("\x9c"), STACK_PUSH, NONE, 0, 0},             /* pushf */
          {BYTES("\x5b"), STACK_POP, BX, 0, 0},                /* pop %rbx */
          {BYTES("\x9d"), STACK_POP, NONE, 0, 0},              /* popf */
          {BYTES("\xc9"), STACK_LEAVE, BP, 0, 0});             /* leave */
}

static void frame_arithmetic(void **state) {
    (void)state;
    CHECK({BYTES("\x48\x83\xec\x18"), STACK_SET, SP, SP, -24},              /* sub $24,%rsp */
          {BYTES("\x48\x83\xec\x80"), STACK_SET, SP, SP, 128},              /* sub $-128,%rsp */
          {BYTES("\x48\x81\xc4\x00\x10\x00\x00"), STACK_SET, SP, SP, 4096}, /* add $4096,%rsp */
          {BYTES("\x48\x8d\x65\xd8"), STACK_SET, SP, BP, -40},              /* lea -40(%rbp),%rsp */
          {BYTES("\x49\x8d\x62\xf8"), STACK_SET, SP, R10, -8},              /* lea -8(%r10),%rsp */
          {BYTES("\x48\x89\xe5"), STACK_SET, BP, SP, 0},                    /* mov %rsp,%rbp */
          {BYTES("\x48\x8b\xec"), STACK_SET, BP, SP, 0},                    /* the same */
          {BYTES("\x48\x89\xec"), STACK_SET, SP, BP, 0},                    /* mov %rbp,%rsp */
          {BYTES("\x48\x83\xe4\xf0"), STACK_ALIGN, SP, SP, 0},              /* and $-16,%rsp */
          {BYTES("\x48\x09\xcc"), STACK_SET, SP, SP, 0}); /* or %rcx,%rsp: of hardened programs */
}

static void saves_and_loads(void **state) {
    (void)state;
    CHECK({BYTES("\x48\x89\x5c\x24\x08"), STACK_STORE, BX, SP, 8},   /* mov %rbx,8(%rsp) */
          {BYTES("\x48\x8b\x6c\x24\x50"), STACK_LOAD, BP, SP, 80},   /* mov 80(%rsp),%rbp */
          {BYTES("\x4c\x8b\x55\xf8"), STACK_LOAD, R10, BP, -8},      /* mov -8(%rbp),%r10 */
          {BYTES("\x89\x45\xfc"), STACK_STORE, NONE, BP, -4},        /* mov %eax,-4(%rbp) */
          {BYTES("\x48\x83\x04\x24\x01"), STACK_STORE, NONE, SP, 0}, /* addq $1,(%rsp) */
          {BYTES("\x0f\x29\x44\x24\x10"), STACK_STORE, NONE, SP, 16} /* movaps %xmm0,16(%rsp) */);
    assert_int_equal(effect_of(BYTES("\x0f\x29\x44\x24\x10")).size, 16);
    assert_int_equal(effect_of(BYTES("\x89\x45\xfc")).size, 4);
}

static void other_writes_make_registers_unknown(void **state) {
    (void)state;
    CHANGES("\x48\x29\xc4", BIT(SP));                 /* sub %rax,%rsp */
    CHANGES("\x48\x94", BIT(AX) | BIT(SP));           /* xchg %rax,%rsp */
    CHANGES("\x89\xe5", BIT(BP));                     /* mov %esp,%ebp */
    CHANGES("\x48\x8d\x24\x04", BIT(SP));             /* lea (%rsp,%rax),%rsp */
    CHANGES("\x5c", BIT(SP));                         /* pop %rsp */
    CHANGES("\x66\x50", BIT(SP));                     /* push %ax */
    CHANGES("\x48\xf7\xe1", BIT(AX) | BIT(DX));       /* mul %rcx */
    CHANGES("\x48\x0f\x44\xe0", BIT(SP));             /* cmove %rax,%rsp */
    CHANGES("\x64\x48\x8b\x24\x25\0\0\0\0", BIT(SP)); /* mov %fs:0,%rsp */
    CHANGES("\x64\x48\x8b\x23", BIT(SP));             /* mov %fs:(%rbx),%rsp */
    CHANGES("\x0f\x05", BIT(AX) | BIT(CX) | BIT(R11));
}

static void callee_saved_registers(void **state) {
    (void)state;
    struct stack_effect e = effect_of(BYTES("\xe8\x00\x00\x00\x00"));
    assert_int_equal(e.op, STACK_CALL);
    assert_int_equal(e.changed, BIT(AX) | BIT(DX) | BIT(CX) | BIT(SI) | BIT(DI) | BIT(R8) |
                                    BIT(R9) | BIT(R10) | BIT(R11));
    assert_int_equal(effect_of(BYTES("\xff\xd0")).op, STACK_CALL);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
