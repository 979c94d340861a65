/* Names as c++filt prints them. */
#include <stdio.h>

#include "elf/demangle.h"
#include "support.h"

#define TESTS                                                                                      \
    TEST(cxx_parameters)                                                                           \
    TEST(rust_names_of_both_schemes)                                                               \
    TEST(clone_suffixes)                                                                           \
    TEST(other_names_unchanged)                                                                    \
    TEST(deep_names)                                                                               \
    TEST(exploding_names)

static void expect(const char *name, const char *readable) {
    AUTO_FREE char *demangled = demangle(name);
    assert_string_equal(demangled, readable);
}

static void cxx_parameters(void **state) {
    (void)state;
    expect("_ZN3foo3barEi", "foo::bar(int)");
    expect("_ZNSt6vectorIiSaIiEE9push_backERKi",
           "std::vector<int, std::allocator<int> >::push_back(int const&)");
    expect("_ZN4moveC2EOS_", "move::move(move&&)");
    expect("_ZThn8_N1A1fEv", "non-virtual thunk to A::f()");
    expect("_ZZ1fvENKUlvE_clEv", "f()::{lambda()#1}::operator()() const");
    expect("_ZGVZ1fvE1x", "guard variable for f()::x");
}

static void rust_names_of_both_schemes(void **state) {
    (void)state;
    expect("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad");
    expect("_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar");
}

static void clone_suffixes(void **state) {
    (void)state;
    expect("_ZN3foo3barEv.constprop.0", "foo::bar() [clone .constprop.0]");
    expect("_ZN3foo3barEv.part.0.cold", "foo::bar() [clone .part.0] [clone .cold]");
    expect("plain.isra.0", "plain.isra.0");
}

static void other_names_unchanged(void **state) {
    (void)state;
    static const char *const names[] = {
        "main",       "", "_", "_Z", "_ZN", "_R", "_start", "_Zqq", "i", "int", "__libc_start_main",
        "?foo@@YAXXZ"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        expect(names[i], names[i]);
}

/* N nested pointers: libiberty recurses for each. */
static void deep_names(void **state) {
    (void)state;
    enum { DEPTH = 1 << 20 };
    AUTO_FREE char *name = mem_alloc(DEPTH + 16);
    strcpy(name, "_Z1f");
    memset(name + 4, 'P', DEPTH);
    strcpy(name + 4 + DEPTH, "i");
    expect(name, name);
}

/* f(a<int, int>, a<that, that>, …): each parameter is twice as long as the one before. */
static void exploding_names(void **state) {
    (void)state;
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char name[400] = "_Z1f1aIiiE";
    for (int i = 0; i < 30; i++)
        snprintf(name + strlen(name), sizeof name - strlen(name), "S_IS%c_S%c_E", digits[i],
                 digits[i]);
    expect(name, name);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("elf demangling", tests, NULL, NULL);
}
