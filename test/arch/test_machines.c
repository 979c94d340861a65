/* Properties of machines as their backends state them: names, states, and missing features. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "arch/arch.h"
#include "arch/arm/needs.h"

#define TESTS                                                                                      \
    TEST(machine_names)                                                                            \
    TEST(states_of_one_machine)                                                                    \
    TEST(processors_before_armv7_refused)                                                          \
    TEST(unknown_platform_accepted)                                                                \
    TEST(invariant_counter_required)

static void machine_names(void **state) {
    (void)state;
    assert_string_equal(arch_for_machine(EM_X86_64)->name, "x86_64");
    assert_string_equal(arch_for_machine(EM_AARCH64)->name, "aarch64");
    assert_string_equal(arch_for_machine(EM_ARM)->name, "arm");
    assert_null(arch_for_machine(EM_386));
}

static void states_of_one_machine(void **state) {
    (void)state;
    const struct arch *a32 = arch_for_machine(EM_ARM), *t32 = a32->other;
    assert_ptr_not_equal(a32, t32);
    assert_ptr_equal(t32->other, a32);
    assert_int_equal(t32->machine, EM_ARM);
    assert_string_equal(t32->name, a32->name);
    assert_null(arch_for_machine(EM_X86_64)->other);
    assert_null(arch_for_machine(EM_AARCH64)->other);
}

static void expect(const char *platform, bool has_counter, bool shares_counter, const char *why) {
    const struct arm_machine machine = {platform, has_counter, shares_counter};
    const char *lacks = arm_lacks(&machine);
    if (!why)
        assert_null(lacks);
    else if (!lacks || !strstr(lacks, why))
        fail_msg("%s: '%s' does not say '%s'", platform ? platform : "", lacks ? lacks : "", why);
}

static void processors_before_armv7_refused(void **state) {
    (void)state;
    expect("v4l", true, true, "older than Armv7-A");
    expect("v5b", true, true, "older than Armv7-A");
    expect("v6l", false, false, "older than Armv7-A");
    expect("v7l", true, true, NULL);
    expect("v7b", true, true, NULL);
    expect("v8l", true, true, NULL); /* of a 64-bit kernel as well */
    expect("v10l", true, true, NULL);
}

static void unknown_platform_accepted(void **state) {
    (void)state;
    expect(NULL, true, true, NULL);
    expect("", true, true, NULL);
    expect("v", true, true, NULL);
    expect("aarch64", true, true, NULL);
}

static void invariant_counter_required(void **state) {
    (void)state;
    expect("v7l", false, true, "cannot read its counter");
    expect("v7l", false, false, "cannot read its counter");
    expect(NULL, false, true, "cannot read its counter");
    expect("v7l", true, false, "differ");
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
