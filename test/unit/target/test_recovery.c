/*
 * The tracer is killed during a remote call, once before each of the ptrace requests of that call.
 * The thread must go on by itself with the same registers, vectors, flags, signal mask and
 * alternate stack, and still wait for the same condition.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "child.h"
#include "hold.h"
#include "target/memory.h"

#define TESTS                                                                                      \
    TEST(running_thread_keeps_registers_and_mask)                                                  \
    TEST(series_of_calls_ends_alone)                                                               \
    TEST(running_thread_keeps_extended_registers)                                                  \
    TEST(thread_on_an_alternate_signal_stack)                                                      \
    TEST(blocked_read_goes_on)                                                                     \
    TEST(sleep_of_full_length)                                                                     \
    TEST(signal_wait_ends_with_signal_and_mask)

/* ---- a ptrace() that ends its process after a number of requests ---- */

static int requests_left = -1; /* −1: no end */

/* Replaces libc's function for the code under test. */
long ptrace(enum __ptrace_request request, ...) {
    va_list ap;
    va_start(ap, request);
    pid_t pid = va_arg(ap, pid_t);
    void *addr = va_arg(ap, void *), *data = va_arg(ap, void *);
    va_end(ap);
    if (requests_left == 0)
        kill(getpid(), SIGKILL);
    requests_left -= requests_left > 0;
    return syscall(SYS_ptrace, request, pid, addr, data);
}

/* ---- the tracer, a sibling of its target ---- */

struct tracing {
    pid_t target;
    bool is_in_place; /* the target waits in hold_loop; otherwise in a system call */
    taddr_t frame;
    bool series;  /* it makes a series of calls */
    int requests; /* the requests that the tracer may make before it dies */
};

enum { CALL_DONE = 7, CALL_FAILED = 8 };

/* Stops the target in its loop, or in its system call, ready for remote calls. */
static void stop_in_place(const struct tracing *t) {
    struct regs regs;
    child_seize(t->target);
    if (!t->is_in_place) {
        thread_continue(t->target, 0);
        child_stop_within(t->target, hold_loop, hold_loop_end);
    }
    if (thread_get_regs(t->target, &regs) == 0 && regs_restart_interrupted(&regs))
        thread_set_regs(t->target, &regs);
}

static bool call_once(pid_t target, const struct remote_site *site) {
    int64_t result = 0;
    struct remote_call call = {SYS_getpid, {0}};
    return thread_call(target, site, &call, &result, NULL) == 0 && result == target;
}

static bool call_in_a_row(pid_t target, const struct remote_site *site) {
    struct remote_step steps[] = {{.call = {SYS_getpid, {0}}}, {.call = {SYS_gettid, {0}}}};
    return thread_calls(target, site, steps, 2, NULL) == 0 && steps[0].result == target &&
           steps[1].result == target;
}

static int trace(void *arg) {
    struct tracing *t = arg;
    stop_in_place(t);
    struct remote_site site = child_site(t->target);
    site.frame = t->frame;
    requests_left = t->requests;
    bool done = t->series ? call_in_a_row(t->target, &site) : call_once(t->target, &site);
    requests_left = -1;
    return done ? CALL_DONE : CALL_FAILED; /* detaches the target */
}

/* ---- targets ---- */

static stack_t other_stack;
static uint32_t *ready;
static bool held;

static void hold_in_handler(int sig) {
    (void)sig;
    __atomic_store_n(ready, 1, __ATOMIC_RELEASE); /* from now on the tracer sees no other signal */
    held = hold_all(false);
}

static uint64_t signal_mask(void) {
    uint64_t mask;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, 8);
    return mask;
}

static int hold_with_mask(void *arg) {
    (void)arg;
    uint64_t mask = UINT64_C(1) << (SIGUSR2 - 1) | UINT64_C(1) << (SIGRTMAX - 1);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8);
    __atomic_store_n(ready, 1, __ATOMIC_RELEASE);
    return !hold_all(false) ? 1 : signal_mask() != mask ? 2 : 0;
}

static int hold_with_tiles(void *arg) {
    (void)arg;
    __atomic_store_n(ready, 1, __ATOMIC_RELEASE);
    return !hold_all(true);
}

static int hold_on_other_stack(void *arg) {
    (void)arg;
    struct sigaction a = {.sa_handler = hold_in_handler, .sa_flags = SA_ONSTACK};
    uint64_t mask = signal_mask();
    stack_t after;
    sigaction(SIGUSR1, &a, NULL);
    sigaltstack(&other_stack, NULL);
    raise(SIGUSR1);
    sigaltstack(NULL, &after);
    bool same = after.ss_sp == other_stack.ss_sp && after.ss_size == other_stack.ss_size &&
                after.ss_flags == other_stack.ss_flags;
    return !held ? 1 : signal_mask() != mask ? 2 : !same ? 3 : 0;
}

static int pipe_fds[2];

static int in_read(void *arg) {
    (void)arg;
    char c = 0;
    __atomic_store_n(ready, 1, __ATOMIC_RELEASE);
    return read(pipe_fds[0], &c, 1) == 1 && c == 'x' ? 0 : 1;
}

static volatile sig_atomic_t woken;
static void wake(int sig) {
    (void)sig;
    woken = true;
}

/* Only the signal may end the sleep, and the remaining time must be right then. */
static int in_nanosleep(void *arg) {
    enum { SLEEP_S = 1000, NS = 1000000000 };
    (void)arg;
    struct timespec left = {SLEEP_S, 0}, start, end;
    signal(SIGUSR1, wake);
    clock_gettime(CLOCK_MONOTONIC, &start);
    __atomic_store_n(ready, 1, __ATOMIC_RELEASE);
    if (syscall(SYS_nanosleep, &left, &left) != -1 || errno != EINTR || !woken)
        return 1;
    clock_gettime(CLOCK_MONOTONIC, &end);
    int64_t slept = (int64_t)(end.tv_sec - start.tv_sec) * NS + end.tv_nsec - start.tv_nsec;
    return slept + left.tv_sec * NS + left.tv_nsec < (int64_t)SLEEP_S * NS ? 2 : 0;
}

static int in_sigsuspend(void *arg) {
    (void)arg;
    uint64_t usr1 = UINT64_C(1) << (SIGUSR1 - 1), none = 0;
    signal(SIGUSR1, wake);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &usr1, NULL, 8);
    __atomic_store_n(ready, 1, __ATOMIC_RELEASE);
    if (syscall(SYS_rt_sigsuspend, &none, 8) != -1 || errno != EINTR)
        return 1;
    return signal_mask() != usr1;
}

static void end_hold(pid_t pid) {
    static const uint32_t one = 1;
    int fd;
    assert_int_equal(memory_open(pid, &fd, NULL), 0);
    assert_int_equal(memory_write(fd, (taddr_t)&hold_flag, &one, 4, NULL), 0);
    close(fd);
}
static void end_read(pid_t pid) {
    (void)pid;
    assert_int_equal(write(pipe_fds[1], "x", 1), 1);
}
/* A signal that arrives at the moment of the tracer's death may be handled before the thread waits
 * again (doc/LIMITS.md). */
static void wake_from(pid_t pid, long call) {
    child_await_call(pid, call);
    kill(pid, SIGUSR1);
}
static void end_sleep(pid_t pid) { wake_from(pid, SYS_nanosleep); }
static void end_suspend(pid_t pid) { wake_from(pid, SYS_rt_sigsuspend); }

enum { IN_HOLD = -1 }; /* not a system call: the loop of hold.S */

struct target {
    int (*body)(void *);
    long call; /* the system call in which it waits, or IN_HOLD */
    void (*end)(pid_t);
};

/* ---- the tests ---- */

/* Lets the tracer make REQUESTS requests and die; returns whether that was enough. */
static bool survive(const struct target *target, bool series, taddr_t frame, int requests) {
    *ready = 0;
    struct tracing t = {.target = child_start(target->body, NULL),
                        .is_in_place = target->call != IN_HOLD,
                        .frame = frame,
                        .series = series,
                        .requests = requests};
    await_word(ready);
    if (target->call != IN_HOLD)
        child_await_call(t.target, target->call);
    int end = child_end(child_start(trace, &t));
    if (end != CALL_DONE && end != 128 + SIGKILL)
        fail_msg("the tracer ended with %d", end);
    target->end(t.target);
    int status = child_end(t.target);
    if (status)
        fail_msg("killed before request %d: the target ended with %d", requests + 1, status);
    return end == CALL_DONE;
}

static void survive_each(const struct target *target, bool series, taddr_t frame) {
    int requests = 0;
    while (!survive(target, series, frame, requests))
        requests++;
    assert_true(requests > 8); /* they were counted */
}

enum { HANDLER_ROOM = 64 << 10 };

static void survive_all(const struct target *target) {
    const taddr_t room = (taddr_t)shared_new(HANDLER_ROOM + REMOTE_FRAME_BYTES);
    survive_each(target, false, 0);
    survive_each(target, false, room + HANDLER_ROOM);
}

static void running_thread_keeps_registers_and_mask(void **state) {
    (void)state;
    survive_all(&(struct target){hold_with_mask, IN_HOLD, end_hold});
}

static void series_of_calls_ends_alone(void **state) {
    (void)state;
    const taddr_t room = (taddr_t)shared_new(HANDLER_ROOM + REMOTE_FRAME_BYTES);
    survive_each(&(struct target){hold_with_mask, IN_HOLD, end_hold}, true, room + HANDLER_ROOM);
}

static void running_thread_keeps_extended_registers(void **state) {
    (void)state;
    survive_all(&(struct target){hold_with_tiles, IN_HOLD, end_hold});
}

static void thread_on_an_alternate_signal_stack(void **state) {
    (void)state;
    survive_all(&(struct target){hold_on_other_stack, IN_HOLD, end_hold});
}

static void blocked_read_goes_on(void **state) {
    (void)state;
    survive_all(&(struct target){in_read, SYS_read, end_read});
}

static void sleep_of_full_length(void **state) {
    (void)state;
    survive_all(&(struct target){in_nanosleep, SYS_nanosleep, end_sleep});
}

static void signal_wait_ends_with_signal_and_mask(void **state) {
    (void)state;
    survive_all(&(struct target){in_sigsuspend, SYS_rt_sigsuspend, end_suspend});
}

static int setup(void **state) {
    (void)state;
    enum { STACK_BYTES = 1 << 18 };
    other_stack = (stack_t){.ss_sp = mem_alloc(STACK_BYTES), .ss_size = STACK_BYTES};
    ready = shared_new(4096);
    return pipe(pipe_fds);
}

static int teardown(void **state) {
    (void)state;
    free(other_stack.ss_sp);
    return 0;
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("target recovery", tests, setup, teardown);
}
