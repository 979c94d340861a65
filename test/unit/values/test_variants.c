/* Enums of Rust: only the variant that is there is shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "values/print.h"

enum { BYTES = 16 };

struct fixture {
    struct types *types;
    type_id word, byte, number, none, some;
    struct words shown;
};

static type_id add_scalar(struct types *types, const char *name, uint64_t bytes) {
    return types_add(types, &(struct type){.kind = TYPE_INTEGER, .name = name, .bytes = bytes});
}

static type_id add_struct(struct types *types, const char *name, const struct type_member *members,
                          uint32_t count) {
    return types_add(
        types,
        &(struct type){
            .kind = TYPE_STRUCT, .name = name, .bytes = BYTES, .members = members, .count = count});
}

static type_id add_enum(struct types *types, const struct type_member *members, uint32_t count) {
    return types_add(types, &(struct type){.kind = TYPE_STRUCT,
                                           .name = "Option",
                                           .bytes = BYTES,
                                           .flags = TYPE_VARIANTS,
                                           .members = members,
                                           .count = count});
}

static int set_up(void **state) {
    struct fixture *f = mem_alloc(sizeof *f);
    f->types = types_new();
    f->word = add_scalar(f->types, "u64", 8);
    f->byte = add_scalar(f->types, "u8", 1);
    f->number = add_scalar(f->types, "i32", 4);
    const struct type_member held[] = {{"__0", f->number, 64, 0, 0, 0}};
    f->none = add_struct(f->types, "None", NULL, 0);
    f->some = add_struct(f->types, "Some", held, 1);
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    struct fixture *f = *state;
    words_done(&f->shown);
    types_free(f->types);
    free(f);
    return 0;
}

/* An object of TYPE whose first word is FIRST, and the second one 7, of which LENGTH bytes are
 * known. */
static const char *show(struct fixture *f, type_id type, uint64_t first, uint16_t length,
                        bool json) {
    const uint64_t object[] = {first, 7};
    const struct capture_value value = {.name = "o", .type = type, .bytes = length};
    const struct captured captured = {.bytes = (const uint8_t *)object, .length = length};
    const struct item item = {&value, &captured, 1};
    const struct printer printer = {.types = f->types};
    words_done(&f->shown);
    f->shown = (struct words){0};
    (json ? print_json : print_text)(&printer, &item, &f->shown);
    return words_text(&f->shown);
}

static void by_value_or_else(void **state) {
    struct fixture *f = *state;
    const struct type_member members[] = {
        {"", f->word, 0, 0, MEMBER_DISCRIMINANT, 0},
        {"None", f->none, 0, 0, MEMBER_VARIANT, 5},
        {"Some", f->some, 0, 0, MEMBER_VARIANT | MEMBER_DEFAULT, 0}};
    type_id type = add_enum(f->types, members, 3);
    assert_string_equal(show(f, type, 5, BYTES, false), "{None}");
    assert_string_equal(show(f, type, 5, BYTES, true), "{\"None\":{}}");
    assert_string_equal(show(f, type, 6, BYTES, false), "{Some={__0=7}}");
    assert_string_equal(show(f, type, 6, BYTES, true), "{\"Some\":{\"__0\":7}}");
}

static void by_a_small_discriminant(void **state) {
    struct fixture *f = *state;
    const struct type_member members[] = {{"", f->byte, 0, 0, MEMBER_DISCRIMINANT, 0},
                                          {"None", f->none, 0, 0, MEMBER_VARIANT, -3},
                                          {"Some", f->some, 0, 0, MEMBER_VARIANT, 4}};
    type_id type = add_enum(f->types, members, 3);
    assert_string_equal(show(f, type, 0x1fd, BYTES, false), "{None}");
    assert_string_equal(show(f, type, 0x104, BYTES, false), "{Some={__0=7}}");
    assert_string_equal(show(f, type, 9, BYTES, false), "?"); /* neither */
    assert_string_equal(show(f, type, 9, BYTES, true), "null");
}

static void an_unknown_discriminant(void **state) {
    struct fixture *f = *state;
    const struct type_member members[] = {
        {"", f->word, 64, 0, MEMBER_DISCRIMINANT, 0},
        {"None", f->none, 0, 0, MEMBER_VARIANT, 7},
        {"Some", f->some, 0, 0, MEMBER_VARIANT | MEMBER_DEFAULT, 0}};
    type_id type = add_enum(f->types, members, 3);
    assert_string_equal(show(f, type, 1, BYTES, false), "{None}");
    assert_null(strstr(show(f, type, 1, BYTES / 2, false), "one"));
}

static void one_variant_without_discriminant(void **state) {
    struct fixture *f = *state;
    const struct type_member only = {"Some", f->some, 0, 0, MEMBER_VARIANT | MEMBER_DEFAULT, 0};
    assert_string_equal(show(f, add_enum(f->types, &only, 1), 1, BYTES, false), "{Some={__0=7}}");
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {T(by_value_or_else), T(by_a_small_discriminant),
                                       T(an_unknown_discriminant),
                                       T(one_variant_without_discriminant)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
