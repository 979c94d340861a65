/* Short names: what is left out, what is shown where names would be equal, and what fits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/glob.h"
#include "base/mem.h"
#include "base/short_names.h"
#include "base/text.h"

#define TESTS                                                                                      \
    TEST(long_brackets_are_left_out)                                                               \
    TEST(standard_typedefs_are_folded)                                                             \
    TEST(the_type_of_the_result_is_left_out)                                                       \
    TEST(operators_and_comparisons_are_no_brackets)                                                \
    TEST(rust_types_are_kept)                                                                      \
    TEST(equal_names_show_where_they_differ)                                                       \
    TEST(equal_names_of_any_number_differ)                                                         \
    TEST(names_fit_any_width)                                                                      \
    TEST(cut_names_show_where_they_differ)                                                         \
    TEST(brackets_in_literals_do_not_count)                                                        \
    TEST(shown_names_are_patterns_of_their_functions)

#define STRING "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
#define LONG "a_type_with_a_name_of_more_than_forty_columns"

static void expect(const char *name, const char *right) {
    AUTO_FREE char *text = short_name(name);
    assert_string_equal(text, right);
}

static void long_brackets_are_left_out(void **state) {
    (void)state;
    expect("main", "main");
    expect("f(int, char)", "f(int, char)");
    expect("f(" LONG ")", "f(…)");
    expect("C<" LONG ">::f(" LONG "&) const", "C<…>::f(…) const");
    expect("C<int, " LONG ">::f()", "C<…>::f()");
    expect("C<D<" LONG "> >::f()", "C<D<…> >::f()");
    expect("f(1234567890123456789012345678901234567890)",
           "f(1234567890123456789012345678901234567890)");
    expect("f(12345678901234567890123456789012345678901)", "f(…)");
    expect("(anonymous namespace)::f(" LONG ") [clone .isra.0]",
           "(anonymous namespace)::f(…) [clone .isra.0]");
    expect("f()::{lambda(" LONG ")#1}::operator()(" LONG ") const",
           "f()::{lambda(…)#1}::operator()(…) const");
}

static void standard_typedefs_are_folded(void **state) {
    (void)state;
    expect("f(" STRING " const&)", "f(std::string const&)");
    expect("f(std::basic_string<char, std::char_traits<char>, std::allocator<char> >)",
           "f(std::string)");
    expect("f(std::__1::basic_string<wchar_t, std::__1::char_traits<wchar_t>, "
           "std::__1::allocator<wchar_t> >)",
           "f(std::wstring)");
    expect("f(std::vector<" STRING ", A>)", "f(std::vector<std::string, A>)");
    expect("std::less<" STRING " >::operator()()", "std::less<std::string>::operator()()");
    expect("f(std::basic_ostream<char, std::char_traits<char> >&)", "f(std::ostream&)");
    expect("f(std::basic_string_view<char8_t, std::char_traits<char8_t> >)",
           "f(std::u8string_view)");
    expect(STRING "::push_back(char)", "std::string::push_back(char)");
    expect("std::__cxx11::list<int>::f()", "std::list<int>::f()");
    /* Another allocator, and a name that only ends in std. */
    expect("f(std::basic_string<char, std::char_traits<char>, A<char> >)",
           "f(std::basic_string<char, A<char>>)");
    expect("mystd::__cxx11::f()", "mystd::__cxx11::f()");
}

static void the_type_of_the_result_is_left_out(void **state) {
    (void)state;
    expect("void f<int>(int)", "f<int>(int)");
    expect("std::enable_if<true, int>::type n::f<int>()", "n::f<int>()");
    expect("unsigned long const& (anonymous namespace)::f<int>(int)",
           "(anonymous namespace)::f<int>(int)");
    expect("decltype (({parm#1}.g)()) f<int>(int)", "f<int>(int)");
    expect("void (*std::for_each<" LONG ", void (*)(int)>(" LONG ", void (*)(int)))(int)",
           "std::for_each<…>(…)");
    expect("void (* const&std::forward<int>(int&))(int)", "std::forward<int>(int&)");
    expect("int (&f<int>())[5]", "f<int>()");
    expect("bool operator==<int>(int)", "operator==<int>(int)");
    expect("operator new(unsigned long)", "operator new(unsigned long)");
    expect("C::operator std::string const() const", "C::operator std::string const() const");
    expect("non-virtual thunk to C::f()", "non-virtual thunk to C::f()");
    expect("a name of some other language", "a name of some other language");
}

static void operators_and_comparisons_are_no_brackets(void **state) {
    (void)state;
    expect("bool operator< <" LONG ">(int)", "operator< <…>(int)");
    expect("C::operator<<(" LONG ")", "C::operator<<(…)");
    expect("C::operator->() const", "C::operator->() const");
    expect("C::operator()(" LONG ")", "C::operator()(…)");
    expect("f<(1)<(2), " LONG ">()", "f<…>()");
    expect("f<(1)>(2)>()", "f<(1)>(2)>()");
    expect("f(" LONG, "f(" LONG);
    expect("f>)}" LONG "({<", "f>)}" LONG "({<");
}

static void rust_types_are_kept(void **state) {
    (void)state;
    expect("<alloc::vec::Vec<" LONG
           "> as core::iter::traits::collect::FromIterator<u8>>::from_iter",
           "<alloc::vec::Vec<…> as core::iter::traits::collect::FromIterator<u8>>::from_iter");
    expect("core::ptr::drop_in_place::<" LONG ">", "core::ptr::drop_in_place::<…>");
    expect("names::apply::<names::main::{closure#0}>", "names::apply::<names::main::{closure#0}>");
    expect("<(u8, [i32; 4]) as names::Shape>::area", "<(u8, [i32; 4]) as names::Shape>::area");
    expect("<fn(&T) -> U as A>::f", "<fn(&T) -> U as A>::f");
    expect("names::main::h0123456789abcdef", "names::main");
    expect("std[e28293b1aa0f68bd]::rt::init", "std::rt::init");
    expect("f::h0123456789abcdef::g", "f::h0123456789abcdef::g");
}

static void expect_all(const char *const *names, const char *const *right, size_t count) {
    struct short_names *s = short_names_new(names, count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(short_names_at(s, i), right[i]);
    short_names_free(s);
}

static void equal_names_show_where_they_differ(void **state) {
    (void)state;
    static const char *const names[] = {
        "C<" LONG ", first_argument_of_two, x>::f()",
        "C<" LONG ", other_argument_of_two, x>::f()",
        "g(" LONG ", int)",
        "g(" LONG ", char)",
        "g(" LONG ")",
        "D<E<" LONG ", first_argument_of_two>, " LONG ">::f()",
        "D<E<" LONG ", other_argument_of_two>, " LONG ">::f()",
        "h(" LONG ")",
        "h(" LONG ")",
        "first k<int>()",
        "other k<int>()",
        "l(" STRING ")",
        "l(std::basic_string<char, std::char_traits<char>, std::allocator<char> >)",
        "m::f::h0123456789abcdef",
        "m::f::h123456789abcdef0",
    };
    static const char *const right[] = {
        "C<…, first_argument_of_two, x>::f()",
        "C<…, other_argument_of_two, x>::f()",
        "g(…, int)",
        "g(…, char)",
        "g(…)",
        "D<E<…, first_argument_of_two>, …>::f()",
        "D<E<…, other_argument_of_two>, …>::f()",
        "h(…)",
        "h(…)",
        "first k<int>()",
        "other k<int>()",
        "l(" STRING ")",
        "l(std::basic_string<char, std::char_traits<char>, std::allocator<char> >)",
        "m::f::h0123456789abcdef",
        "m::f::h123456789abcdef0",
    };
    expect_all(names, right, sizeof names / sizeof *names);
}

static void equal_names_of_any_number_differ(void **state) {
    (void)state;
    enum { COUNT = 2000 };
    AUTO_FREE const char **names = mem_alloc(COUNT * sizeof *names);
    for (int i = 0; i < COUNT; i++)
        names[i] = mem_printf("void m::f<" LONG ", m::A<m::B<%d, " LONG ">, %d> >(" LONG ")",
                              i % 40, i / 40);
    struct short_names *s = short_names_new(names, COUNT);
    for (int i = 0; i < COUNT; i++)
        for (int k = 0; k < i; k++)
            assert_string_not_equal(short_names_at(s, (size_t)i), short_names_at(s, (size_t)k));
    short_names_free(s);
    for (int i = 0; i < COUNT; i++)
        free((char *)names[i]);
}

static void expect_fit(const char *name, size_t columns, const char *right) {
    AUTO_FREE char *text = text_fit(name, columns);
    assert_string_equal(text, right);
}

static void names_fit_any_width(void **state) {
    (void)state;
    static const char name[] = "ns::inner::Class<std::pair<int, char> >::method(std::string)";
    expect_fit(name, 60, "ns::inner::Class<std::pair<int, char> >::method(std::string)");
    expect_fit(name, 50, "ns::inner::Class<std::pair<int, char> >::method(…)");
    expect_fit(name, 36, "ns::inner::Class<…pair…>::method(…)");
    expect_fit(name, 30, "ns::inner::Class<…>::method(…)");
    expect_fit(name, 26, "…::Class<…pai…>::method(…)");
    expect_fit(name, 14, "…::method(…)");
    expect_fit("a_plain_name_of_a_function", 15, "a_plain_na…tion");
    expect_fit("<alloc::Vec<u8> as core::Debug>::fmt", 30, "<…Vec<u8> as …Debug>::fmt");
    for (size_t columns = 1; columns < 70; columns++) {
        AUTO_FREE char *text = text_fit(name, columns);
        assert_in_range(text_columns(text), 1, columns);
    }
    AUTO_FREE char *cut = text_cut("größenwahn", 7);
    assert_string_equal(cut, "größen…");
}

static void cut_names_show_where_they_differ(void **state) {
    (void)state;
    static const char *const names[] = {"n::Class<A>::method(int, of_the_first_parameter)",
                                        "n::Class<A>::method(int, of_the_other_parameter)",
                                        "n::Class<A>::method(…)", "n::Class<A>::method(x)"};
    static const char *const right[] = {"…::method(int, of_the_first_param…",
                                        "…::method(int, of_the_other_param…",
                                        "n::Class<A>::method(…)", "n::Class<A>::method(x)"};
    enum { COUNT = 4, COLUMNS = 34 };
    static const uint32_t list[COUNT] = {0, 1, 2, 3};
    struct short_names *s = short_names_new(names, COUNT);
    char *texts[COUNT];
    short_names_fit_all(s, list, COUNT, COLUMNS, texts);
    for (size_t i = 0; i < COUNT; i++) {
        assert_string_equal(texts[i], right[i]);
        free(texts[i]);
    }
    short_names_free(s);
}

static void brackets_in_literals_do_not_count(void **state) {
    (void)state;
    expect("a.b!(" LONG ", \"x < y\").b(int)", "a.b!(…).b(int)");
    expect("a.b!(\"x (\", int).b(" LONG ")", "a.b!(\"x (\", int).b(…)");
    expect("m::f::<'(', " LONG ">", "m::f::<…>");
    expect("m::f::<'\\'', '\\u{3e}', '>'>::g::<" LONG ">", "m::f::<'\\'', '\\u{3e}', '>'>::g::<…>");
    expect("<m::T<'a> as m::U<" LONG ">>::f", "<m::T<'a> as m::U<…>>::f");
    expect("f()::'lambda'(" LONG ")::operator()() const", "f()::'lambda'(…)::operator()() const");
    static const char *const names[] = {"f!(\"a, b\", " LONG ", first_argument_of_two)",
                                        "f!(\"a, b\", " LONG ", other_argument_of_two)"};
    static const char *const right[] = {"f!(\"a, b\", …, first_argument_of_two)",
                                        "f!(\"a, b\", …, other_argument_of_two)"};
    expect_all(names, right, 2);
}

static void shown_names_are_patterns_of_their_functions(void **state) {
    (void)state;
    static const char *const names[] = {
        "std.algorithm.sorting.shortSort!(std.functional.binaryFun!(\"a < b\", \"a\", "
        "\"b\").binaryFun, int[]).shortSort(int[])",
        "m::parse::<'<', '\\u{28}'>::<'a, " LONG ">::run::<" LONG ">",
        "<alloc::vec::Vec<" LONG "> as core::iter::FromIterator<u8>>::from_iter",
        "C::operator<<(" LONG ") [clone .isra.0]",
        "std::vector<std::string, ns::B<int, char> >::push_back(void (*)(int), " LONG "&&)",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t columns = 16; columns < 120; columns++) {
            AUTO_FREE char *whole = short_name(names[i]);
            AUTO_FREE char *shown = text_fit(whole, columns);
            struct pattern *p;
            assert_int_equal(pattern_new(shown, &p, NULL), 0);
            if (!pattern_match(p, "module", names[i]))
                fail_msg("%s does not match %s", shown, names[i]);
            pattern_free(p);
        }
}

int main(void) {
#define TEST(f) cmocka_unit_test(f),
    const struct CMUnitTest tests[] = {TESTS};
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
