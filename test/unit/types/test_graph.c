/* The graph of types: names, laziness, cycles, members, spelling, copies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "base/mem.h"
#include "types/types.h"

static struct types *graph;

static int setup(void **state) {
    (void)state;
    graph = types_new();
    return 0;
}

static int teardown(void **state) {
    (void)state;
    types_free(graph);
    return 0;
}

static type_id integer(const char *name, uint64_t bytes, uint32_t flags) {
    return types_add(
        graph, &(struct type){.kind = TYPE_INTEGER, .name = name, .bytes = bytes, .flags = flags});
}

static type_id of_kind(enum type_kind kind, uint32_t flags, type_id of) {
    return types_add(graph, &(struct type){.kind = kind,
                                           .name = "",
                                           .flags = flags,
                                           .of = of,
                                           .bytes = kind == TYPE_POINTER ? 8 : 0});
}

static type_id array(type_id of, uint64_t elements) {
    return types_add(
        graph, &(struct type){.kind = TYPE_ARRAY, .name = "", .of = of, .elements = elements});
}

static void expect_spelled(type_id id, const char *wanted) {
    AUTO_FREE char *text = types_spell(graph, id);
    assert_string_equal(text, wanted);
}

static void unknown_numbers_are_void(void **state) {
    (void)state;
    assert_int_equal(types_get(graph, 0)->kind, TYPE_UNKNOWN);
    assert_int_equal(types_get(graph, 12345)->kind, TYPE_UNKNOWN);
    expect_spelled(77, "void");
}

static void equal_names_are_stored_once(void **state) {
    (void)state;
    char text[16] = "x";
    for (int i = 0; i < 2000; i++) {
        snprintf(text, sizeof text, "name%d", i % 1000);
        const char *first = types_name(graph, text);
        assert_ptr_equal(first, types_name(graph, text));
        assert_string_equal(first, text);
    }
    assert_string_equal(types_name(graph, ""), "");
}

/* struct node { int value : 3; struct node *next; struct { char letter; }; } */
static type_id list_node(void) {
    type_id node = types_reserve(graph, NULL, 0);
    type_id pointer = of_kind(TYPE_POINTER, 0, node);
    struct type_member letter = {.name = "letter", .type = integer("char", 1, TYPE_CHARACTER)};
    type_id inner = types_add(
        graph, &(struct type){
                   .kind = TYPE_STRUCT, .name = "", .bytes = 1, .count = 1, .members = &letter});
    struct type_member members[] = {
        {.name = "value", .type = integer("int", 4, TYPE_SIGNED), .bit_size = 3},
        {.name = "next", .type = pointer, .bit_offset = 64},
        {.name = "", .type = inner, .bit_offset = 128}};
    types_set(graph, node,
              &(struct type){.kind = TYPE_STRUCT,
                             .flags = TYPE_TAG,
                             .name = "node",
                             .bytes = 24,
                             .count = 3,
                             .members = members});
    return node;
}

static void members_are_found_in_members_without_names(void **state) {
    (void)state;
    type_id node = list_node();
    struct type_member m;
    assert_true(types_member(graph, node, "next", &m));
    assert_int_equal(m.bit_offset, 64);
    assert_int_equal(types_get(graph, m.type)->of, node);
    assert_true(types_member(graph, of_kind(TYPE_QUALIFIER, TYPE_CONST, node), "letter", &m));
    assert_int_equal(m.bit_offset, 128);
    assert_false(types_member(graph, node, "nothing", &m));
    assert_false(types_member(graph, node, "", &m));
}

static void types_that_hold_themselves_end(void **state) {
    (void)state;
    type_id a = types_reserve(graph, NULL, 0), b = types_reserve(graph, NULL, 0);
    struct type_member m[] = {{.name = "", .type = a}, {.name = "", .type = a}};
    types_set(graph, a, &(struct type){.kind = TYPE_STRUCT, .name = "a", .count = 2, .members = m});
    types_set(graph, b, &(struct type){.kind = TYPE_TYPEDEF, .name = "", .of = b});
    assert_false(types_member(graph, a, "x", &m[0]));
    assert_int_equal(types_plain(graph, b), 0);
    type_id rows = types_reserve(graph, NULL, 0);
    types_set(graph, rows,
              &(struct type){.kind = TYPE_ARRAY, .name = "", .of = rows, .elements = 2});
    assert_int_equal(types_bytes(graph, rows), 0);
    free(types_spell(graph, rows));
}

static void sizes_go_through_names_and_arrays(void **state) {
    (void)state;
    type_id number = integer("int", 4, TYPE_SIGNED);
    type_id name =
        types_add(graph, &(struct type){.kind = TYPE_TYPEDEF,
                                        .name = "number",
                                        .of = of_kind(TYPE_QUALIFIER, TYPE_VOLATILE, number)});
    assert_int_equal(types_plain(graph, name), number);
    assert_int_equal(types_bytes(graph, array(array(name, 3), 5)), 60);
    assert_int_equal(types_bytes(graph, array(array(name, UINT64_MAX), UINT64_MAX)), 0);
}

static void declarations_are_spelled_as_in_c(void **state) {
    (void)state;
    type_id number = integer("int", 4, TYPE_SIGNED), letter = integer("char", 1, TYPE_CHARACTER);
    type_id text = of_kind(TYPE_POINTER, 0, of_kind(TYPE_QUALIFIER, TYPE_CONST, letter));
    struct type_member parameters[] = {{.name = "s", .type = text}, {.name = "n", .type = number}};
    type_id function = types_add(graph, &(struct type){.kind = TYPE_FUNCTION,
                                                       .name = "",
                                                       .flags = TYPE_VARARGS,
                                                       .of = number,
                                                       .count = 2,
                                                       .members = parameters});
    expect_spelled(text, "const char *");
    expect_spelled(of_kind(TYPE_QUALIFIER, TYPE_CONST, text), "const char * const");
    expect_spelled(array(letter, 8), "char [8]");
    expect_spelled(array(array(number, 3), 2), "int [2][3]");
    expect_spelled(of_kind(TYPE_POINTER, 0, array(number, 3)), "int (*)[3]");
    expect_spelled(array(of_kind(TYPE_POINTER, 0, number), 3), "int *[3]");
    expect_spelled(of_kind(TYPE_POINTER, 0, function), "int (*)(const char *, int, ...)");
    expect_spelled(of_kind(TYPE_POINTER, 0, of_kind(TYPE_POINTER, 0, 0)), "void **");
    expect_spelled(of_kind(TYPE_POINTER, TYPE_REFERENCE, number), "int &");
    expect_spelled(of_kind(TYPE_POINTER, 0, list_node()), "struct node *");
}

static bool read_link(void *ctx, uint64_t handle, struct type *ret, void **ret_free) {
    (void)ret_free;
    unsigned *reads = ctx;
    (*reads)++;
    if (handle == 3)
        return false;
    *ret = (struct type){.kind = TYPE_POINTER, .name = "", .bytes = 8};
    return true;
}

static void types_are_read_when_asked_for_and_once(void **state) {
    (void)state;
    unsigned reads = 0;
    struct type_source source = {.read = read_link, .ctx = &reads};
    type_id a = types_reserve(graph, &source, 1), bad = types_reserve(graph, &source, 3);
    type_id late = types_reserve(graph, &source, 4);
    assert_int_equal(reads, 0);
    assert_int_equal(types_get(graph, a)->kind, TYPE_POINTER);
    assert_int_equal(types_get(graph, a)->bytes, 8);
    assert_int_equal(reads, 1);
    assert_int_equal(types_get(graph, bad)->kind, TYPE_UNKNOWN);
    assert_int_equal(types_get(graph, bad)->kind, TYPE_UNKNOWN);
    assert_int_equal(reads, 2);
    types_detach(graph, &source);
    assert_int_equal(types_get(graph, late)->kind, TYPE_UNKNOWN);
    assert_int_equal(types_get(graph, a)->kind, TYPE_POINTER);
    assert_int_equal(reads, 2);
}

static void copies_name_what_pointers_point_to(void **state) {
    (void)state;
    type_id node = list_node();
    struct types *to = types_new();
    struct types_copy *copy = types_copy_new(graph, to, true);
    type_id only = types_copy_add(copy, of_kind(TYPE_POINTER, 0, node));
    assert_int_equal(types_get(to, types_get(to, only)->of)->kind, TYPE_FORWARD);
    type_id whole = types_copy_add(copy, node);
    assert_int_equal(whole, types_copy_add(copy, node));
    struct type_member m;
    assert_true(types_member(to, whole, "letter", &m));
    assert_true(types_member(to, whole, "next", &m));
    AUTO_FREE char *text = types_spell(to, m.type);
    assert_string_equal(text, "struct node *");
    assert_int_equal(types_get(to, types_get(to, m.type)->of)->kind, TYPE_FORWARD);
    types_copy_free(copy);
    types_free(to);
}

static void copies_of_cycles_are_cycles(void **state) {
    (void)state;
    type_id node = list_node();
    struct types *to = types_new();
    struct types_copy *copy = types_copy_new(graph, to, false);
    type_id whole = types_copy_add(copy, node);
    struct type_member m;
    assert_true(types_member(to, whole, "next", &m));
    assert_int_equal(types_get(to, m.type)->of, whole);
    types_copy_free(copy);
    types_free(to);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(unknown_numbers_are_void),
        TEST(equal_names_are_stored_once),
        TEST(members_are_found_in_members_without_names),
        TEST(types_that_hold_themselves_end),
        TEST(sizes_go_through_names_and_arrays),
        TEST(declarations_are_spelled_as_in_c),
        TEST(types_are_read_when_asked_for_and_once),
        TEST(copies_name_what_pointers_point_to),
        TEST(copies_of_cycles_are_cycles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
