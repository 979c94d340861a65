/* What is known of what a function was passed, from what it keeps in its frame: origins.S. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "arch/arch.h"
#include "plan/origins.h"

enum { DX = 1, CX = 2, SI = 4, DI = 5, BP = 6, SP = 7, R8 = 8 };
static const char *fixture;
static struct module *module;
static struct entry_code *code;

static vaddr_t address(const char *name) {
    const struct symbol *symbol = module_symbol_named(module, name);
    assert_non_null(symbol);
    return symbol->addr;
}

static void read_code(const char *name, const char *until) {
    assert_int_equal(module_load(fixture, 0, &module, NULL), 0);
    code = entry_code_read(module, address(name), until ? address(until) : 0);
}

static void close_code(void) {
    entry_code_free(code);
    module_free(module);
}

/* The origin of the byte at register BASE + OFFSET. */
static struct origin first_at(int base, int offset) {
    int32_t at;
    assert_non_null(code);
    assert_true(entry_code_place(code, (struct entry_memory){base, offset}, true, &at));
    return entry_code_first(code, at);
}

static void expect(struct origin o, enum origin_kind kind, unsigned reg, int at) {
    assert_int_equal(o.kind, kind);
    assert_int_equal(o.reg, reg);
    assert_int_equal(o.at, at);
    assert_false(o.bit);
}
static void expect_unknown(struct origin o) { assert_int_equal(o.kind, ORIGIN_UNKNOWN); }

static void what_is_stored_first_was_passed(void **state) {
    (void)state;
    read_code("stores", NULL);
    expect(first_at(SP, 0x8), ORIGIN_REGISTER, DI, 0);
    expect(first_at(SP, 0xb), ORIGIN_REGISTER, DI, 3);
    expect_unknown(first_at(SP, 0xc));
    expect(first_at(SP, 0x10), ORIGIN_REGISTER, SI, 0);
    expect(first_at(SP, 0x17), ORIGIN_REGISTER, SI, 7);
    expect(first_at(SP, 0x1f), ORIGIN_REGISTER, DATA_VECTOR, 7);
    expect(first_at(SP, 0x20), ORIGIN_REGISTER, DX, 0);
    expect_unknown(first_at(SP, 0x21));
    expect_unknown(first_at(SP, 0x28));
    close_code();
}

static void nothing_is_known_behind_a_call(void **state) {
    (void)state;
    read_code("stores", NULL);
    expect_unknown(first_at(SP, 0x30));
    close_code();
}

static void what_the_caller_keeps_on_the_stack_was_passed(void **state) {
    (void)state;
    read_code("stores", NULL);
    expect(first_at(SP, 0x50), ORIGIN_STACK, 0, 0);
    expect(first_at(ENTRY_CFA, 8), ORIGIN_STACK, 0, 8);
    close_code();
}

static void copies_are_followed(void **state) {
    (void)state;
    read_code("copies", NULL);
    expect(first_at(BP, -0x8), ORIGIN_REGISTER, SI, 0);
    expect(first_at(BP, -0x10), ORIGIN_REGISTER, SI, 0);
    expect(first_at(BP, -0xd), ORIGIN_REGISTER, SI, 3);
    expect(first_at(BP, -0x18), ORIGIN_REGISTER, DI, 0);
    expect_unknown(first_at(BP, -0x14)); /* mov %edi has cleared the upper half */
    expect(first_at(BP, -0x20), ORIGIN_REGISTER, DATA_VECTOR + 1, 0);
    expect(first_at(BP, -0x28), ORIGIN_STACK, 0, 8);
    close_code();
}

static void a_bit_is_all_of_a_truth_value(void **state) {
    (void)state;
    read_code("copies", NULL);
    struct origin o = first_at(BP, -0x29);
    assert_int_equal(o.kind, ORIGIN_REGISTER);
    assert_int_equal(o.reg, R8);
    assert_true(o.bit);
    close_code();
}

static void what_was_computed_was_not_passed(void **state) {
    (void)state;
    read_code("copies", NULL);
    expect_unknown(first_at(BP, -0x38));
    expect_unknown(first_at(BP, -0x39));
    close_code();
}

static void registers_are_known_where_the_code_was_read_to(void **state) {
    (void)state;
    int32_t at;
    read_code("pointers", "pointers_kept");
    expect(entry_code_register(code, DI, 0), ORIGIN_REGISTER, DI, 0);
    assert_true(entry_code_place(code, (struct entry_memory){SP, 8}, false, &at));
    expect(entry_code_first(code, at), ORIGIN_REGISTER, SI, 0);
    close_code();
    read_code("pointers", "pointers_moved");
    expect(entry_code_register(code, DI, 7), ORIGIN_REGISTER, SI, 7);
    expect_unknown(entry_code_register(code, DI, 8));
    close_code();
}

static void a_place_behind_a_jump_is_not_reached(void **state) {
    (void)state;
    read_code("pointers", "pointers_end");
    assert_null(code);
    close_code();
}

/* Else a slot would count as one of the caller's. */
static void a_frame_that_is_not_complete_has_no_places(void **state) {
    (void)state;
    int32_t at;
    read_code("probes", NULL);
    assert_non_null(code);
    assert_false(entry_code_place(code, (struct entry_memory){SP, 0x1800}, true, &at));
    close_code();
}

static void a_store_somewhere_in_the_frame_ends_what_is_known(void **state) {
    (void)state;
    read_code("wild", NULL);
    expect_unknown(first_at(SP, 0x8));
    close_code();
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_stored_first_was_passed),
        cmocka_unit_test(nothing_is_known_behind_a_call),
        cmocka_unit_test(what_the_caller_keeps_on_the_stack_was_passed),
        cmocka_unit_test(copies_are_followed),
        cmocka_unit_test(a_bit_is_all_of_a_truth_value),
        cmocka_unit_test(what_was_computed_was_not_passed),
        cmocka_unit_test(registers_are_known_where_the_code_was_read_to),
        cmocka_unit_test(a_place_behind_a_jump_is_not_reached),
        cmocka_unit_test(a_frame_that_is_not_complete_has_no_places),
        cmocka_unit_test(a_store_somewhere_in_the_frame_ends_what_is_known),
    };
    if (argc != 2)
        return 1;
    fixture = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
