/* What compilers do: results of Rust and Go, clones of GCC, objects in pieces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support.h"

/* Of rustc without optimisation: scalars and wide pointers as in C, up to an object of another
 * kind. */
static void plain_rust(void **state) {
    struct fixture *f = *state;
    const struct type_member wide[] = {{"data_ptr", f->text, 0, 0, 0, 0},
                                       {"length", f->uint64, 64, 0, 0, 0}};
    type_id text = add_struct(f, "&str", 16, 0, wide, 2);
    f->signature.language = SOURCE_RUST;
    takes(f, "a", f->int_);
    takes(f, "s", text);
    takes(f, "d", f->double_);
    takes(f, "o", f->bits);
    takes(f, "b", f->int_);
    f->signature.result = f->item;
    f->thread.registers[RDI] = MEMORY; /* of the result */
    f->thread.registers[RSI] = 5;
    f->thread.registers[RDX] = MEMORY + 64;
    f->thread.registers[RCX] = 2;
    put(&f->thread, MEMORY + 64, "xyz", 3);
    memcpy(f->thread.vectors[0], &(const double){2.5}, 8);
    assert_string_equal(at_entry(f, NULL), "a=5, s=\"xy\", d=2.5, o=?, b=?");
    f->thread.registers[RAX] = MEMORY;
    put(&f->thread, MEMORY, &(const int){77}, 4);
    assert_string_equal(at_return(f, NULL), "ret=?"); /* its address may be anywhere */
    f->signature.returns_address = true;
    assert_string_equal(at_return(f, NULL), "ret={id=77, price=0, name=0x0}");
    f->signature.name = "{closure#0}";
    assert_string_equal(at_entry(f, "a"), "a=?");
    f->signature.name = "f";
    f->signature.result = f->bits; /* versions of rustc differ */
    assert_string_equal(at_entry(f, "a"), "a=?");
    assert_string_equal(at_return(f, NULL), "ret=?");
    f->signature.result = f->int_;
    f->signature.optimized = true;
    assert_string_equal(at_entry(f, "a"), "a=?");
    assert_string_equal(at_return(f, NULL), "ret=65536");
}

static void set_go(struct fixture *f) {
    f->signature.language = SOURCE_GO;
    f->signature.producer = "Go cmd/compile go1.19.8; regabi";
}

/* Results have registers of their own, from the first one on. */
static void go_results(void **state) {
    struct fixture *f = *state;
    struct type three = {
        .kind = TYPE_ARRAY, .name = "", .of = f->uint64, .elements = 3, .bytes = 24};
    set_go(f);
    takes(f, "n", f->uint64);
    takes(f, "~r0", f->int_);
    takes(f, "~r1", f->double_);
    takes(f, "~r2", types_add(f->types, &three));
    takes(f, "~r3", f->uint64);
    f->parameters[0].place = (struct place){.kind = PLACE_REGISTER, .reg = RAX};
    for (int i = 1; i < 5; i++)
        f->parameters[i].flags = PARAMETER_RESULT;
    for (int i = 1; i < 5; i++) /* at the entry, they are nowhere */
        f->parameters[i].place = (struct place){.kind = PLACE_MISSING};
    f->thread.registers[RAX] = 5;
    f->thread.registers[3 /* rbx */] = 6;
    set_double(f, 0, 2.5);
    assert_string_equal(at_entry(f, NULL), "n=5");
    assert_string_equal(at_return(f, NULL), "~r0=5, ~r1=2.5, ~r2=?, ~r3=6");
    assert_string_equal(at_return(f, "ret"), "ret=5");
    f->parameters[3].place = (struct place){.kind = PLACE_FRAME, .offset = 16};
    for (uint64_t i = 0; i < 3; i++)
        put_word(&f->thread, STACK + 24 + 8 * i, 10 + i);
    assert_string_equal(at_return(f, NULL), "~r0=5, ~r1=2.5, ~r2={10, 11, 12}, ~r3=6");
    f->signature.inlined = true; /* then a result named _ is left out */
    assert_string_equal(at_return(f, "ret"), "ret=5");
    f->parameters[1].name = "sum";
    assert_string_equal(at_return(f, "ret"), "ret=?");
    f->signature.inlined = false;
    f->signature.producer = "GNU Go 12.2.0";
    assert_string_equal(at_return(f, "ret"), "ret=?");
}

/* Their pieces leave out padding, or show it. */
static void go_objects_with_padding(void **state) {
    struct fixture *f = *state;
    const struct type_member members[] = {{"a", f->bool_, 0, 0, 0, 0},
                                          {"f", f->double_, 64, 0, 0, 0},
                                          {"b", f->bool_, 128, 0, 0, 0},
                                          {"n", f->int_, 160, 0, 0, 0}};
    const struct place_piece a = {PLACE_REGISTER, RAX, 0, 0, 1}, x = {PLACE_REGISTER, 17, 0, 0, 8},
                             b = {PLACE_REGISTER, 3, 0, 0, 1}, n = {PLACE_REGISTER, RCX, 0, 0, 4},
                             gap3 = {PLACE_MISSING, 0, 0, 0, 3}, gap7 = {PLACE_MISSING, 0, 0, 0, 7};
    set_go(f);
    takes(f, "m", add_struct(f, "main.Mixed", 24, 0, members, 4));
    f->thread.registers[RAX] = 1;
    f->thread.registers[3] = 0;
    f->thread.registers[RCX] = 9;
    set_double(f, 0, -0.5);
    f->parameters[0].place =
        (struct place){.kind = PLACE_PIECES, .piece_count = 4, .pieces = {a, x, b, n}};
    assert_string_equal(at_entry(f, NULL), "m={a=true, f=-0.5, b=false, n=9}");
    f->parameters[0].place = (struct place){
        .kind = PLACE_PIECES, .piece_count = 7, .pieces = {a, gap7, x, b, gap3, n, gap7}};
    assert_string_equal(at_entry(f, NULL), "m={a=true, f=-0.5, b=false, n=9}");
    f->parameters[0].place =
        (struct place){.kind = PLACE_PIECES, .piece_count = 4, .pieces = {a, x, n, b}};
    assert_string_equal(at_entry(f, NULL), "m=?");
    f->signature.language = SOURCE_C;
    f->parameters[0].place =
        (struct place){.kind = PLACE_PIECES, .piece_count = 1, .pieces = {gap7}};
    assert_string_equal(at_entry(f, NULL), "m=?");
}

/* Clones that take constants return as the original does; others may return nothing. */
static void results_of_clones(void **state) {
    struct fixture *f = *state;
    takes(f, "a", f->int_);
    f->signature.result = f->int_;
    f->signature.changed = true;
    f->parameters[0].place = (struct place){.kind = PLACE_MISSING};
    f->thread.registers[RAX] = 3;
    assert_string_equal(at_return(f, NULL), "ret=?");
    f->signature.keeps_result = true;
    assert_string_equal(at_return(f, NULL), "ret=3");
    assert_string_equal(at_entry(f, NULL), "a=?");
}

static void constants_in_pieces(void **state) {
    struct fixture *f = *state;
    takes(f, "n", f->int128);
    f->parameters[0].place =
        (struct place){.kind = PLACE_PIECES,
                       .piece_count = 2,
                       .pieces = {{PLACE_CONSTANT, 0, 0, 7, 8}, {PLACE_CONSTANT, 0, 0, 1, 8}}};
    assert_string_equal(at_entry(f, NULL), "n=18446744073709551623");
}

/* Before version 18, Clang splits an __int128 between the last register and the stack, and then
 * also structs that want a register of each kind. */
static void halves_of_old_clang(void **state) {
    struct fixture *f = *state;
    const struct type_member mixed[] = {{"x", f->double_, 0, 0, 0, 0},
                                        {"c", f->char_, 64, 0, 0, 0}};
    f->signature.producer = "clang version 14.0.6";
    for (int i = 0; i < 5; i++)
        takes(f, "i", f->int_);
    takes(f, "wide", f->int128);
    takes(f, "o", add_struct(f, "mixed", 16, 0, mixed, 2));
    assert_string_equal(at_entry(f, "wide,o"), "wide=0, o=?");
    f->signature.producer = "clang version 19.1.0";
    assert_string_equal(at_entry(f, "wide,o.c/d"), "wide=0, o.c=0");
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(plain_rust),        T(go_results),          T(go_objects_with_padding),
        T(results_of_clones), T(constants_in_pieces), T(halves_of_old_clang)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
