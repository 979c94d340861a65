/*
 * Six hundred threads exist at the same time. They are more than expect.h keeps marks of, and all
 * do the same, so their calls are printed once.
 */
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 600, STACK_BYTES = 1 << 17 };

#define NOINLINE __attribute__((noinline))

static volatile int zero;
static pthread_barrier_t all_there;

static NOINLINE int leaf(int n) { return n + 1 + zero; }

static NOINLINE long work(int n) { return (n ? work(n - 1) : 1) + leaf(n); }

static NOINLINE void *body(void *argument) {
    long number = (long)argument, sum = work((int)number % 3);
    pthread_barrier_wait(&all_there);
    sum += work((int)(number + 1) % 3);
    return (void *)sum;
}

static inline __attribute__((always_inline)) void tell_work(int thread, int n) {
    for (int i = n; i >= 0; i--)
        printf("|%d > work\n", thread);
    for (int i = 0; i <= n; i++)
        printf("|%d > leaf\n|%d < leaf\n|%d < work\n", thread, thread, thread);
}

int main(void) {
    static pthread_t threads[THREADS];
    pthread_attr_t small;
    long total = 0;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK_BYTES);
    pthread_barrier_init(&all_there, NULL, THREADS);
    for (long i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], &small, body, (void *)(i + 1)) != 0)
            printf("no thread %ld\n", i);
    for (long i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        total += (long)result;
    }
    printf("%ld\n|0 > main\n", total);
    for (int i = 1; i <= THREADS; i++) {
        printf("|%d > body\n", i);
        tell_work(i, i % 3);
        tell_work(i, (i + 1) % 3);
        printf("|%d < body\n", i);
    }
    printf("|0 < main\n");
    return 0;
}
