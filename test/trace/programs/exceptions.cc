/*
 * Exceptions: through frames with and without cleanups, caught and rethrown, kept and thrown later,
 * in a loop from one place, out of constructors, and in threads.
 */
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>

#include "expect.hpp"

static volatile int zero;

struct Guard {
    explicit Guard(int n) : number(n) {}
    NOINLINE ~Guard();
    int number;
    static thread_local int sum;
};
thread_local int Guard::sum;

Guard::~Guard() {
    expect('>', "Guard::~Guard()");
    sum += number;
    expect('<', "Guard::~Guard()");
}

static NOINLINE int leaf(int n) { return n + zero; }

static int call_leaf(int n) __attribute__((always_inline));
static inline int call_leaf(int n) {
    expect('>', "leaf(int)");
    int result = leaf(n);
    expect('<', "leaf(int)");
    return result;
}

static NOINLINE void thrower(int n) {
    Traced traced("thrower(int)");
    if (n % 3 == 0)
        throw std::runtime_error("three");
    if (n % 3 == 1)
        throw n;
}

/* Has no cleanup of its own: its caller marks its end. */
static NOINLINE int bare(int n) {
    expect('>', "bare(int)");
    thrower(n);
    int result = call_leaf(n) + 1;
    expect('<', "bare(int)");
    return result;
}

static NOINLINE int with_guard(int n) {
    Traced traced("with_guard(int)");
    Guard guard(n);
    if (n % 3 != 2)
        thrower(n);
    return call_leaf(n);
}

static NOINLINE int rethrows(int n) {
    Traced traced("rethrows(int)");
    try {
        return with_guard(n);
    } catch (...) {
        call_leaf(1);
        throw;
    }
}

static NOINLINE int catches_bare(int n) {
    Traced traced("catches_bare(int)");
    try {
        return bare(n);
    } catch (...) {
        expect('!', "bare(int)");
        return call_leaf(n);
    }
}

static NOINLINE int catches(int n) {
    Traced traced("catches(int)");
    try {
        return rethrows(n);
    } catch (const std::exception &e) {
        return call_leaf(static_cast<int>(std::string(e.what()).size()));
    } catch (int code) {
        return call_leaf(code * 100);
    }
}

/* The frame that is left has the same stack pointer each time. */
static NOINLINE int in_a_loop() {
    int caught = zero;
    Traced traced("in_a_loop()");
    for (int i = 0; i < 6; i++) {
        try {
            thrower(i);
        } catch (...) {
            caught++;
        }
    }
    return caught;
}

static NOINLINE int keeps() {
    Traced traced("keeps()");
    std::exception_ptr kept;
    try {
        thrower(3);
    } catch (...) {
        kept = std::current_exception();
    }
    call_leaf(2);
    try {
        std::rethrow_exception(kept);
    } catch (const std::runtime_error &e) {
        return call_leaf(e.what()[0]);
    }
}

static NOINLINE int while_unwinding() {
    int other = zero;
    Traced traced("while_unwinding()");
    struct Cleaner {
        [[gnu::always_inline]] ~Cleaner() { in_a_loop(); }
    };
    try {
        Cleaner cleaner;
        thrower(1);
    } catch (int n) {
        return n;
    }
    return other;
}

static NOINLINE int everything() {
    Traced traced("everything()");
    int sum = 0;
    for (int n = 0; n < 7; n++)
        sum += catches(n) + catches_bare(n);
    sum += in_a_loop() * 1000;
    sum += keeps();
    sum += while_unwinding();
    return sum;
}

static NOINLINE void body(int number, int *result) {
    expect_thread(number);
    Traced traced("body(int, int*)");
    *result = everything();
}

int main() {
    {
        Traced traced("main");
        std::printf("%d\n", everything());
        std::printf("%d\n", Guard::sum);
        int results[4];
        {
            std::thread threads[4];
            for (int i = 0; i < 4; i++)
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
