/*
 * After a catch and after setjmp's second return, an untraced library calls functions back. Their
 * frames lie deeper than the frames that were left. They must not count as called by the functions
 * that were left.
 */
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "expect.hpp"

static volatile int zero;
static jmp_buf back;

/* qsort of two elements compares once. */
static int compare(const void *a, const void *b) {
    Traced traced("compare(void const*, void const*)");
    return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

[[gnu::always_inline]] static inline int sort() {
    int numbers[2] = {2 + zero, 1};
    qsort(numbers, 2, sizeof *numbers, compare);
    return numbers[0];
}

static NOINLINE void thrower() {
    Traced traced("thrower()");
    if (!zero)
        throw std::runtime_error("thrown");
}

static NOINLINE int catches() {
    int result = zero;
    Traced traced("catches()");
    for (int i = 0; i < 3; i++) {
        try {
            thrower();
        } catch (const std::exception &) {
            result += sort();
        }
    }
    return result;
}

static NOINLINE void jumper() {
    expect('>', "jumper()");
    expect('!', "jumper()");
    if (!zero)
        longjmp(back, 3);
}

static NOINLINE int returns_twice() {
    volatile int result = zero;
    expect('>', "returns_twice()");
    if (setjmp(back) == 0)
        jumper();
    else
        result = sort();
    expect('<', "returns_twice()");
    return result;
}

int main() {
    {
        Traced traced("main");
        std::printf("%d\n", catches());
        std::printf("%d\n", returns_twice());
    }
    expect_print();
    return 0;
}
