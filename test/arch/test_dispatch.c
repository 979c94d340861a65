/* Targets of an indirect jump, found from the instructions before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>

#include "arch/arch.h"

#define TESTS                                                                                      \
    TEST(switch_by_offset_and_base)                                                                \
    TEST(unoptimised_switch)                                                                       \
    TEST(offset_not_added_to_the_target)                                                           \
    TEST(address_tables_in_memory_or_register)                                                     \
    TEST(variable_is_no_switch)                                                                    \
    TEST(target_computed_from_a_place)                                                             \
    TEST(unknown_jump_goes_anywhere)

#define CODE(text) ((struct code_bytes){(const uint8_t *)(text), sizeof(text) - 1, 0})
#define JMP_RAX CODE("\xff\xe0")
#define ADD_RDX_RAX CODE("\x48\x01\xd0")

static struct dispatch ask(struct code_bytes jump, const struct code_bytes *past, size_t count) {
    return arch_for_machine(EM_X86_64)->dispatch(jump, past, count);
}
/* The instructions before JUMP, nearest first. */
#define ASK(jump, ...)                                                                             \
    ask(jump, (const struct code_bytes[]){__VA_ARGS__},                                            \
        sizeof((const struct code_bytes[]){__VA_ARGS__}) / sizeof(struct code_bytes))

static void switch_by_offset_and_base(void **state) {
    (void)state;
    struct code_bytes movslq = CODE("\x48\x63\x04\xba");
    assert_int_equal(ASK(JMP_RAX, ADD_RDX_RAX, movslq).kind, DISPATCH_OFFSETS);
    assert_int_equal(ASK(CODE("\x3e\xff\xe0"), ADD_RDX_RAX, movslq).kind, DISPATCH_OFFSETS);
    /* movslq (%r8,%rcx,4),%r9; add %r8,%r9; jmp *%r9 */
    assert_int_equal(ASK(CODE("\x41\xff\xe1"), CODE("\x4d\x01\xc1"), CODE("\x4d\x63\x0c\x88")).kind,
                     DISPATCH_OFFSETS);
    /* lea (%r11,%rcx),%rcx */
    assert_int_equal(ASK(CODE("\xff\xe1"), CODE("\x49\x8d\x0c\x0b"), CODE("\x49\x63\x0c\x93")).kind,
                     DISPATCH_OFFSETS);
    /* a thunk hides the register */
    assert_int_equal(ASK(CODE("\xe9\x00\x00\x00\x00"), ADD_RDX_RAX, movslq).kind, DISPATCH_OFFSETS);
}

static void unoptimised_switch(void **state) {
    (void)state;
    struct code_bytes load = CODE("\x8b\x04\x02"), cltq = CODE("\x48\x98");
    struct code_bytes lea = CODE("\x48\x8d\x15\x00\x00\x00\x00");
    assert_int_equal(ASK(JMP_RAX, ADD_RDX_RAX, lea, cltq, load).kind, DISPATCH_OFFSETS);
    assert_int_equal(ASK(JMP_RAX, ADD_RDX_RAX, lea, load).kind, DISPATCH_COMPUTED);
}

static void offset_not_added_to_the_target(void **state) {
    (void)state;
    struct code_bytes movslq = CODE("\x48\x63\x14\xba");
    assert_int_equal(ASK(JMP_RAX, movslq).kind, DISPATCH_ANY);
    assert_int_equal(ASK(JMP_RAX, CODE("\x48\x01\xca"), movslq).kind, DISPATCH_ANY); /* to rdx */
}

static void address_tables_in_memory_or_register(void **state) {
    (void)state;
    struct dispatch direct = ask(CODE("\xff\x24\xc5\x00\x10\x40\x00"), NULL, 0);
    assert_int_equal(direct.kind, DISPATCH_ADDRESSES);
    assert_int_equal(direct.table, 0x401000);
    struct dispatch loaded = ASK(JMP_RAX, CODE("\x48\x8b\x04\xfd\x00\x20\x40\x00"));
    assert_int_equal(loaded.kind, DISPATCH_ADDRESSES);
    assert_int_equal(loaded.table, 0x402000);
    struct dispatch based = ask(CODE("\xff\x24\xf8"), NULL, 0);
    assert_int_equal(based.kind, DISPATCH_ADDRESSES);
    assert_int_equal(based.table, 0);
    /* mov (%rdx,%rdi,8),%rcx does not load %rax */
    assert_int_equal(ASK(JMP_RAX, CODE("\x48\x8b\x0c\xfa")).kind, DISPATCH_ANY);
}

static void variable_is_no_switch(void **state) {
    (void)state;
    assert_int_equal(ASK(CODE("\xff\x25\x00\x10\x00\x00"), ADD_RDX_RAX).kind, DISPATCH_VARIABLE);
}

static void target_computed_from_a_place(void **state) {
    (void)state;
    struct code_bytes place = {(const uint8_t *)"\x48\x8d\x15\x10\x00\x00\x00", 7, 0x1000};
    struct code_bytes scaled = CODE("\x48\x8d\x04\xfa"); /* lea (%rdx,%rdi,8),%rax */
    struct code_bytes copied = CODE("\x48\x89\xd0");     /* mov %rdx,%rax */
    struct dispatch d = ASK(JMP_RAX, scaled, place);
    assert_int_equal(d.kind, DISPATCH_COMPUTED);
    assert_int_equal(d.table, 0x1017);
    assert_int_equal(ASK(JMP_RAX, CODE("\x31\xc9"), ADD_RDX_RAX, place).table, 0x1017);
    assert_int_equal(ASK(JMP_RAX, CODE("\x48\x01\xc8"), copied, place).table, 0x1017);
    d = ASK(JMP_RAX, CODE("\x48\x8d\x04\xbd\x00\x20\x40\x00")); /* lea 0x402000(,%rdi,4),%rax */
    assert_int_equal(d.kind, DISPATCH_COMPUTED);
    assert_int_equal(d.table, 0x402000);
    /* mov (%rax),%rax: an unknown value from memory */
    assert_int_equal(ASK(JMP_RAX, CODE("\x48\x8b\x00"), scaled, place).kind, DISPATCH_ANY);
    assert_int_equal(ASK(JMP_RAX, scaled, CODE("\x31\xd2"), place).kind, DISPATCH_ANY); /* xor */
    assert_int_equal(ASK(JMP_RAX, copied, place).kind, DISPATCH_ANY); /* to the table itself */
}

static void unknown_jump_goes_anywhere(void **state) {
    (void)state;
    assert_int_equal(ask(JMP_RAX, NULL, 0).kind, DISPATCH_ANY);
    assert_int_equal(ask(CODE("\xff\x20"), NULL, 0).kind, DISPATCH_ANY);
    assert_int_equal(ask(CODE("\xff\x67\x18"), NULL, 0).kind, DISPATCH_ANY);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
