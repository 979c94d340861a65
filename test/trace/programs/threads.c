/* Two hundred short threads, eight at a time. Some end by pthread_exit from a deep frame. */
#include <pthread.h>
#include <stdio.h>

#include "expect.h"

enum { THREADS = 200, AT_ONCE = 8 };

static volatile int zero;

static NOINLINE int leaf(int n) { return n + 1 + zero; }

static NOINLINE long work(int n) {
    ENTER;
    long sum = n ? work(n - 1) : 0;
    sum += LEAF(leaf, n);
    LEAVE;
    return sum;
}

static NOINLINE void leave(int n, void *result) {
    ENTER;
    if (n == zero) {
        expect_all("! leave", "! leave", "! leave", "! body", NULL);
        pthread_exit(result);
    }
    leave(n - 1, result);
    (void)LEAF(leaf, n);
    LEAVE;
}

static NOINLINE void *body(void *argument) {
    long number = (long)argument;
    expect_thread((int)number);
    ENTER;
    long sum = work((int)number % 7);
    if (number % 10 == 0)
        leave(2, (void *)sum);
    LEAVE;
    return (void *)sum;
}

int main(void) {
    pthread_t threads[AT_ONCE];
    long total = 0;
    ENTER;
    for (long i = 1; i <= THREADS; i += AT_ONCE) {
        for (long k = 0; k < AT_ONCE; k++)
            pthread_create(&threads[k], NULL, body, (void *)(i + k));
        for (int k = 0; k < AT_ONCE; k++) {
            void *result;
            pthread_join(threads[k], &result);
            total += (long)result;
        }
    }
    printf("%ld\n", total);
    LEAVE;
    expect_print();
    return 0;
}
