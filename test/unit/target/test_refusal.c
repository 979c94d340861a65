/* Reasons why a process cannot be traced: the best of several, with the remedy. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "target/refusal.h"

#define TESTS                                                                                      \
    TEST(policy_explains_refusal)                                                                  \
    TEST(sandbox_explains_refusal)                                                                 \
    TEST(other_user_explains_refusal)                                                              \
    TEST(missing_rights_explain_refusal)                                                           \
    TEST(other_spoor_explains_refusal)                                                             \
    TEST(other_errors_unchanged)                                                                   \
    TEST(other_tracer_explains_refusal)

static void expect(const struct refusal_facts *facts, const char *why) {
    struct err err = {0};
    assert_int_equal(refusal_explain("it", facts, &err), -facts->code);
    assert_string_equal(err.tag, "seize");
    assert_int_equal(strncmp(err.text, "it: cannot be traced: ", 22), 0);
    if (!strstr(err.text, why))
        fail_msg("'%s' does not say '%s'", err.text, why);
}

static void policy_explains_refusal(void **state) {
    (void)state;
    expect(&(struct refusal_facts){.code = EPERM, .policy = 3, .capable = true}, "next boot");
    expect(&(struct refusal_facts){.code = EPERM, .policy = 2}, "ptrace_scope=0'");
    expect(&(struct refusal_facts){.code = EPERM, .policy = 2, .descendant = true},
           "ptrace_scope=1'");
    expect(&(struct refusal_facts){.code = EPERM, .policy = 2, .capable = true}, "security module");
    expect(&(struct refusal_facts){.code = EPERM, .policy = 1}, "ptrace_scope is 1");
    expect(&(struct refusal_facts){.code = EPERM, .policy = 1, .descendant = true},
           "security module");
    expect(&(struct refusal_facts){.code = EPERM, .policy = 1, .capable = true}, "security module");
    expect(&(struct refusal_facts){.code = EPERM, .policy = -1}, "security module");
}

static void sandbox_explains_refusal(void **state) {
    (void)state;
    expect(&(struct refusal_facts){.code = EPERM, .policy = 1, .filters = 1}, "sandbox");
    expect(&(struct refusal_facts){.code = ENOSYS, .policy = -1, .filters = 1}, "sandbox");
    expect(&(struct refusal_facts){.code = EPERM, .policy = 3, .filters = 1}, "next boot");
}

static void other_user_explains_refusal(void **state) {
    (void)state;
    struct refusal_facts facts = {.code = EPERM, .policy = 1, .foreign = true, .user = 33};
    expect(&facts, "it is another user's (uid 33): run spoor as root");
    facts.filters = 1;
    expect(&facts, "another user's");
    facts.capable = true;
    expect(&facts, "sandbox");
}

static void missing_rights_explain_refusal(void **state) {
    (void)state;
    expect(&(struct refusal_facts){.code = EPERM, .policy = -1, .has_more_capabilities = true},
           "as root");
    expect(&(struct refusal_facts){.code = EPERM, .policy = -1, .hides = true}, "DUMPABLE");
    expect(&(struct refusal_facts){.code = EPERM, .policy = -1, .capable = true, .inner = true},
           "container");
}

static void other_spoor_explains_refusal(void **state) {
    (void)state;
    struct refusal_facts facts = {.code = EPERM, .policy = 3, .tracer = 17};
    facts.attached = true;
    expect(&facts, "another spoor (process 17) is attached to it: 'kill 17'");
    facts = (struct refusal_facts){.code = EPERM, .policy = 3, .tracer = 17, .records = true};
    expect(&facts, "another spoor (process 17) records it");
}

static void other_errors_unchanged(void **state) {
    (void)state;
    expect(&(struct refusal_facts){.code = ESRCH, .policy = 3, .filters = 1}, strerror(ESRCH));
    expect(&(struct refusal_facts){.code = EIO, .policy = -1}, strerror(EIO));
}

static int wait_for_ever(void *arg) {
    (void)arg;
    for (;;)
        pause();
    return 0;
}

static int trace(void *arg) {
    const pid_t *target = arg;
    struct err err = {0};
    char want[64];
    snprintf(want, sizeof want, "process %d: cannot be traced: process %d (", *target, getppid());
    return thread_seize(*target, &err) == -EPERM && !strncmp(err.text, want, strlen(want)) ? 0 : 1;
}

static void other_tracer_explains_refusal(void **state) {
    (void)state;
    pid_t target = child_start(wait_for_ever, NULL);
    child_seize(target);
    assert_int_equal(child_end(child_start(trace, &target)), 0);
    child_kill(target);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("target refusal", tests, NULL, NULL);
}
