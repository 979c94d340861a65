/*
 * Uses nearly a gigabyte of program break, wherever the kernel lets it begin. The program has not
 * used the break before.
 */
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "expect.h"

enum { STEPS = 60, STEP_BYTES = 16 << 20 };

static volatile int zero;

static NOINLINE int leaf(int n) { return n * 3 + zero; }

static NOINLINE long grow(void) {
    ENTER;
    uintptr_t end = (uintptr_t)syscall(SYS_brk, 0);
    long steps = 0;
    while (steps < STEPS && (uintptr_t)syscall(SYS_brk, end + STEP_BYTES) == end + STEP_BYTES) {
        end += STEP_BYTES;
        (void)LEAF(leaf, (int)steps++);
    }
    LEAVE;
    return steps;
}

int main(void) {
    ENTER;
    long steps = grow();
    LEAVE;
    printf("%ld steps\n", steps);
    expect_print();
    return 0;
}
