/* Remote calls: their results, and that the calling thread is unchanged afterwards. */
#include <asm/prctl.h>
#include <elf.h>
#include <errno.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "child.h"
#include "hold.h"
#include "target/memory.h"

#define TESTS                                                                                      \
    TEST(results_and_errors)                                                                       \
    TEST(six_arguments)                                                                            \
    TEST(registers_preserved)                                                                      \
    TEST(registers_read_once)                                                                      \
    TEST(signal_frame_outside_the_stack)                                                           \
    TEST(blocked_call_goes_on)                                                                     \
    TEST(seccomp_notification_wait_restarted)                                                      \
    TEST(signals_queued_during_a_call)                                                             \
    TEST(stop_signal_during_a_call)                                                                \
    TEST(stopped_job_stays_stopped)                                                                \
    TEST(continued_job_runs)                                                                       \
    TEST(dead_thread_cannot_call)                                                                  \
    TEST(death_during_a_call_reported)                                                             \
    TEST(no_wait_for_threads_killed_in_a_call)                                                     \
    TEST(missing_code_is_an_error)                                                                 \
    TEST(unwritable_frame_is_an_error)

static uint8_t *frame; /* shared, as in a slab */

static int call(pid_t pid, const struct remote_site *site, long number, uint64_t arg,
                int64_t *ret_result) {
    struct remote_call c = {number, {arg}};
    struct err err = {0};
    int rc = thread_call(pid, site, &c, ret_result, &err);
    assert_true(rc == 0 || strcmp(err.tag, "remote-call") == 0);
    return rc;
}

static void expect_call_works(pid_t pid, const struct remote_site *site) {
    int64_t result = 0;
    assert_int_equal(call(pid, site, SYS_getpid, 0, &result), 0);
    assert_int_equal(result, pid);
}

static int hold(void *arg) {
    (void)arg;
    return hold_all(false) ? 0 : 1;
}

static int end_hold(pid_t pid, const struct remote_site *site) {
    static const uint32_t one = 1;
    assert_int_equal(memory_write(site->memory_fd, (taddr_t)&hold_flag, &one, 4, NULL), 0);
    thread_continue(pid, 0);
    close(site->memory_fd);
    return child_end(pid);
}

static pid_t start_hold(struct remote_site *ret_site) {
    pid_t pid = child_start(hold, NULL);
    child_seize(pid);
    thread_continue(pid, 0);
    child_stop_within(pid, hold_loop, hold_loop_end);
    *ret_site = child_site(pid);
    return pid;
}

static void results_and_errors(void **state) {
    (void)state;
    struct remote_site site;
    pid_t pid = start_hold(&site);
    int64_t result = 0;
    assert_int_equal(call(pid, &site, SYS_getppid, 0, &result), 0);
    assert_int_equal(result, getpid());
    assert_int_equal(call(pid, &site, SYS_close, 12345, &result), 0);
    assert_int_equal(result, -EBADF);
    assert_int_equal(call(pid, &site, 100000, 0, &result), 0);
    assert_int_equal(result, -ENOSYS);
    assert_int_equal(end_hold(pid, &site), 0);
}

static void six_arguments(void **state) {
    (void)state;
    struct remote_site site;
    pid_t pid = start_hold(&site);
    int64_t at = 0;
    struct remote_call map = {
        SYS_mmap, {0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1, 0}};
    assert_int_equal(thread_call(pid, &site, &map, &at, NULL), 0);
    assert_int_equal(memory_write(site.memory_fd, (taddr_t)at, "hello", 5, NULL), 0);
    map.args[5] = 1; /* an offset that is no multiple of a page */
    assert_int_equal(thread_call(pid, &site, &map, &at, NULL), 0);
    assert_int_equal(at, -EINVAL);
    assert_int_equal(end_hold(pid, &site), 0);
}

static void expect_hold_survives(taddr_t at) {
    struct remote_site site;
    pid_t pid = start_hold(&site);
    struct regs before, after;
    site.frame = at;
    thread_get_regs(pid, &before);
    for (int i = 0; i < 3; i++)
        expect_call_works(pid, &site);
    thread_get_regs(pid, &after);
    before.raw.orig_rax = after.raw.orig_rax; /* no system call to restart, either way */
    assert_memory_equal(&before, &after, sizeof before);
    assert_int_equal(end_hold(pid, &site), 0);
}

static void registers_preserved(void **state) {
    (void)state;
    expect_hold_survives(0);
    expect_hold_survives((taddr_t)frame);
}

/* CPUID takes microseconds in a virtual machine, so the tool may execute it only once. */
static void registers_read_once(void **state) {
    (void)state;
    struct remote_site site;
    pid_t pid = start_hold(&site);
    expect_call_works(pid, &site);
    bool faults = syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0) == 0; /* else the test sees no CPUID */
    expect_call_works(pid, &site);
    if (faults)
        syscall(SYS_arch_prctl, ARCH_SET_CPUID, 1);
    assert_int_equal(end_hold(pid, &site), 0);
    if (!faults)
        skip();
}

static void signal_frame_outside_the_stack(void **state) {
    (void)state;
    struct remote_site site;
    pid_t pid = start_hold(&site);
    memset(frame, 0, REMOTE_FRAME_BYTES);
    site.frame = (taddr_t)frame;
    expect_call_works(pid, &site);
    size_t used = 0;
    for (size_t i = 0; i < REMOTE_FRAME_BYTES; i++)
        used += frame[i] != 0;
    assert_true(used > 500); /* the frame was really there */
    assert_int_equal(end_hold(pid, &site), 0);
}

/* ---- threads that are blocked ---- */

static int pipe_fds[2];
static uint32_t *word;

enum { SLEEP_MS = 2000 }; /* long enough to be stopped twice on a loaded machine */

static uint64_t now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static int in_read(void *arg) {
    (void)arg;
    char c = 0;
    return read(pipe_fds[0], &c, 1) == 1 && c == 'x' ? 0 : 1;
}

static int in_nanosleep(void *arg) {
    (void)arg;
    struct timespec t = {.tv_sec = SLEEP_MS / 1000};
    uint64_t start = now_ms();
    if (syscall(SYS_nanosleep, &t, &t) != 0)
        return 1;
    return now_ms() - start < SLEEP_MS ? 2 : 0;
}

static int in_poll(void *arg) {
    (void)arg;
    struct pollfd p = {.fd = pipe_fds[0], .events = POLLIN};
    return syscall(SYS_poll, &p, 1, 60000) == 1 ? 0 : 1;
}

static int in_futex(void *arg) {
    (void)arg;
    struct timespec minute = {60, 0};
    return syscall(SYS_futex, word, FUTEX_WAIT, 0, &minute, NULL, 0) == 0 ? 0 : 1;
}

static int in_epoll_wait(void *arg) {
    (void)arg;
    struct epoll_event e = {.events = EPOLLIN};
    int epoll = epoll_create1(0);
    epoll_ctl(epoll, EPOLL_CTL_ADD, pipe_fds[0], &e);
    return syscall(SYS_epoll_wait, epoll, &e, 1, 60000) == 1 ? 0 : 1;
}

static int in_epoll_pwait(void *arg) {
    (void)arg;
    struct epoll_event e = {.events = EPOLLIN};
    int epoll = epoll_create1(0);
    uint64_t all_but_alarm = ~(UINT64_C(1) << (SIGALRM - 1)), before, after;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &before, 8);
    epoll_ctl(epoll, EPOLL_CTL_ADD, pipe_fds[0], &e);
    long n = syscall(SYS_epoll_pwait, epoll, &e, 1, 60000, &all_but_alarm, 8);
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &after, 8);
    return n != 1 ? 1 : before != after ? 2 : 0;
}

static int in_receive_with_timeout(void *arg) {
    struct timeval minute = {60, 0};
    int *sockets = arg;
    char c;
    setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &minute, sizeof minute);
    return syscall(SYS_recvfrom, sockets[0], &c, 1, 0, NULL, NULL) == 1 ? 0 : 1;
}

static volatile sig_atomic_t handled;
static volatile int handled_value;
static volatile uint64_t handler_mask;
static void handle(int sig, siginfo_t *info, void *context) {
    (void)context;
    uint64_t mask;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, 8);
    handler_mask = mask;
    handled++;
    if (sig == SIGRTMIN)
        handled_value = info->si_value.sival_int;
}

static void catch_signal(int sig) {
    struct sigaction a = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
    sigaction(sig, &a, NULL);
}

/* SIGUSR1 is blocked except during the call; the handler sees the call's mask. */
static int in_sigsuspend(void *arg) {
    (void)arg;
    uint64_t usr1 = UINT64_C(1) << (SIGUSR1 - 1), usr2 = UINT64_C(1) << (SIGUSR2 - 1), after;
    catch_signal(SIGUSR1);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &usr1, NULL, 8);
    if (syscall(SYS_rt_sigsuspend, &usr2, 8) != -1 || errno != EINTR)
        return 1;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &after, 8);
    return handled != 1 ? 2 : after != usr1 ? 3 : handler_mask != (usr1 | usr2) ? 4 : 0;
}

/* Sleeps until a signal ends it. */
static int in_long_sleep(void *arg) {
    (void)arg;
    struct timespec minute = {60, 0};
    catch_signal(SIGUSR1);
    return syscall(SYS_nanosleep, &minute, NULL) == -1 && errno == EINTR && handled == 1 ? 0 : 1;
}

static int in_sigtimedwait(void *arg) {
    (void)arg;
    uint64_t usr1 = UINT64_C(1) << (SIGUSR1 - 1);
    struct timespec minute = {60, 0};
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &usr1, NULL, 8);
    return syscall(SYS_rt_sigtimedwait, &usr1, NULL, &minute, 8) == SIGUSR1 ? 0 : 1;
}

static void end_by_nothing(pid_t pid) { (void)pid; }
static void end_by_byte(pid_t pid) {
    (void)pid;
    assert_int_equal(write(pipe_fds[1], "x", 1), 1);
}
static void end_by_wake(pid_t pid) {
    do /* it may be in the call, but not wait yet */
        child_await_call(pid, SYS_futex);
    while (syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0) != 1);
}
static void end_by_signal(pid_t pid) { kill(pid, SIGUSR1); }
static int socket_fds[2];
static void end_by_datagram(pid_t pid) {
    (void)pid;
    assert_int_equal(write(socket_fds[1], "x", 1), 1);
}

struct blocked {
    long call;
    int (*body)(void *);
    void (*end)(pid_t);
};

static const struct blocked all_blocked[] = {
    {SYS_read, in_read, end_by_byte},
    {SYS_nanosleep, in_nanosleep, end_by_nothing},
    {SYS_nanosleep, in_long_sleep, end_by_signal},
    {SYS_poll, in_poll, end_by_byte},
    {SYS_futex, in_futex, end_by_wake},
    {SYS_epoll_wait, in_epoll_wait, end_by_byte},
    {SYS_epoll_pwait, in_epoll_pwait, end_by_byte},
    {SYS_rt_sigsuspend, in_sigsuspend, end_by_signal},
    {SYS_rt_sigtimedwait, in_sigtimedwait, end_by_signal},
    {SYS_recvfrom, in_receive_with_timeout, end_by_datagram},
};

/* Does what the tracer does for a thread that it has stopped. */
static void restart_call(pid_t pid) {
    struct regs regs;
    assert_int_equal(thread_get_regs(pid, &regs), 0);
    if (regs_restart_interrupted(&regs))
        assert_int_equal(thread_set_regs(pid, &regs), 0);
}

/* Passes signals on until the child ends. */
static int run_to_end(pid_t pid) {
    struct stop stop;
    while (thread_wait(pid, &stop) == 0)
        thread_continue(pid, stop.kind == STOP_SIGNAL ? stop.signal : 0);
    return child_end(pid);
}

/* Waits until the thread is in its call again. The restart_syscall() call shows that a sleep has
 * not begun anew. */
static void await_again(pid_t pid, const struct blocked *b) {
    if (b->body == in_long_sleep)
        child_await_call(pid, SYS_restart_syscall);
    else if (b->body != in_nanosleep) /* the sleep may be over */
        child_await_call(pid, b->call);
}

static int stop_call_and_resume(const struct blocked *b, int calls) {
    assert_int_equal(pipe(pipe_fds), 0);
    pid_t pid = child_start(b->body, socket_fds);
    child_await_call(pid, b->call);
    assert_int_equal(thread_seize(pid, NULL), 0);
    struct remote_site site = child_site(pid);
    for (int i = 0; i < 2; i++) {
        child_stop(pid);
        restart_call(pid);
        for (int k = 0; k < calls; k++)
            expect_call_works(pid, &site);
        thread_continue(pid, 0);
        await_again(pid, b);
    }
    b->end(pid);
    int end = run_to_end(pid);
    close(site.memory_fd);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    return end;
}

static void blocked_call_goes_on(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof all_blocked / sizeof *all_blocked; i++)
        for (int calls = 0; calls < 3; calls++) {
            int end = stop_call_and_resume(&all_blocked[i], calls);
            if (end)
                fail_msg("system call %ld, after %d remote calls: %d", all_blocked[i].call, calls,
                         end);
        }
}

/* If another call of a device returns EINTR, only the program knows what it has done. */
static void seccomp_notification_wait_restarted(void **state) {
    struct regs regs = {.raw = {.orig_rax = SYS_ioctl, .rsi = FIONREAD, .rip = 0x1002}};
    (void)state;
    regs.raw.rax = (uint64_t)-EINTR;
    assert_false(regs_restart_interrupted(&regs));
    assert_int_equal(regs_pc(&regs), 0x1002);
    regs.raw.rsi = SECCOMP_IOCTL_NOTIF_RECV;
    assert_true(regs_restart_interrupted(&regs));
    assert_true(regs_would_restart(&regs));
    regs_finish_restart(&regs);
    assert_int_equal(regs_pc(&regs), 0x1000);
    assert_int_equal(regs.raw.rax, SYS_ioctl);
}

/* ---- signals meanwhile ---- */

static uint32_t *ready;

/* Ends after two signals. */
static int await_signals(void *arg) {
    (void)arg;
    catch_signal(SIGRTMIN);
    catch_signal(SIGUSR1);
    __atomic_store_n(ready, 1, __ATOMIC_RELEASE);
    while (handled < 2)
        __builtin_ia32_pause();
    return handled_value;
}

static pid_t start_await_signals(struct remote_site *ret_site) {
    *ready = 0;
    pid_t pid = child_start(await_signals, NULL);
    await_word(ready);
    child_seize(pid);
    *ret_site = child_site(pid);
    return pid;
}

static void signals_queued_during_a_call(void **state) {
    (void)state;
    struct remote_site site;
    pid_t pid = start_await_signals(&site);
    kill(pid, SIGUSR1);
    sigqueue(pid, SIGRTMIN, (union sigval){.sival_int = 77});
    expect_call_works(pid, &site);
    expect_call_works(pid, &site);
    thread_continue(pid, 0);
    assert_int_equal(run_to_end(pid), 77);
    close(site.memory_fd);
}

static void stop_signal_during_a_call(void **state) {
    (void)state;
    struct remote_site site;
    pid_t pid = start_await_signals(&site);
    kill(pid, SIGSTOP);
    expect_call_works(pid, &site);
    thread_continue(pid, 0);
    child_await_signal(pid, SIGSTOP);
    child_kill(pid);
    close(site.memory_fd);
}

static void await_group_stop(pid_t pid) {
    const struct stop stop = child_await_stop(pid);
    assert_int_equal(stop.kind, STOP_GROUP);
    assert_int_equal(stop.signal, SIGSTOP);
}

/* Brings the stopped child into a group-stop. */
static void stop_by_job_control(pid_t pid) {
    kill(pid, SIGSTOP); /* the other stop signals do nothing in an orphaned process group */
    thread_continue(pid, 0);
    child_await_signal(pid, SIGSTOP);
    thread_continue(pid, SIGSTOP);
    await_group_stop(pid);
}

static void stopped_job_stays_stopped(void **state) {
    (void)state;
    struct remote_site site;
    pid_t pid = start_await_signals(&site);
    stop_by_job_control(pid);
    expect_call_works(pid, &site);
    expect_call_works(pid, &site);
    thread_continue(pid, 0);
    await_group_stop(pid);
    assert_int_equal(thread_listen(pid), 0);
    kill(pid, SIGCONT);
    assert_int_equal(child_await_stop(pid).kind, STOP_INTERRUPT);
    child_kill(pid);
    close(site.memory_fd);
}

static void continued_job_runs(void **state) {
    (void)state;
    struct remote_site site;
    pid_t pid = start_await_signals(&site);
    stop_by_job_control(pid);
    kill(pid, SIGCONT);
    expect_call_works(pid, &site);
    kill(pid, SIGUSR1);
    kill(pid, SIGUSR1);
    sigqueue(pid, SIGRTMIN, (union sigval){.sival_int = 7});
    thread_continue(pid, 0);
    assert_int_equal(run_to_end(pid), 7);
    close(site.memory_fd);
}

/* ---- failures ---- */

static void dead_thread_cannot_call(void **state) {
    (void)state;
    struct remote_site site;
    pid_t pid = start_hold(&site);
    int64_t result = 4711;
    kill(pid, SIGKILL);
    assert_int_equal(call(pid, &site, SYS_getpid, 0, &result), -ESRCH);
    assert_int_equal(result, 4711);
    assert_int_equal(child_end(pid), 128 + SIGKILL); /* its end can still be reported */
    close(site.memory_fd);
}

static void death_during_a_call_reported(void **state) {
    (void)state;
    struct remote_site site;
    pid_t pid = start_hold(&site);
    int64_t result;
    assert_int_equal(call(pid, &site, SYS_exit, 3, &result), -ESRCH);
    assert_int_equal(child_end(pid), 3);
    close(site.memory_fd);
}

static void *idle(void *arg) {
    (void)arg;
    __atomic_store_n(word, (uint32_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
    pause();
    return NULL;
}

static int start_idle_thread(void *arg) {
    pthread_t thread;
    pthread_create(&thread, NULL, idle, arg);
    return pause();
}

/* The kernel does not report the end of the first thread before the end of the other has been
 * taken. */
static void no_wait_for_threads_killed_in_a_call(void **state) {
    (void)state;
    int64_t result;
    *word = 0;
    pid_t pid = child_start(start_idle_thread, NULL);
    await_word(word);
    pid_t other = (pid_t)*word;
    child_seize(pid);
    child_seize(other);
    struct remote_site site = child_site(pid);
    struct remote_call suicide = {SYS_kill, {(uint64_t)pid, SIGKILL}};
    assert_int_equal(thread_call(pid, &site, &suicide, &result, NULL), -ESRCH);
    assert_int_equal(child_end(other), 128 + SIGKILL);
    assert_int_equal(child_end(pid), 128 + SIGKILL);
    close(site.memory_fd);
}

static void missing_code_is_an_error(void **state) {
    (void)state;
    struct remote_site site;
    pid_t pid = start_hold(&site);
    struct remote_site bad = site;
    int64_t result = 0;
    bad.code = 0x1000;
    assert_true(call(pid, &bad, SYS_getpid, 0, &result) < 0);
    expect_call_works(pid, &site);
    assert_int_equal(end_hold(pid, &site), 0);
}

static void unwritable_frame_is_an_error(void **state) {
    (void)state;
    struct remote_site site;
    pid_t pid = start_hold(&site);
    struct remote_site bad = site;
    int64_t result = 0;
    bad.frame = 0x1000;
    assert_true(call(pid, &bad, SYS_getpid, 0, &result) < 0);
    assert_int_equal(end_hold(pid, &site), 0);
}

static int setup(void **state) {
    (void)state;
    ready = shared_new(4096);
    word = shared_new(4096);
    frame = shared_new(REMOTE_FRAME_BYTES);
    return socketpair(AF_UNIX, SOCK_DGRAM, 0, socket_fds);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("target remote calls", tests, setup, NULL);
}
