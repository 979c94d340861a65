/*
 * The checks that the programs of this folder share. Each program does something that a tracer
 * easily breaks (its first comment names it). It checks itself that all went right, prints "right"
 * and ends with status 42.
 */
#pragma once

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RIGHT = 42 };

/* Calls many functions; the result depends on all of them. */
__attribute__((noinline, unused)) static uint64_t work(unsigned n) {
    return n < 2 ? n : work(n - 1) + work(n - 2);
}
enum { WORK_N = 15, WORK_RESULT = 610 };

static inline void check(int good, const char *what) {
    if (good)
        return;
    fprintf(stderr, "wrong: %s (%s)\n", what, strerror(errno));
    _exit(1);
}

static inline void check_work(void) { check(work(WORK_N) == WORK_RESULT, "work"); }

/* Writes at once: the process may end without exit(). */
static inline int right(void) {
    check(write(1, "right\n", 6) == 6, "output");
    return RIGHT;
}
