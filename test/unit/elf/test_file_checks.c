/* Functions that a program uses, according to its symbols. */
#include "elf/file_checks.h"
#include "support.h"

#define TESTS                                                                                      \
    TEST(imports_of_a_program)                                                                     \
    TEST(contents_of_a_static_program)                                                             \
    TEST(files_that_are_no_program)

static bool uses(const char *fixture, const char *function) {
    AUTO_FREE char *path = mem_printf("%s/%s", FIXTURES, fixture);
    return elf_program_uses(path, function);
}

static void imports_of_a_program(void **state) {
    (void)state;
    assert_true(uses("shapes-pie", "__libc_start_main"));
    assert_true(uses("shapes-fixed", "__libc_start_main"));
    assert_true(uses("stripped", "__libc_start_main"));
    assert_false(uses("shapes-pie", "ptrace"));
    assert_false(uses("shapes-pie", "__libc_start"));
}

static void contents_of_a_static_program(void **state) {
    (void)state;
    assert_true(uses("shapes-static", "__libc_start_main"));
    assert_true(uses("shapes-static-pie", "__libc_start_main"));
    assert_false(uses("shapes-static", "ptrace"));
}

static void files_that_are_no_program(void **state) {
    (void)state;
    assert_false(uses("no-such-file", "main"));
    assert_false(elf_program_uses("/proc/self/maps", "main"));
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("elf uses", tests, NULL, NULL);
}
