/* Facts about a thread in /proc. */
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "target/status.h"

#define TESTS                                                                                      \
    TEST(process_of_a_thread)                                                                      \
    TEST(rights_of_a_thread)                                                                       \
    TEST(current_system_call)                                                                      \
    TEST(missing_process_has_no_properties)                                                        \
    TEST(names_as_in_ps)                                                                           \
    TEST(blocked_signals_not_pending)                                                              \
    TEST(ignored_signals_not_pending)                                                              \
    TEST(handled_signals)                                                                          \
    TEST(seccomp_filters_counted)                                                                  \
    TEST(strict_seccomp_counts_as_many_filters)                                                    \
    TEST(many_groups)                                                                              \
    TEST(parent_thread_of_a_child)                                                                 \
    TEST(stack_of_a_waiting_thread)

enum { NOBODY = 0x7ffffff0 /* above pid_max */ };

static uint32_t *ready; /* shared with the child */

static int wait_for_ever(void *arg) {
    (void)arg;
    __atomic_store_n(ready, 1, __ATOMIC_RELEASE);
    for (;;)
        syscall(SYS_pause);
    return 0;
}

static int wait_without_new_rights(void *arg) {
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return wait_for_ever(arg);
}

static pid_t start(int (*body)(void *)) {
    *ready = 0;
    pid_t pid = child_start(body, NULL);
    await_word(ready);
    return pid;
}

static void *idle_thread(void *arg) {
    pid_t *tid = arg;
    __atomic_store_n(tid, gettid(), __ATOMIC_RELEASE);
    pause();
    return NULL;
}

static void process_of_a_thread(void **state) {
    (void)state;
    static pid_t tid;
    pthread_t thread;
    pthread_create(&thread, NULL, idle_thread, &tid);
    await_word((uint32_t *)&tid);
    assert_int_equal(status_process_of(tid), getpid());
    assert_int_equal(status_process_of(getpid()), getpid());
    assert_int_equal(status_parent_of(tid), getppid());
    assert_int_equal(status_innermost_pid(tid), getpid());
    pthread_cancel(thread);
    pthread_join(thread, NULL);
}

static void rights_of_a_thread(void **state) {
    (void)state;
    struct status_credentials rights, again;
    status_credentials(getpid(), &rights);
    assert_int_equal(rights.user, geteuid());
    assert_int_equal(rights.group, getegid());
    assert_int_equal(rights.permitted & ~rights.bounding, 0);
    pid_t pid = start(wait_without_new_rights);
    status_credentials(pid, &again);
    assert_true(again.no_new_privileges);
    assert_int_equal(again.user, rights.user);
    assert_int_equal(again.permitted, rights.permitted);
    child_kill(pid);
}

static int sleep_for_ever(void *arg) {
    static const struct timespec long_time = {1000000, 0};
    (void)arg;
    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &long_time, NULL);
    return 0;
}

static void current_system_call(void **state) {
    (void)state;
    long number = 0;
    uint64_t argument = 0;
    pid_t pid = child_start(sleep_for_ever, NULL);
    child_await_call(pid, SYS_clock_nanosleep);
    assert_true(status_syscall_of(pid, &number, &argument));
    assert_int_equal(number, SYS_clock_nanosleep);
    assert_int_equal(argument, CLOCK_MONOTONIC);
    assert_false(status_syscall_of(NOBODY, &number, &argument));
    child_kill(pid);
}

static void missing_process_has_no_properties(void **state) {
    (void)state;
    char name[8] = "x";
    assert_int_equal(status_process_of(NOBODY), NOBODY);
    assert_int_equal(status_parent_of(NOBODY), 0);
    assert_int_equal(status_innermost_pid(NOBODY), 0);
    assert_int_equal(status_seccomp_filters(NOBODY), 0);
    assert_false(status_signal_pending(NOBODY));
    status_name(NOBODY, name, sizeof name);
    assert_string_equal(name, "");
}

static void names_as_in_ps(void **state) {
    (void)state;
    char name[32], old[32], small[4];
    prctl(PR_GET_NAME, old);
    prctl(PR_SET_NAME, "a (b) c");
    status_name(gettid(), name, sizeof name);
    status_name(gettid(), small, sizeof small);
    prctl(PR_SET_NAME, old);
    assert_string_equal(name, "a (b) c");
    assert_string_equal(small, "a (");
}

static void catch (int sig) { (void)sig; }

static int block_one_signal(void *arg) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGUSR2, catch);
    return wait_for_ever(arg);
}

static void blocked_signals_not_pending(void **state) {
    (void)state;
    pid_t pid = start(block_one_signal);
    child_seize(pid);
    assert_false(status_signal_pending(pid));
    kill(pid, SIGUSR1);
    assert_false(status_signal_pending(pid));
    kill(pid, SIGUSR2);
    assert_true(status_signal_pending(pid));
    child_kill(pid);
}

static int ignore_one_signal(void *arg) {
    signal(SIGUSR1, SIG_IGN);
    return wait_for_ever(arg);
}

/* Ignored signals are queued for traced processes only. */
static void ignored_signals_not_pending(void **state) {
    (void)state;
    pid_t pid = start(ignore_one_signal);
    child_seize(pid);
    kill(pid, SIGUSR1);
    kill(pid, SIGCHLD);
    assert_false(status_signal_pending(pid));
    kill(pid, SIGTERM);
    assert_true(status_signal_pending(pid));
    child_kill(pid);
}

static void handled_signals(void **state) {
    (void)state;
    pid_t pid = start(block_one_signal);
    assert_true(status_catches(pid, SIGUSR2));
    assert_false(status_catches(pid, SIGUSR1));
    assert_false(status_catches(pid, SIGRTMAX));
    child_kill(pid);
}

static int add_two_filters(void *arg) {
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {1, &allow};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    for (int i = 0; i < 2; i++)
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
            return 1;
    return wait_for_ever(arg);
}

static int enter_strict_mode(void *arg) {
    (void)arg;
    uint32_t *signalled = ready;
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    __atomic_store_n(signalled, 1, __ATOMIC_RELEASE);
    for (;;)
        __builtin_ia32_pause();
    return 0;
}

static void seccomp_filters_counted(void **state) {
    (void)state;
    pid_t pid = start(add_two_filters);
    assert_int_equal(status_seccomp_filters(pid), status_seccomp_filters(getpid()) + 2);
    child_kill(pid);
}

static void strict_seccomp_counts_as_many_filters(void **state) {
    (void)state;
    pid_t pid = start(enter_strict_mode);
    assert_true(status_seccomp_filters(pid) > 1000);
    child_kill(pid);
}

/* /proc/PID/status lists groups before signals and seccomp. */
static int join_many_groups(void *arg) {
    static gid_t groups[4000];
    for (gid_t i = 0; i < 4000; i++)
        groups[i] = 100000 + i;
    if (setgroups(4000, groups) < 0) {
        __atomic_store_n(ready, 2, __ATOMIC_RELEASE);
        return 0;
    }
    return add_two_filters(arg);
}

static void many_groups(void **state) {
    (void)state;
    pid_t pid = start(join_many_groups);
    if (*ready == 2) {
        child_end(pid);
        skip(); /* not root */
    }
    child_seize(pid);
    kill(pid, SIGTERM);
    assert_int_equal(status_seccomp_filters(pid), status_seccomp_filters(getpid()) + 2);
    assert_true(status_signal_pending(pid));
    child_kill(pid);
}

static int setup(void **state) {
    (void)state;
    ready = shared_new(sizeof *ready);
    return 0;
}

static void *make_child(void *ret) {
    *(pid_t *)ret = start(wait_for_ever);
    pause();
    return NULL;
}

static void parent_thread_of_a_child(void **state) {
    (void)state;
    pid_t own = start(wait_for_ever), others = 0;
    pthread_t thread;
    assert_true(status_created(getpid(), own));
    assert_false(status_created(getpid(), getpid()));
    assert_int_equal(pthread_create(&thread, NULL, make_child, &others), 0);
    while (!__atomic_load_n((volatile pid_t *)&others, __ATOMIC_ACQUIRE))
        sched_yield();
    assert_false(status_created(getpid(), others));
    child_kill(own);
    child_kill(others);
}

static void stack_of_a_waiting_thread(void **state) {
    (void)state;
    taddr_t sp = 0, here = (taddr_t)__builtin_frame_address(0);
    pid_t child = start(wait_for_ever);
    while (!status_stack_of(child, &sp)) /* the thread is about to wait */
        sched_yield();
    assert_true(sp < here && here - sp < 1 << 20); /* forked: its stack is where the parent's is */
    child_kill(child);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("target status", tests, setup, NULL);
}
