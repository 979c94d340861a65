/*
 * The program of the page's test: two threads besides main, calls of known counts, recursion, and
 * functions whose names page.py replaces by hostile ones of the same length.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <time.h>

#define KEEP __attribute__((noinline, noclone, used))

KEEP static void rest_for(long ns) {
    struct timespec begun, now;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begun.tv_sec) * 1000000000L + now.tv_nsec - begun.tv_nsec < ns);
}

KEEP static void name_with_markup_xxxxxxxxxxxxxxxxxxxx(void) { rest_for(300000); }

KEEP static void name_with_quotes_xxxxxxxxxxxxx(void) { rest_for(100000); }

KEEP static void name_with_newline_xxxxxxxxxxxx(void) { rest_for(100000); }

KEEP static void name_with_bytes_xxxxxxxxxxxxxx(void) { rest_for(100000); }

KEEP static int leaf(int n) {
    volatile int sum = n;
    for (int i = 0; i < 20; i++)
        sum += i;
    return sum;
}

KEEP static int recursive(int depth) {
    return depth == 0 ? leaf(1) : recursive(depth - 1) + leaf(depth);
}

KEEP static void many(void) {
    for (int i = 0; i < 1000; i++)
        leaf(i);
}

KEEP static void long_one(void) {
    rest_for(20000000);
    name_with_markup_xxxxxxxxxxxxxxxxxxxx();
    name_with_quotes_xxxxxxxxxxxxx();
    name_with_newline_xxxxxxxxxxxx();
    name_with_bytes_xxxxxxxxxxxxxx();
}

static void *worker(void *name) {
    pthread_setname_np(pthread_self(), name);
    for (int i = 0; i < 4; i++) {
        many();
        recursive(5);
        rest_for(1000000);
    }
    return 0;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, worker, "<b>bold</b>");
    pthread_create(&threads[1], 0, worker, "worker two");
    long_one();
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}
