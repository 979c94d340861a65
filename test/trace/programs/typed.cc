/*
 * Calls through pointers of the right and of a wrong type. Clang's -fsanitize=function reads the
 * first bytes of the called function, and reports a wrong type.
 */
#include <cstdio>

#include "expect.hpp"

static volatile int zero;

static NOINLINE int leaf(int n) { return n + zero; }

static NOINLINE int typed() {
    expect('>', "typed()");
    expect('>', "leaf(int)");
    int n = leaf(4);
    expect('<', "leaf(int)");
    expect('<', "typed()");
    return n;
}

int main() {
    expect('>', "main");
    int (*volatile right)() = typed;
    long (*volatile wrong)() = (long (*)())(void *)typed;
    std::printf("%d ", right());
    std::printf("%d\n", (int)wrong());
    expect('<', "main");
    expect_print();
    return 0;
}
