/* Signals that arrive while a thread is stopped in a system call. */
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "child.h"
#include "target/memory.h"

#define TESTS                                                                                      \
    TEST(signal_ends_the_call)                                                                     \
    TEST(signal_ends_calls_that_never_restart)                                                     \
    TEST(thread_before_a_call)                                                                     \
    TEST(handler_lets_a_call_restart)

static const struct timespec minute = {60, 0};
static const uint64_t no_signals;
static const uint32_t word;
static int pipe_fds[2], socket_fds[2], epoll;

struct waiting {
    long number;
    uint64_t args[4];
};

static volatile sig_atomic_t handled;
static void handle(int sig) {
    (void)sig;
    handled++;
}

/* FLAGS are those of the handler. */
static long wait_in(const struct waiting *w, int flags) {
    struct sigaction a = {.sa_handler = handle, .sa_flags = flags};
    const uint64_t *args = w->args;
    sigaction(SIGUSR1, &a, NULL);
    return syscall(w->number, args[0], args[1], args[2], args[3], NULL, NULL);
}

static int expect_interruption(void *arg) {
    return wait_in(arg, 0) == -1 && errno == EINTR && handled == 1 ? 0 : 1;
}

/* signal(7): any handler interrupts these calls. */
static int expect_interruption_anyway(void *arg) {
    return wait_in(arg, SA_RESTART) == -1 && errno == EINTR && handled == 1 ? 0 : 1;
}

static int expect_one_byte(void *arg) {
    return wait_in(arg, SA_RESTART) == 1 && handled == 1 ? 0 : 1;
}

/* Does what the tracer does for a thread that it has stopped. */
static void restart_call(pid_t pid) {
    struct regs regs;
    assert_int_equal(thread_get_regs(pid, &regs), 0);
    if (regs_restart_interrupted(&regs))
        assert_int_equal(thread_set_regs(pid, &regs), 0);
}

static void call(pid_t pid, const struct remote_site *site) {
    const struct remote_call c = {SYS_getpid, {0}};
    int64_t result = 0;
    assert_int_equal(thread_call(pid, site, &c, &result, NULL), 0);
    assert_int_equal(result, pid);
}

/* Passes signals on until the child ends. */
static int run_to_end(pid_t pid) {
    struct stop stop;
    while (thread_wait(pid, &stop) == 0)
        thread_continue(pid, stop.kind == STOP_SIGNAL ? stop.signal : 0);
    return child_end(pid);
}

static pid_t start(int (*body)(void *), const struct waiting *w, int calls) {
    pid_t pid = child_start(body, (void *)w);
    child_await_call(pid, w->number);
    child_seize(pid);
    struct remote_site site = child_site(pid);
    restart_call(pid);
    for (int i = 0; i < calls; i++)
        call(pid, &site);
    close(site.memory_fd);
    kill(pid, SIGUSR1);
    thread_continue(pid, 0);
    return pid;
}

/* Compares the end after zero, one and two remote calls. */
static void expect_end(int (*body)(void *), const struct waiting *w) {
    for (int calls = 0; calls < 3; calls++) {
        pid_t pid = start(body, w, calls);
        if (run_to_end(pid))
            fail_msg("system call %ld, after %d remote calls", w->number, calls);
    }
}

/* Without a tracer the signal would arrive while the thread waits. */
static void signal_ends_the_call(void **state) {
    (void)state;
    char byte;
    const struct waiting all[] = {
        {SYS_pause, {0}},
        {SYS_read, {(uint64_t)pipe_fds[0], (uint64_t)&byte, 1}},
        {SYS_recvfrom, {(uint64_t)socket_fds[0], (uint64_t)&byte, 1}},
        {SYS_select, {0}},
        {SYS_poll, {0, 0, 60000}},
        {SYS_nanosleep, {(uint64_t)&minute}},
        {SYS_futex, {(uint64_t)&word, FUTEX_WAIT}},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        expect_end(expect_interruption, &all[i]);
}

/* The state that the kernel leaves when it has prepared the restart itself, and the thread is
 * stopped again. */
static void thread_before_a_call(void **state) {
    (void)state;
    char byte;
    struct thread_past past = {0};
    struct regs regs;
    uint64_t argument;
    const struct waiting receives = {SYS_recvfrom,
                                     {(uint64_t)socket_fds[0], (uint64_t)&byte, 1, MSG_WAITALL}};
    pid_t pid = child_start(expect_one_byte, (void *)&receives);
    child_await_call(pid, receives.number);
    child_seize(pid);
    assert_int_equal(thread_get_regs(pid, &regs), 0);
    assert_true(thread_returned_from_syscall(pid, &past, &regs, &argument));
    regs.raw.rip -= 2;
    regs.raw.rax = regs.raw.orig_rax;
    assert_int_equal(thread_set_regs(pid, &regs), 0);
    assert_false(thread_returned_from_syscall(pid, &past, &regs, &argument));
    assert_false(thread_restart_interrupted(pid, &past, &regs));
    kill(pid, SIGUSR1);
    thread_continue(pid, 0);
    child_await_call(pid, receives.number);
    assert_int_equal(write(socket_fds[1], "", 1), 1);
    assert_int_equal(run_to_end(pid), 0);
}

static void signal_ends_calls_that_never_restart(void **state) {
    (void)state;
    struct epoll_event event;
    const struct waiting all[] = {
        {SYS_epoll_wait, {(uint64_t)epoll, (uint64_t)&event, 1, 60000}},
        {SYS_rt_sigtimedwait, {(uint64_t)&no_signals, 0, (uint64_t)&minute, 8}},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        expect_end(expect_interruption_anyway, &all[i]);
}

static void handler_lets_a_call_restart(void **state) {
    (void)state;
    char byte;
    const struct waiting reading = {SYS_read, {(uint64_t)pipe_fds[0], (uint64_t)&byte, 1}};
    for (int calls = 0; calls < 3; calls++) {
        pid_t pid = start(expect_one_byte, &reading, calls);
        child_await_signal(pid, SIGUSR1);
        thread_continue(pid, SIGUSR1);
        assert_int_equal(write(pipe_fds[1], "x", 1), 1);
        assert_int_equal(run_to_end(pid), 0);
    }
}

static int setup(void **state) {
    (void)state;
    epoll = epoll_create1(0);
    return pipe(pipe_fds) < 0 ? -1 : socketpair(AF_UNIX, SOCK_STREAM, 0, socket_fds);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("signals in system calls", tests, setup, NULL);
}
