/*
 * Threads that only call functions: only_calls THREADS DEPTH LAPS [FILE]
 *
 * At its end it prints, or writes to FILE, a number that depends on each call, and the numbers of
 * calls.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "expect.h"

static volatile int zero;
static int depth, laps;

static NOINLINE unsigned leaf(unsigned n) { return n * 2654435761u + (unsigned)zero; }

static NOINLINE unsigned tree(unsigned n, int levels) {
    if (levels == 0)
        return leaf(n);
    unsigned left = tree(n * 2, levels - 1), right = tree(n * 2 + 1, levels - 1);
    return (left * 31) ^ (right >> 1);
}

static void *body(void *argument) {
    unsigned *value = argument, sum = 0;
    for (int i = 0; i < laps; i++)
        sum = sum * 17 + tree(*value + (unsigned)i, depth);
    *value = sum;
    return NULL;
}

int main(int argc, char **argv) {
    if (argc < 4)
        return 2;
    int count = atoi(argv[1]);
    depth = atoi(argv[2]);
    laps = atoi(argv[3]);
    pthread_t threads[64];
    unsigned values[64], sum = 0;
    for (int i = 0; i < count && i < 64; i++) {
        values[i] = (unsigned)i * 1000;
        pthread_create(&threads[i], NULL, body, &values[i]);
    }
    for (int i = 0; i < count && i < 64; i++) {
        pthread_join(threads[i], NULL);
        sum = sum * 13 + values[i];
    }
    FILE *out = argc > 4 ? fopen(argv[4], "w") : stdout;
    if (!out)
        return 3;
    long leaves = (1L << depth) * laps * count;
    fprintf(out, "%u\ncalls: leaf %ld\ncalls: tree %ld\ncalls: body %d\n", sum, leaves,
            2 * leaves - (long)laps * count, count);
    return fclose(out) == 0 ? 0 : 4;
}
