/* Which functions a program uses, as its symbols tell. */
#include "elf/uses.h"
#include "support.h"

static bool uses(const char *fixture, const char *function) {
    AUTO_FREE char *path = mem_printf("%s/%s", FIXTURES, fixture);
    return elf_uses(path, function);
}

static void a_program_uses_what_it_imports(void **state) {
    (void)state;
    assert_true(uses("shapes-pie", "__libc_start_main"));
    assert_true(uses("shapes-fixed", "__libc_start_main"));
    assert_true(uses("stripped", "__libc_start_main"));
    assert_false(uses("shapes-pie", "ptrace"));
    assert_false(uses("shapes-pie", "__libc_start"));
}

static void a_static_program_uses_what_it_contains(void **state) {
    (void)state;
    assert_true(uses("shapes-static", "__libc_start_main"));
    assert_true(uses("shapes-static-pie", "__libc_start_main"));
    assert_false(uses("shapes-static", "ptrace"));
}

static void what_is_no_program_uses_nothing(void **state) {
    (void)state;
    assert_false(uses("no-such-file", "main"));
    assert_false(elf_uses("/proc/self/maps", "main"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_uses_what_it_imports),
        cmocka_unit_test(a_static_program_uses_what_it_contains),
        cmocka_unit_test(what_is_no_program_uses_nothing),
    };
    return cmocka_run_group_tests_name("elf uses", tests, NULL, NULL);
}
