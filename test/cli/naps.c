/* Two threads that call functions for three seconds, some of which sleep. */
#include <pthread.h>
#include <unistd.h>

enum { ROUNDS = 60 };
#define NOINLINE __attribute__((noinline))

static volatile int sum;
NOINLINE void leaf(int i) { sum = sum * 3 + i; }
NOINLINE void nap(int us) { usleep((useconds_t)us); }
NOINLINE void work(int i) {
    leaf(i);
    nap(i % 7 == 0 ? 300000 : 5000);
    leaf(i + 1);
}

static void *run(void *first) {
    for (int i = 0; i < ROUNDS; i++)
        work(i + *(int *)first);
    return NULL;
}

int main(void) {
    int other = 3, own = 0;
    pthread_t thread;
    pthread_create(&thread, NULL, run, &other);
    run(&own);
    return pthread_join(thread, NULL);
}
