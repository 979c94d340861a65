/*
 * Packed structs and unions as arguments on x86-64: what GCC 12 and Clang 14 do with each of them.
 * Where they differ, and for all behind it, no place is told.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "values/abi.h"

struct graph {
    struct types *types;
    type_id char_, int_, long_, float_;
};

static type_id scalar(struct types *types, enum type_kind kind, const char *name, uint64_t bytes) {
    return types_add(types, &(struct type){.kind = kind, .name = name, .bytes = bytes});
}

static int set_up(void **state) {
    static struct graph g;
    g.types = types_new();
    g.char_ = scalar(g.types, TYPE_INTEGER, "char", 1);
    g.int_ = scalar(g.types, TYPE_INTEGER, "int", 4);
    g.long_ = scalar(g.types, TYPE_INTEGER, "long", 8);
    g.float_ = scalar(g.types, TYPE_FLOAT, "float", 4);
    *state = &g;
    return 0;
}

static int tear_down(void **state) {
    struct graph *g = *state;
    types_free(g->types);
    return 0;
}

/* A bit field: BITS of TYPE, from bit AT on. */
static struct type_member field(type_id type, uint64_t at, uint32_t bits) {
    return (struct type_member){.name = "m", .type = type, .bit_offset = at, .bit_size = bits};
}
static struct type_member member(type_id type, uint64_t byte) { return field(type, byte * 8, 0); }

static type_id object(struct graph *g, enum type_kind kind, uint64_t bytes, struct type_member a,
                      struct type_member b) {
    const struct type_member members[] = {a, b};
    struct type t = {.kind = kind, .name = "o", .bytes = bytes, .members = members};
    t.count = b.name ? 2 : 1;
    return types_add(g->types, &t);
}

static const struct type_member none;

static type_id single(struct graph *g, enum type_kind kind, uint64_t bytes, struct type_member a) {
    return object(g, kind, bytes, a, none);
}

/* A packed struct of BYTES, with INNER behind a char. */
static type_id behind_char(struct graph *g, type_id inner, uint64_t bytes) {
    return object(g, TYPE_STRUCT, bytes, member(g->char_, 0), member(inner, 1));
}

static type_id array(struct graph *g, type_id of, uint64_t elements) {
    return types_add(g->types, &(struct type){.kind = TYPE_ARRAY,
                                              .name = "",
                                              .of = of,
                                              .elements = elements,
                                              .bytes = elements * types_bytes(g->types, of)});
}

/* 'm' for memory, 'r' for registers, '?' for no place; that of an int behind it is '?', too. */
static char place_of(struct graph *g, type_id type) {
    struct abi_place places[2];
    const type_id arguments[] = {type, g->int_};
    struct abi_call call = {g->types, arguments, 2, 0, false, false};
    abi_arguments(ABI_X86_64, &call, places);
    assert_int_equal(places[0].missing, places[1].missing);
    if (places[0].missing)
        return '?';
    return places[0].piece[0].from == FROM_STACK ? 'm' : 'r';
}

static void scalars(void **state) {
    struct graph *g = *state;
    assert_int_equal(place_of(g, behind_char(g, g->int_, 5)), 'm');
    assert_int_equal(place_of(g, behind_char(g, g->char_, 2)), 'r');
    type_id mixed = object(g, TYPE_STRUCT, 5, member(g->int_, 0), member(g->char_, 4));
    assert_int_equal(place_of(g, mixed), 'r');
    assert_int_equal(place_of(g, behind_char(g, mixed, 6)), 'm');
    /* GCC asks the first element only; Clang sees that the second is unaligned. */
    type_id two = array(g, mixed, 2);
    assert_int_equal(place_of(g, single(g, TYPE_STRUCT, 10, member(two, 0))), '?');
    assert_int_equal(place_of(g, behind_char(g, two, 11)), 'm');
}

/* GCC takes a bit field of a union for the integer that holds it. */
static void bits_of_unions(void **state) {
    struct graph *g = *state;
    type_id packed = single(g, TYPE_UNION, 3, field(g->int_, 0, 23));
    assert_int_equal(place_of(g, packed), 'r');
    assert_int_equal(place_of(g, behind_char(g, packed, 4)), '?');
    assert_int_equal(place_of(g, single(g, TYPE_STRUCT, 6, member(array(g, packed, 2), 0))), 'r');
    type_id between = object(g, TYPE_STRUCT, 12, member(packed, 2), member(g->float_, 8));
    assert_int_equal(place_of(g, between), '?');
    type_id small = single(g, TYPE_UNION, 1, field(g->int_, 0, 3));
    assert_int_equal(place_of(g, behind_char(g, small, 2)), 'r');
    type_id aligned = single(g, TYPE_UNION, 4, field(g->int_, 0, 23));
    assert_int_equal(place_of(g, behind_char(g, aligned, 5)), '?');
    /* Another member is unaligned for both compilers. */
    type_id behind = object(g, TYPE_STRUCT, 8, member(packed, 1), member(g->float_, 4));
    type_id whole = behind_char(g, behind, 9);
    assert_int_equal(place_of(g, behind), '?');
    assert_int_equal(place_of(g, whole), 'm');
}

/* Clang asks whether the struct around them is aligned as their declared type. */
static void bits_of_structs(void **state) {
    struct graph *g = *state;
    type_id packed = single(g, TYPE_STRUCT, 1, field(g->int_, 0, 4));
    assert_int_equal(place_of(g, behind_char(g, packed, 2)), 'r');
    type_id aligned = single(g, TYPE_STRUCT, 4, field(g->int_, 0, 4));
    assert_int_equal(place_of(g, behind_char(g, aligned, 5)), '?');
    type_id across = object(g, TYPE_STRUCT, 10, field(g->int_, 40, 30), member(g->char_, 0));
    assert_int_equal(place_of(g, across), 'r');
    /* With #pragma pack, GCC takes the second field for a short that is unaligned. */
    type_id halves = object(g, TYPE_STRUCT, 5, field(g->int_, 16, 16), member(g->char_, 4));
    assert_int_equal(place_of(g, halves), 'r');
    assert_int_equal(place_of(g, behind_char(g, halves, 6)), '?');
    type_id shifted = object(g, TYPE_STRUCT, 5, field(g->int_, 3, 16), member(g->char_, 4));
    assert_int_equal(place_of(g, behind_char(g, shifted, 6)), 'r');
}

/* A result that is perhaps in memory may take the first register. */
static void results(void **state) {
    struct graph *g = *state;
    type_id packed = single(g, TYPE_UNION, 3, field(g->int_, 0, 23));
    struct abi_place place;
    struct abi_call call = {g->types, &g->int_, 1, behind_char(g, packed, 4), false, false};
    abi_result(ABI_X86_64, &call, &place);
    assert_int_equal(place.missing, VALUE_UNTYPED);
    abi_arguments(ABI_X86_64, &call, &place);
    assert_int_equal(place.missing, VALUE_UNTYPED);
    call.result = behind_char(g, g->long_, 9);
    abi_arguments(ABI_X86_64, &call, &place);
    assert_int_equal(place.piece[0].reg, 4); /* rsi */
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {T(scalars), T(bits_of_unions), T(bits_of_structs),
                                       T(results)};
    return cmocka_run_group_tests_name("places of packed structs", tests, NULL, NULL);
}
