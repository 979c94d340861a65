/* Functions that filters select, and the message when filters select none. */
#include "select/select.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "elf/demangle.h"

#define TESTS                                                                                      \
    TEST(selection_without_filters)                                                                \
    TEST(name_selects_its_function)                                                                \
    TEST(filters_add_up)                                                                           \
    TEST(alias_selects_the_body)                                                                   \
    TEST(demangled_names_with_and_without_parameters)                                              \
    TEST(symbol_names)                                                                             \
    TEST(template_instances)                                                                       \
    TEST(template_without_its_return_type)                                                         \
    TEST(name_before_glob)                                                                         \
    TEST(filters_that_match_nothing)                                                               \
    TEST(regular_expressions)                                                                      \
    TEST(module_limits_a_filter)                                                                   \
    TEST(excluded_functions)                                                                       \
    TEST(excluded_alias_excludes_the_body)                                                         \
    TEST(near_names_in_order)                                                                      \
    TEST(dissimilar_names_not_suggested)                                                           \
    TEST(untraceable_functions_counted)                                                            \
    TEST(library_calls_by_filter_without_a_module)                                                 \
    TEST(untraceable_library_calls_reported_once)

struct fixture {
    struct module *module;
    struct plan *plan;
};

/* Up to four filters, NULL-terminated. */
struct choice {
    const char *filters[4], *excludes[4];
};

static struct filter filter_of(const struct choice *c) {
    struct filter f = {0};
    for (size_t i = 0; i < 4 && c->filters[i]; i++)
        assert_int_equal(filter_add(&f, 'F', c->filters[i], NULL), 0);
    for (size_t i = 0; i < 4 && c->excludes[i]; i++)
        assert_int_equal(filter_add(&f, 'N', c->excludes[i], NULL), 0);
    return f;
}

/* The selected traceable functions: their first names in the order of addresses. */
static char *select_names(const struct fixture *f, const struct choice *c, struct err *err) {
    struct filter filter = filter_of(c);
    struct selection s;
    size_t count, seen = 0;
    selection_init(&s, &filter);
    bool may = selection_may_select(&s, f->module);
    struct selection other; /* the message must not depend on whether the module is planned */
    selection_init(&other, &filter);
    AUTO_FREE uint8_t *bits = selection_apply(may ? &s : &other, f->module, f->plan, &count);
    selection_done(&other);
    char *names = mem_strdup("");
    for (size_t i = 0; i < plan_function_count(f->plan); i++) {
        const struct plan_function *p = plan_function(f->plan, i);
        if (!(bits[i / 8] >> (i % 8) & 1) || p->entry == TIER_NONE)
            continue;
        AUTO_FREE char *before = names;
        names = mem_printf("%s%s%s", before, *before ? " " : "", p->name);
        seen++;
    }
    assert_int_equal(seen, count);
    assert_true(may || !seen);
    int rc = selection_check(&s, err);
    assert_int_equal(rc, c->filters[0] && !seen ? -ENOENT : 0);
    selection_done(&s);
    filter_done(&filter);
    return names;
}

static void expect(void **state, const struct choice *choice, const char *want) {
    AUTO_FREE char *got = select_names(*state, choice, NULL);
    assert_string_equal(got, want);
}
#define FILTER(...)                                                                                \
    &(const struct choice) {                                                                       \
        .filters = { __VA_ARGS__ }                                                                 \
    }

#define ALPHA "plain_alpha"
#define BETA "plain_beta"
#define PLUS "_ZN5spaceplERKNS_5ThingEi"
#define USE "_Z3usei"
#define MEMBER "_ZNK5space5Thing6memberEiPKc"
#define SHAPED_INT "_ZN5space6shapedIiEET_S1_"
#define SHAPED_LONG "_ZN5space6shapedIlEET_S1_"
#define PICK "_Z4pickPi"
#define PICK_TWO "_Z4pickiPc"
#define ALL                                                                                        \
    ALPHA " " BETA " " PICK " " PICK_TWO " " PLUS " " USE " " MEMBER " " SHAPED_INT " " SHAPED_LONG

static void selection_without_filters(void **state) { expect(state, FILTER(NULL), ALL); }

static void name_selects_its_function(void **state) {
    expect(state, FILTER(ALPHA), ALPHA);
    expect(state, FILTER("plain_*"), ALPHA " " BETA);
    expect(state, FILTER("plain_?eta"), BETA);
}

static void filters_add_up(void **state) { expect(state, FILTER("use", ALPHA), ALPHA " " USE); }

static void alias_selects_the_body(void **state) { expect(state, FILTER("plain_second"), BETA); }

static void demangled_names_with_and_without_parameters(void **state) {
    expect(state, FILTER("space::Thing::member"), MEMBER);
    expect(state, FILTER("space::Thing::member(int, char const*) const"), MEMBER);
    expect(state, FILTER("use(int)"), USE);
    expect(state, FILTER("*member"), MEMBER);
}

static void symbol_names(void **state) { expect(state, FILTER(MEMBER), MEMBER); }

static void template_instances(void **state) {
    expect(state, FILTER("*shaped<*"), SHAPED_INT " " SHAPED_LONG);
    expect(state, FILTER("*shaped<long>*"), SHAPED_LONG);
}

static void template_without_its_return_type(void **state) {
    expect(state, FILTER("space::shaped*"), SHAPED_INT " " SHAPED_LONG);
    expect(state, FILTER("space::shaped<long>"), SHAPED_LONG);
    expect(state, FILTER("space::shaped"), SHAPED_INT " " SHAPED_LONG);
    expect(state, FILTER("space::shaped<\u2026>(\u2026)"), SHAPED_INT " " SHAPED_LONG);
    expect(state, FILTER("space::*(int)"), SHAPED_INT);
}

static void name_before_glob(void **state) {
    expect(state, FILTER("pick"), PICK " " PICK_TWO);
    expect(state, FILTER("pick(int*)"), PICK);
    expect(state, FILTER("pick(int *)"), PICK);
    expect(state, FILTER("pick(int*", "use"), PICK " " PICK_TWO " " USE);
    expect(state, &(const struct choice){.filters = {"pick"}, .excludes = {"pick(int*)"}},
           PICK_TWO);
}

static void filters_that_match_nothing(void **state) {
    const struct fixture *f = *state;
    const struct choice choice = {.filters = {"plain_alfa", "use", "space::membr"},
                                  .excludes = {"nothing"}};
    static const bool met[] = {false, true, false, false};
    struct filter filter = filter_of(&choice);
    struct selection s;
    size_t count;
    selection_init(&s, &filter);
    free(selection_apply(&s, f->module, f->plan, &count));
    assert_int_equal(s.search_count, sizeof met / sizeof *met);
    for (size_t i = 0; i < s.search_count; i++)
        assert_int_equal(s.searches[i].met, met[i]);
    AUTO_FREE char *near = near_list(&s.searches[0].near);
    assert_string_equal(near, "plain_alpha, plain_beta");
    selection_done(&s);
    filter_done(&filter);
}

static void regular_expressions(void **state) {
    expect(state, FILTER("/^plain_(alpha|gamma)$/"), ALPHA);
    expect(state, FILTER("/Thing/"), PLUS " " MEMBER);
}

static void module_limits_a_filter(void **state) {
    expect(state, FILTER("libnames.so!plain_*"), ALPHA " " BETA);
    expect(state, FILTER("other.so!plain_*", "use"), USE);
    expect(state, FILTER("lib*!"), ALL);
    expect(state, FILTER("libnames.so!/beta/"), BETA);
}

static void excluded_functions(void **state) {
    expect(state, &(const struct choice){.excludes = {"space::*", "use", "pick"}}, ALPHA " " BETA);
    expect(state, &(const struct choice){.filters = {"plain_*"}, .excludes = {"*alpha"}}, BETA);
}

static void excluded_alias_excludes_the_body(void **state) {
    expect(state, &(const struct choice){.filters = {"plain_*"}, .excludes = {"plain_second"}},
           ALPHA);
}

static void expect_said(void **state, const char *filter, const char *text) {
    struct err err = {0};
    AUTO_FREE char *none = select_names(*state, FILTER(filter), &err);
    assert_string_equal(none, "");
    assert_string_equal(err.tag, "no-match");
    if (!strstr(err.text, text))
        fail_msg("'%s' is not in: %s", text, err.text);
}

static void near_names_in_order(void **state) {
    expect_said(state, "plain_alfa", "did you mean plain_alpha");
    expect_said(state, "plain_bets", "did you mean plain_beta, plain_alpha");
    expect_said(state, "space::Thing::membre", "space::Thing::member");
    expect_said(state, "libnames.so!plain_alfa", "did you mean plain_alpha");
}

static void dissimilar_names_not_suggested(void **state) {
    expect_said(state, "zzzzzzzzzz", "matches no function of the traced modules");
}

static void untraceable_functions_counted(void **state) {
    expect_said(state, "plain_impossible", "matches 1 function, none of which can be traced");
}

/* Whether library calls of puts, whose other name is puts_alias, are selected. */
static bool takes_puts(const struct choice *c) {
    const char *aliases[] = {"puts_alias", NULL};
    const struct plan_function puts_function = {.name = "_IO_puts", .aliases = aliases};
    struct filter filter = filter_of(c);
    struct selection s;
    selection_init(&s, &filter);
    bool taken = selection_takes_call(&s, "libc.so.6", &puts_function, "puts");
    const char *const names[] = {"printf", "puts"};
    struct err err = {0};
    bool hopeless = selection_check_calls(&s, names, 2, false, &err) < 0;
    assert_false(hopeless && taken);
    assert_true(!hopeless || strcmp(err.tag, "no-match") == 0);
    selection_done(&s);
    filter_done(&filter);
    return taken;
}

static void library_calls_by_filter_without_a_module(void **state) {
    (void)state;
    assert_true(takes_puts(&(struct choice){{NULL}, {NULL}}));
    assert_true(takes_puts(&(struct choice){{"put*"}, {NULL}}));
    assert_false(takes_puts(&(struct choice){{"puts_alias"}, {NULL}}));
    assert_false(takes_puts(&(struct choice){{NULL}, {"puts_alias"}}));
    assert_false(takes_puts(&(struct choice){{"printf"}, {NULL}}));
    assert_true(takes_puts(&(struct choice){{"prog!main"}, {NULL}}));
    assert_false(takes_puts(&(struct choice){{"prog!main", "printf"}, {NULL}}));
    assert_true(takes_puts(&(struct choice){{"libc.so.6!puts", "printf"}, {NULL}}));
    assert_false(takes_puts(&(struct choice){{NULL}, {"puts"}}));
    assert_false(takes_puts(&(struct choice){{"puts"}, {"libc.so*!_IO_puts"}}));
    assert_true(takes_puts(&(struct choice){{NULL}, {"libm*!puts"}}));
}

static void untraceable_library_calls_reported_once(void **state) {
    (void)state;
    struct filter filter = {0};
    struct selection s;
    selection_init(&s, &filter);
    assert_null(selection_refused(&s));
    selection_note_refused(&s, "puts", REFUSED_SHORT);
    selection_note_refused(&s, "_Z1fi", REFUSED_UNDECODABLE);
    selection_note_refused(&s, "puts", REFUSED_SHORT);
    AUTO_FREE char *few = selection_refused(&s);
    assert_string_equal(few, "library calls that are not traced: puts (short-window), f(int) "
                             "(undecodable)");
    for (char name[] = "a"; *name <= 'z'; ++*name)
        selection_note_refused(&s, name, REFUSED_SHORT);
    AUTO_FREE char *many = selection_refused(&s);
    assert_non_null(strstr(many, "j (short-window), and 16 more"));
    selection_done(&s);
}

static int setup(void **state) {
    struct fixture *f = mem_alloc(sizeof *f);
    *state = f;
    return module_load(NAMES, 0, &f->module, NULL) || plan_new(f->module, &f->plan, NULL);
}

static int teardown(void **state) {
    struct fixture *f = *state;
    plan_free(f->plan);
    module_free(f->module);
    free(f);
    return 0;
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("select select", tests, setup, teardown);
}
