/* The seccomp filters of a stopped thread, and their common answer. */
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "child.h"
#include "target/sandbox.h"
#include "target/status.h"

#define TESTS                                                                                      \
    TEST(all_filters_asked)                                                                        \
    TEST(strict_mode_allows_nothing)                                                               \
    TEST(no_filter_allows_everything)                                                              \
    TEST(unreadable_filters_reported)

static uint32_t *ready; /* shared with the child */

static int wait_for_ever(void *arg) {
    (void)arg;
    __atomic_store_n(ready, 1, __ATOMIC_RELEASE);
    for (;;)
        __builtin_ia32_pause();
    return 0;
}

static pid_t start(int (*body)(void *)) {
    *ready = 0;
    pid_t pid = child_start(body, NULL);
    await_word(ready);
    child_seize(pid);
    return pid;
}

/* From now on system call NUMBER gets the answer ACTION. */
static void add_filter(uint32_t number, uint32_t action) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, action), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static enum sandbox_answer answer(const struct sandbox *s, long number) {
    return sandbox_answer(s, &(struct sandbox_call){.number = number, .unknown = 0x3f});
}

/* Filters of other processes can be read only by root, outside any sandbox. */
static struct sandbox read_all(pid_t pid) {
    struct sandbox s;
    struct err err = {0};
    if (sandbox_read(pid, &s, &err) == 0)
        return s;
    assert_string_equal(err.tag, "sandbox-unknown");
    child_kill(pid);
    skip();
    return s;
}

static int wait_in_two_filters(void *arg) {
    add_filter(SYS_swapon, SECCOMP_RET_ERRNO | 1);
    add_filter(SYS_pivot_root, SECCOMP_RET_KILL_PROCESS);
    return wait_for_ever(arg);
}

static void all_filters_asked(void **state) {
    (void)state;
    pid_t pid = start(wait_in_two_filters);
    struct sandbox s = read_all(pid);
    assert_int_equal(s.filters.count, 2 + status_seccomp_filters(getpid()));
    assert_false(s.strict);
    assert_int_equal(answer(&s, SYS_pivot_root), SANDBOX_HARMS);
    assert_int_equal(answer(&s, SYS_swapon), SANDBOX_FAILS);
    assert_int_equal(answer(&s, SYS_close), SANDBOX_ALLOWS);
    sandbox_done(&s);
    child_kill(pid);
}

/* Calls no function in strict mode: sanitizers make system calls there. */
static int wait_strictly(void *arg) {
    (void)arg;
    uint32_t *signalled = ready;
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    __atomic_store_n(signalled, 1, __ATOMIC_RELEASE);
    for (;;)
        __builtin_ia32_pause();
    return 0;
}

static void strict_mode_allows_nothing(void **state) {
    (void)state;
    pid_t pid = start(wait_strictly);
    struct sandbox s;
    assert_int_equal(sandbox_read(pid, &s, NULL), 0);
    assert_true(s.strict);
    assert_int_equal(answer(&s, SYS_close), SANDBOX_HARMS);
    sandbox_done(&s);
    child_kill(pid);
}

static void no_filter_allows_everything(void **state) {
    (void)state;
    if (status_seccomp_filters(getpid()))
        skip();
    pid_t pid = start(wait_for_ever);
    struct sandbox s;
    assert_int_equal(sandbox_read(pid, &s, NULL), 0);
    assert_int_equal(s.filters.count, 0);
    assert_int_equal(answer(&s, SYS_memfd_create), SANDBOX_ALLOWS);
    sandbox_done(&s);
    child_kill(pid);
}

/* A process with filters of its own may not read those of others. */
static int read_in_a_filter(void *arg) {
    pid_t pid = child_start(wait_in_two_filters, arg);
    struct sandbox s;
    struct err err = {0};
    add_filter(SYS_getppid, SECCOMP_RET_ERRNO | 1);
    await_word(ready);
    child_seize(pid);
    bool refused = sandbox_read(pid, &s, &err) < 0 && strcmp(err.tag, "sandbox-unknown") == 0;
    child_kill(pid);
    return refused ? 0 : 1;
}

static void unreadable_filters_reported(void **state) {
    (void)state;
    *ready = 0;
    assert_int_equal(child_end(child_start(read_in_a_filter, NULL)), 0);
}

int main(void) {
    ready = shared_new(sizeof *ready);
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("target sandbox", tests, NULL, NULL);
}
