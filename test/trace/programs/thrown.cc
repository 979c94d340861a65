/* The library of catching.cc: exceptions begin in it, pass through it and end in it. */
#include "thrown.h"
#include "expect.hpp"

static volatile int zero;

int thrown_throw(int n) {
    if (n >= zero)
        throw n;
    return n;
}

int thrown_pass(thrown_function *function, int n) { return function(n) + zero; }

NOINLINE static int try_once(thrown_function *function, int n) {
    try {
        return function(n) + zero;
    } catch (int caught) {
        return caught + zero;
    }
}

NOINLINE static int again(thrown_function *function, int n) {
    volatile char room[300];
    room[n & 255] = 0;
    return function(n + room[n & 255]) + zero;
}

int thrown_twice(thrown_function *function, int n) {
    int first = try_once(function, n);
    return first + again(function, -n);
}
