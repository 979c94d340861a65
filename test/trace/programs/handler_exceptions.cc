/*
 * Handlers of faults throw exceptions in a coroutine that several threads run in turn. An exception
 * that one thread has caught is rethrown in another. Built with -fnon-call-exceptions.
 */
#include <csignal>
#include <cstdio>
#include <exception>
#include <pthread.h>
#include <ucontext.h>

#include "expect.hpp"

struct Fault {
    int signal;
};

enum { ROUNDS = 5, STACK_BYTES = 1 << 18 };

static unsigned char stack[STACK_BYTES] __attribute__((aligned(16)));
static ucontext_t fiber, home; /* home: the context of the thread whose turn it is */
static std::exception_ptr kept;
static volatile int zero;
static const volatile int *volatile nowhere = reinterpret_cast<const int *>(16);
static int total;

static void on_fault(int signal) {
    expect('>', "on_fault(int)");
    expect('!', "on_fault(int)");
    throw Fault{signal};
}

static NOINLINE void yield() {
    Traced traced("yield()");
    expect_stack(0);
    swapcontext(&fiber, &home);
    expect_stack(EXPECT_SHARED);
}

/* Faults N + 1 calls deep. */
static NOINLINE int dive(int n) {
    Traced traced("dive(int)");
    return n == zero ? *nowhere : dive(n - 1) + 1;
}

static NOINLINE void again() {
    Traced traced("again()");
    std::rethrow_exception(kept);
}

/* Yields after it has left the handlers: caught exceptions belong to the thread. */
static NOINLINE int guarded(int n) {
    Traced traced("guarded(int)");
    try {
        return dive(n);
    } catch (const Fault &) {
        kept = std::current_exception();
    }
    yield();
    try {
        again();
    } catch (const Fault &fault) {
        return fault.signal * (n + 1);
    }
    return 0;
}

static NOINLINE void body() {
    expect_stack(EXPECT_SHARED);
    expect('>', "body()");
    for (int i = 0; i < ROUNDS; i++)
        total += guarded(i);
    expect('<', "body()");
    expect_stack(0);
}

static NOINLINE void resume() {
    Traced traced("resume()");
    swapcontext(&home, &fiber);
}

static void *worker(void *number) {
    expect_thread(*static_cast<int *>(number));
    Traced traced("worker(void*)");
    resume();
    return nullptr;
}

int main() {
    expect('>', "main");
    struct sigaction action = {};
    action.sa_handler = on_fault;
    action.sa_flags = SA_NODEFER;
    sigaction(SIGSEGV, &action, nullptr);
    getcontext(&fiber);
    fiber.uc_stack.ss_sp = stack;
    fiber.uc_stack.ss_size = STACK_BYTES;
    fiber.uc_link = &home;
    makecontext(&fiber, body, 0);
    for (int i = 0; i <= ROUNDS; i++) {
        pthread_t thread;
        if (i % 2 == 0) {
            resume();
            continue;
        }
        pthread_create(&thread, nullptr, worker, &i);
        pthread_join(thread, nullptr);
    }
    std::printf("%d\n", total);
    expect('<', "main");
    expect_print();
    return 0;
}
