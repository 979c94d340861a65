/*
 * Signal handlers throw exceptions through the signal frame into the function that faulted: at its
 * first instruction, in its middle, in the C library, in threads, again and again. Built with
 * -fnon-call-exceptions.
 */
#include <csignal>
#include <cstdio>
#include <cstring>
#include <thread>

#include "expect.hpp"

struct Fault {
    int signal;
};

using Copy = void *(*)(void *, const void *, std::size_t);

static volatile int zero;
static const int *const nowhere = reinterpret_cast<const int *>(16);
static Copy volatile copy = std::memcpy;

static void on_fault(int signal) {
    expect('>', "on_fault(int)");
    expect('!', "on_fault(int)");
    throw Fault{signal};
}

/* The load is in the window of the entry: the handler must see its original address. */
static NOINLINE int at_once(const int *place) { return *place; }

/* The same, with more code behind the load. */
static NOINLINE int at_first(const int *place) {
    int value = *place;
    expect('>', "at_first(int const*)");
    expect('<', "at_first(int const*)");
    return value + zero;
}

static NOINLINE int in_the_middle(const int *place) {
    Traced traced("in_the_middle(int const*)");
    return *place + zero;
}

static NOINLINE int divide(int a, int b) {
    Traced traced("divide(int, int)");
    return a / b;
}

static NOINLINE int in_library(const int *place) {
    Traced traced("in_library(int const*)");
    int values[16];
    copy(values, place, sizeof values - static_cast<std::size_t>(zero));
    return values[1 + zero];
}

template <typename F> [[gnu::always_inline]] static inline int attempt(F function) {
    try {
        return function();
    } catch (const Fault &fault) {
        return -fault.signal;
    }
}

static NOINLINE int again_and_again() {
    int sum = zero;
    Traced traced("again_and_again()");
    for (int i = 0; i < 5; i++) {
        static const int right[16] = {3, 4, 5};
        const int *place = i % 2 ? right : nowhere;
        sum = sum * 3 + attempt([&] { return in_the_middle(place); });
        sum = sum * 3 + attempt([&] { return divide(12, i % 2); });
    }
    sum = sum * 3 + attempt([] { return in_library(nowhere); });
    return sum;
}

/* Each function faults once, in its last call: then spoor removes the patch of this site. */
static NOINLINE int once_each() {
    static const int right[2] = {6, 7};
    int sum = zero;
    Traced traced("once_each()");
    for (int i = 0; i < 3; i++) {
        expect('>', "at_once(int const*)");
        sum += at_once(right);
        expect('<', "at_once(int const*)");
        sum += at_first(right + 1);
    }
    expect('>', "at_once(int const*)");
    try {
        sum += at_once(nowhere);
        expect('<', "at_once(int const*)");
    } catch (const Fault &fault) {
        expect('!', "at_once(int const*)");
        sum = sum * 100 + fault.signal;
    }
    expect('>', "at_first(int const*)");
    try {
        sum += at_first(nowhere);
    } catch (const Fault &fault) {
        expect('!', "at_first(int const*)");
        sum = sum * 100 + fault.signal;
    }
    return sum;
}

static NOINLINE void body(int number, int *result) {
    expect_thread(number);
    Traced traced("body(int, int*)");
    *result = again_and_again();
}

int main() {
    struct sigaction action = {};
    action.sa_handler = on_fault;
    action.sa_flags = SA_NODEFER; /* the handler never returns, so nothing unblocks the signal */
    sigaction(SIGSEGV, &action, nullptr);
    sigaction(SIGFPE, &action, nullptr);
    {
        Traced traced("main");
        std::printf("%d\n", once_each());
        std::printf("%d\n", again_and_again());
        int results[3];
        {
            std::thread threads[3];
            for (int i = 0; i < 3; i++)
                threads[i] = std::thread(body, i + 1, &results[i]);
            for (auto &thread : threads)
                thread.join();
        }
        for (int result : results)
            std::printf("%d\n", result);
    }
    expect_print();
    return 0;
}
