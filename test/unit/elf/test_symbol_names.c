/* Patterns and the names of symbols: a name that was copied from any output matches. */
#include "elf/symbol_names.h"
#include "support.h"

#define TESTS                                                                                      \
    TEST(cxx_overloads_and_return_types)                                                           \
    TEST(brackets_in_names)                                                                        \
    TEST(spellings_of_cxx)                                                                         \
    TEST(short_names)                                                                              \
    TEST(names_with_an_exclamation_mark)                                                           \
    TEST(rust_names)                                                                               \
    TEST(d_names)                                                                                  \
    TEST(other_names)                                                                              \
    TEST(bare_names)                                                                               \
    TEST(odd_names)

/* True if the pattern TEXT matches the function of SYMBOL in MODULE. */
static bool matches_in(const char *module, const char *symbol, const char *text) {
    struct function_names names = {0};
    struct pattern *p;
    assert_int_equal(pattern_new(text, &p, NULL), 0);
    symbol_names_add(&names, symbol);
    bool match = function_names_match(&names, module, p);
    function_names_done(&names);
    pattern_free(p);
    return match;
}

static void expect(const char *symbol, const char *text, bool wanted) {
    if (matches_in("prog", symbol, text) != wanted)
        fail_msg("'%s' %s %s", text, wanted ? "does not match" : "matches", symbol);
}
#define MATCHES(symbol, ...) each(symbol, (const char *const[]){__VA_ARGS__, NULL}, true)
#define DIFFERS(symbol, ...) each(symbol, (const char *const[]){__VA_ARGS__, NULL}, false)

static void each(const char *symbol, const char *const *texts, bool wanted) {
    for (; *texts; texts++)
        expect(symbol, *texts, wanted);
}

#define MEMBER "_ZNK5space5Thing6memberEiPKc"
#define SHAPED "_ZN5space6shapedIiEET_S1_"
#define SORT "_ZSt4sortIPiPFbiiEEvT_S3_T0_"
#define PUSH "_ZNSt6vectorIiSaIiEE9push_backERKi"
#define POINTER "_Z1fIiEPFvcET_"

static void cxx_overloads_and_return_types(void **state) {
    (void)state;
    MATCHES(MEMBER, "space::Thing::member", "space::Thing::member(int, char const*) const", MEMBER,
            "space::*", "*::member");
    DIFFERS(MEMBER, "member", "space::Thing", "space::Thing::member(int)");
    MATCHES(SHAPED, "space::shaped", "space::shaped<int>", "space::shaped<int>(int)",
            "int space::shaped<int>(int)", "space::shape*", "int*");
    DIFFERS(SHAPED, "space::shaped<long>", "shaped");
    MATCHES(SORT, "std::sort", "std::*");
    MATCHES(POINTER, "void (*f<int>(int))(char)", "f", "f<int>");
    MATCHES("_ZThn8_N1A1fEv", "non-virtual thunk to A::f()");
    DIFFERS("_ZThn8_N1A1fEv", "A::f");
    MATCHES("_ZN12_GLOBAL__N_13fooEi", "(anonymous namespace)::foo",
            "prog!(anonymous namespace)::foo(int)");
    MATCHES("_ZN1AcvbEv", "A::operator bool", "A::operator bool()");
    MATCHES("_ZlsIcEvT_", "operator<<", "operator<< <char>", "void operator<< <char>(char)");
    MATCHES("_ZZ1fvENKUlvE_clEv", "f()::{lambda()#1}::operator()() const", "f", "*operator()");
}

static void brackets_in_names(void **state) {
    (void)state;
    MATCHES("_ZN3foo3barEv.isra.0", "foo::bar() [clone .isra.0]", "foo::bar", "*[clone .isra.0]");
    DIFFERS("main", "*[clone .isra.0]", "f() [clone .isra.0]");
    MATCHES("_ZN2ns1fB5cxx11Ei", "ns::f[abi:cxx11](int)", "ns::f[abi:cxx11]", "ns::f",
            "ns::f[abi:cxx11]*");
    DIFFERS("_ZN2ns1faEi", "ns::f[abi:cxx11]");
    MATCHES("_ZN1VixEm", "V::operator[](unsigned long)", "V::operator[]", "V::operator[]*");
    MATCHES("bat", "[abc]at", "b[!c]t");
    DIFFERS("[abc]at", "b[!c]t");
    MATCHES("[abc]at", "[abc]at");
}

static void spellings_of_cxx(void **state) {
    (void)state;
    MATCHES(PUSH, "std::vector<int>::push_back",
            "std::vector<int, std::allocator<int>>::push_back(int const &)",
            "std::vector::push_back", "std::vector<int>::*");
    MATCHES("_ZNSolsEi", "std::ostream::operator<<(int)", "std::ostream::*",
            "std::basic_ostream<char, std::char_traits<char> >::operator<<");
    MATCHES("_Z1fNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE", "f(std::string)", "f");
    DIFFERS("_Z1fNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE", "f(std::wstring)");
}

#define E "\u2026"

static void short_names(void **state) {
    (void)state;
    MATCHES(PUSH, "std::vector<" E ">::push_back(" E ")", "std::vector<int, " E ">::push_back",
            "*<" E ">::push_back");
    DIFFERS(PUSH, "std::vector<" E ">", "std::vector<" E ">::pop_back(" E ")", "std::v<" E);
    MATCHES(SORT, "void std::sort<" E ">(" E ")", "std::sort<" E ">");
    /* not beyond the bracket */
    DIFFERS("_ZN1AIiE1BIcE1fEv", "A<" E ">::f()");
    MATCHES("_ZN1AIiE1BIcE1fEv", "A<" E ">::B<" E ">::f()");
}

#define FRONT                                                                                      \
    "_D3std9algorithm9iteration__T9MapResultS5names4mainFZ9__lambda7TSQCl5range__T4iotaTiTiZQkFii" \
    "Z6ResultZQCu5frontMFNbNdZC4core6thread8osthread6Thread"
#define FRONT_NAME                                                                                 \
    "std.algorithm.iteration.MapResult!(names.main().__lambda7, std.range.iota!(int, int)."        \
    "iota(int, int).Result).MapResult.front()"

static void names_with_an_exclamation_mark(void **state) {
    (void)state;
    MATCHES("_ZN1AneERKS_", "A::operator!=(A const&)", "prog!A::operator!=", "A::operator!=");
    MATCHES("_ZntRK1A", "operator!", "operator!(A const&)");
    MATCHES(FRONT, FRONT_NAME, "prog!" FRONT_NAME, "std.algorithm.iteration.MapResult!(*");
    DIFFERS(FRONT, "other!" FRONT_NAME, "prog!main", "prig!*");
}

static void rust_names(void **state) {
    (void)state;
    MATCHES("_RINvCs4T4zK9Otvt5_5names7genericAhj2_Kj5_EB2_", "names::generic::<[u8; 2], 5>",
            "names::generic", "names::generic::<" E ">",
            "names[38efd9133fa684a1]::generic::<[u8; 2: usize], 5: usize>");
    MATCHES("_RNvXCs4T4zK9Otvt5_5namesAhj20_NtB2_5Shape4area", "<[u8; 32] as names::Shape>::area",
            "names::Shape::area", "*::area");
    DIFFERS("_RNvXCs4T4zK9Otvt5_5namesAhj20_NtB2_5Shape4area", "<[u8; 16] as names::Shape>::area");
    MATCHES("_ZN5names7generic17h15ab31fc32f51f0bE", "names::generic",
            "names::generic::h15ab31fc32f51f0b");
    MATCHES("_ZN70_$LT$$LP$u8$C$$u5b$i32$u3b$$u20$4$u5d$$RP$$u20$as$u20$names..Shape$GT$"
            "4area17h02dbf26c58536787E",
            "<(u8,[i32; 4]) as names::Shape>::area", "<(u8, [i32; 4]) as names::Shape>::area");
}

static void d_names(void **state) {
    (void)state;
    MATCHES("_D5names7guardedFiZi", "names.guarded(int)", "names.guarded", "names.*");
    MATCHES("_D5names7guardedFiZi.isra.0", "names.guarded(int) [clone .isra.0]", "names.guarded");
    MATCHES("_Dmain", "D main", "_Dmain");
    MATCHES(FRONT, "std.algorithm.iteration.MapResult.front", FRONT);
    DIFFERS(FRONT, "names.main");
}

static void other_names(void **state) {
    (void)state;
    MATCHES("main.(*T).Method", "main.(*T).Method", "main.*");
    DIFFERS("main.(*T).Method", "main.");
    MATCHES("f.isra.0", "f.isra.0", "f.*");
    MATCHES("type:.eq.[2]interface {}", "type:.eq.[2]interface {}");
}

static void expect_bare(const char *symbol, const char *wanted) {
    AUTO_FREE char *name = symbol_bare_name(symbol);
    assert_string_equal(name, wanted);
}

static void bare_names(void **state) {
    (void)state;
    expect_bare(PUSH, "std::vector::push_back");
    expect_bare(SHAPED, "space::shaped");
    expect_bare("_RNvXCs4T4zK9Otvt5_5namesAhj20_NtB2_5Shape4area", "names::Shape::area");
    expect_bare(FRONT, "std.algorithm.iteration.MapResult.front");
    expect_bare("main", "main");
}

/* Brackets without partners, and operators in odd places: any names may be in a file. */
static void odd_names(void **state) {
    (void)state;
    static const char *const texts[] = {
        "(",     "<",       ">",  "operator",   "f<",
        "f(",    "a::b<c(", " ",  "f<operator", "std::basic_string<",
        "std::", "<as",     E,    "!",          "f!",
        "!(",    "[",       "\\", "/",          "//",
        "<" E,   E E E};
    static const char *const symbols[] = {
        "_Z1fIXadL_Z1gvEEEvv",  "_ZN1AlsIiEEvT_", "<",         "f(", ")",
        "_ZplIXgtLi1ELi2EEEvv", "_RNvC1a1b",      "_D1a1bFZv", ""};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (size_t k = 0; k < sizeof symbols / sizeof *symbols; k++)
            matches_in("prog", symbols[k], texts[i]);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("names of symbols", tests, NULL, NULL);
}
