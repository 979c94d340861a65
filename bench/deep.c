/*
 * Calls a function that does nothing, with as many others open as the first argument says and as
 * often as the second does. Prints the processor time that a call takes, in nanoseconds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

__attribute__((noinline)) static void leaf(void) { __asm__ volatile(""); }

__attribute__((noinline)) static void descend(long depth, long calls) {
    char local[64];
    memset(local, (int)depth, sizeof local);
    __asm__ volatile("" ::"r"(local) : "memory");
    if (depth > 0) {
        descend(depth - 1, calls);
    } else {
        double start = now_ns();
        for (long i = 0; i < calls; i++)
            leaf();
        printf("%.2f\n", (now_ns() - start) / (double)calls);
    }
    __asm__ volatile("" ::"r"(local) : "memory");
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    descend(atol(argv[1]), atol(argv[2]));
    return 0;
}
