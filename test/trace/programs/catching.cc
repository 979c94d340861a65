/*
 * Exceptions cross the border between a program and its library. A call over the border that an
 * exception leaves has ended, no matter which side catches.
 */
#include <cstdio>

#include "expect.hpp"
#include "thrown.h"

static volatile int total;

#define BEGIN(name) expect('>', "thrown.so!" name "(int)")
#define END(mark, name) expect(mark, "thrown.so!" name "(int)")
#define BEGIN_WITH(name) expect('>', "thrown.so!" name "(int (*)(int), int)")
#define END_WITH(mark, name) expect(mark, "thrown.so!" name "(int (*)(int), int)")

static NOINLINE int quiet(int n) {
    BEGIN("thrown_throw");
    total += thrown_throw(-1 - n);
    END('<', "thrown_throw");
    return n;
}

/* Its frame lies deeper than the frames that were left. */
static NOINLINE int deeper(int n) {
    volatile char room[600];
    room[n] = 0;
    return quiet(n + room[n]);
}

/* If N is negative, the library has caught an exception of this function before. */
static NOINLINE int loud(int n) {
    if (n < 0) {
        END('!', "thrown_throw");
        return deeper(-n);
    }
    quiet(n);
    BEGIN("thrown_throw");
    total += thrown_throw(n);
    return n;
}

static NOINLINE void in_the_program(int n) {
    try {
        BEGIN_WITH("thrown_pass");
        total += thrown_pass(loud, n);
    } catch (int caught) {
        END('!', "thrown_throw");
        END_WITH('!', "thrown_pass");
        total += deeper(caught);
    }
}

static NOINLINE void in_the_library(int n) {
    BEGIN_WITH("thrown_twice");
    total += thrown_twice(loud, n);
    END_WITH('<', "thrown_twice");
}

int main() {
    for (int i = 1; i < 4; i++) {
        in_the_program(i);
        in_the_library(i);
    }
    std::printf("%d\n", total);
    expect_print();
}
