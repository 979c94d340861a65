/*
 * Threads that end early, out of deep frames with and without destructors: by pthread_exit, by
 * cancellation while they are blocked (in a read, a condition, a sleep), and by cancellation at any
 * instruction (where unwind tables allow that).
 */
#include <cstdio>
#include <cxxabi.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include "expect.hpp"

enum { CALLS = 5000 };

static volatile int zero;
static int pipe_ends[2];
static int destroyed, caught;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t ready;
static thread_local int number;

struct Guard {
    NOINLINE ~Guard();
};

Guard::~Guard() {
    Traced traced("Guard::~Guard()");
    destroyed++;
}

/* A frame that ends by force has no uncaught exception, so it marks its end itself. */
struct Ended {
    const char *name;
    bool returned = false;
    [[gnu::always_inline]] explicit Ended(const char *function) : name(function) {
        expect('>', name);
    }
    [[gnu::always_inline]] ~Ended() { expect(returned ? '<' : '!', name); }
};

static NOINLINE void in_exit() {
    Ended ended("in_exit()");
    pthread_exit(&number);
}

static NOINLINE void in_read() {
    Ended ended("in_read()");
    char c;
    sem_post(&ready);
    (void)!read(pipe_ends[0], &c, 1);
}

static void unlock(void *) { pthread_mutex_unlock(&mutex); }

static NOINLINE void in_wait() {
    Ended ended("in_wait()");
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(unlock, nullptr);
    sem_post(&ready);
    for (;;)
        pthread_cond_wait(&condition, &mutex);
    pthread_cleanup_pop(0);
}

static NOINLINE void in_sleep() {
    Ended ended("in_sleep()");
    sem_post(&ready);
    for (;;)
        sleep(100);
}

/* A frame that can be left at any instruction may need no cleanup. */
static NOINLINE void run_on() {
    expect('>', "run_on()");
    expect('!', "run_on()");
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
    sem_post(&ready);
    for (volatile unsigned long n = 0;; n++)
        ;
}

static NOINLINE int busy(int n) { return n * 3 + zero; }
static NOINLINE int busy_caller(int n) { return busy(n) ^ busy(n + 1); }

/* The same, in and out of traced functions; the number of calls is unknown. */
static NOINLINE void call_on() {
    expect('>', "call_on()");
    expect('!', "call_on()");
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
    sem_post(&ready);
    for (int i = 0, n = 0; i < CALLS; i++)
        n = busy_caller(n);
    for (;;)
        pause();
}

static void (*const ways[])() = {in_exit, in_read, in_wait, in_sleep, run_on, call_on};
enum { WAYS = sizeof ways / sizeof *ways, AT_ANY_INSTRUCTION = 2 };
/* Arm's unwind tables (.ARM.exidx) describe frames at calls only. A thread that ends elsewhere is
 * unwound only if its frame happens to look like that. With GCC for AArch64 without optimization
 * one run of thirty ends by SIGSEGV for this reason, untraced. */
#if defined __ARM_EABI__ || (defined __aarch64__ && !defined __OPTIMIZE__)
enum { THREADS = WAYS - AT_ANY_INSTRUCTION };
#else
enum { THREADS = WAYS + 5 };
#endif

static NOINLINE void dive(int depth) {
    Ended ended("dive(int)");
    Guard guard;
    if (depth > 0)
        dive(depth - 1);
    else
        ways[number < WAYS ? number - 1 : WAYS - 1]();
    ended.returned = true;
}

/* A handler of all exceptions must rethrow the forced unwind. */
static NOINLINE void pass_on() {
    Ended ended("pass_on()");
    try {
        dive(3);
    } catch (const abi::__forced_unwind &) {
        caught++;
        throw;
    } catch (...) {
        std::puts("an exception, of all things");
    }
    ended.returned = true;
}

static void *body(void *argument) {
    number = *static_cast<int *>(argument);
    expect_thread(number);
    Ended ended("body(void*)");
    pass_on();
    ended.returned = true;
    return nullptr;
}

static NOINLINE void end_one(int way) {
    Traced traced("end_one(int)");
    pthread_t thread;
    void *result;
    pthread_create(&thread, nullptr, body, &way);
    if (way > 1) {
        sem_wait(&ready);
        pthread_cancel(thread);
    }
    pthread_join(thread, &result);
    std::printf("%d: %s\n", way, result == PTHREAD_CANCELED ? "cancelled" : "by itself");
}

int main() {
    {
        Traced traced("main");
        (void)!pipe(pipe_ends);
        sem_init(&ready, 0, 0);
        for (int way = 1; way <= THREADS; way++)
            end_one(way);
        std::printf("%d %d\n", destroyed, caught);
    }
    expect_print();
    return 0;
}
