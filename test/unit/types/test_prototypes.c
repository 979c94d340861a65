/* Prototypes of the C library, as this system's headers have them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <time.h>

#include "base/mem.h"
#include "types/prototypes.h"

static struct types *graph;
static struct prototypes *prototypes;

static int setup(void **state) {
    (void)state;
    graph = types_new();
    return prototypes_open(PROTOTYPES, graph, &prototypes, NULL);
}

static int teardown(void **state) {
    (void)state;
    prototypes_close(prototypes);
    types_free(graph);
    return 0;
}

static void expect(const char *function, const char *wanted) {
    struct signature s;
    assert_true(prototypes_find(prototypes, function, &s));
    char *text = types_spell(graph, s.result);
    for (size_t i = 0; i < s.count; i++) {
        AUTO_FREE char *type = types_spell(graph, s.parameters[i].type);
        char *longer = mem_printf("%s, %s %s", text, type, s.parameters[i].name);
        assert_int_equal(s.parameters[i].place.kind, PLACE_BY_ABI);
        free(text);
        text = longer;
    }
    assert_string_equal(text, wanted);
    assert_true(s.prototyped && !s.has_places && s.language == SOURCE_C);
    signature_done(&s);
    free(text);
}

static void functions_are_known_by_name(void **state) {
    (void)state;
    expect("strlen", "size_t, const char * s");
    expect("hypot", "double, double x, double y");
    expect("abort", "void");
    expect("qsort", "void, void * base, size_t nmemb, size_t size, __compar_fn_t compar");
    expect("pthread_join", "int, pthread_t th, void ** thread_return");
    assert_true(prototypes_count(prototypes) > 1000);
}

static void functions_with_more_arguments(void **state) {
    (void)state;
    struct signature s;
    assert_true(prototypes_find(prototypes, "snprintf", &s));
    assert_true(s.varargs);
    assert_int_equal(s.count, 3);
    signature_done(&s);
}

static void structs_have_their_members(void **state) {
    (void)state;
    struct signature s;
    struct type_member m;
    assert_true(prototypes_find(prototypes, "mktime", &s));
    type_id tm = types_get_plain(graph, s.parameters[0].type)->of;
    assert_true(types_member(graph, tm, "tm_year", &m));
    assert_int_equal(m.bit_offset, 8 * offsetof(struct tm, tm_year));
    signature_done(&s);
}

static void unknown_names(void **state) {
    (void)state;
    struct signature s;
    assert_false(prototypes_find(prototypes, "no_such_function", &s));
    assert_false(prototypes_find(prototypes, "", &s));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(functions_are_known_by_name),
                                       cmocka_unit_test(functions_with_more_arguments),
                                       cmocka_unit_test(structs_have_their_members),
                                       cmocka_unit_test(unknown_names)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
