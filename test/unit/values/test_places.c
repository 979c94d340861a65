/* Where debugging information says that parameters are, on 32-bit Arm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "values/compile.h"

enum { FLOATS = 4, S0 = 64 };

static const struct place_piece pieces[] = {{.kind = PLACE_REGISTER, .reg = S0 + 2, .bytes = 4},
                                            {.kind = PLACE_REGISTER, .reg = S0 + 3, .bytes = 4}};

static struct capture compile(struct types *types, struct parameter *parameters, size_t count) {
    const struct signature s = {.name = "f",
                                .producer = "GNU C17",
                                .language = SOURCE_C,
                                .parameters = parameters,
                                .count = count,
                                .has_places = true,
                                .prototyped = true};
    const struct values_request r = {.types = types,
                                     .signature = &s,
                                     .abi = ABI_ARM_HARD,
                                     .kind = EVENT_ENTRY,
                                     .by_types = true,
                                     .strings = 16};
    struct capture c = {0};
    struct err err;
    assert_int_equal(values_compile(&r, &c, &err), 0);
    return c;
}

static void assert_half(const struct capture_value *v, uint8_t reg, uint8_t part) {
    assert_int_equal(v->from, FROM_VECTOR);
    assert_int_equal(v->reg, reg);
    assert_int_equal(v->part, part);
    assert_int_equal(v->bytes, 4);
}

/* GCC numbers the halves of d0 to d15 from 64 on, and describes a double by two of them. */
static void halves_of_registers(void **unused) {
    struct types *types = types_new();
    const type_id single =
        types_add(types, &(struct type){.kind = TYPE_FLOAT, .name = "float", .bytes = 4});
    const type_id both =
        types_add(types, &(struct type){.kind = TYPE_FLOAT, .name = "double", .bytes = 8});
    struct parameter p[FLOATS] = {
        {.name = "a", .type = single}, {.name = "b", .type = both}, {.name = "c", .type = single}};
    (void)unused;
    p[0].place = (struct place){.kind = PLACE_REGISTER, .reg = S0};
    p[1].place = (struct place){.kind = PLACE_PIECES, .piece_count = 2};
    p[1].place.pieces[0] = pieces[0];
    p[1].place.pieces[1] = pieces[1];
    p[2].place = (struct place){.kind = PLACE_REGISTER, .reg = S0 + 1};
    p[3] = p[1];
    p[3].name = "whole";
    p[3].place = (struct place){.kind = PLACE_REGISTER, .reg = S0 + 5};
    struct capture c = compile(types, p, FLOATS);
    assert_int_equal(c.count, FLOATS + 1);
    assert_half(&c.values[0], 0, 0);
    assert_half(&c.values[1], 1, 0);
    assert_half(&c.values[2], 1, 4);
    assert_half(&c.values[3], 0, 4);
    assert_int_equal(c.values[4].from, FROM_NOTHING); /* a half has no room for a double */
    capture_done(&c);
    types_free(types);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(halves_of_registers)};
    return cmocka_run_group_tests_name("places by debugging information", tests, NULL, NULL);
}
