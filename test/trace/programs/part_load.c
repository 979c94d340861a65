/* Threads that make many calls, and processes that are forked meanwhile: THREADS ROUNDS CHILDREN.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile int sink;

static NOINLINE void leaf(int n) { sink = n; }

static NOINLINE void round_of_calls(void) {
    for (int i = 0; i < 2000; i++)
        leaf(i);
    sink = 0;
}

static NOINLINE void *worker(void *rounds) {
    for (long i = 0; i < (long)rounds; i++)
        round_of_calls();
    sink = 0;
    return NULL;
}

static NOINLINE void in_child(void) { sink = 1; }

static NOINLINE void child(void) {
    in_child();
    usleep(300 * 1000);
    in_child();
    _exit(0);
}

int main(int argc, char **argv) {
    long threads = argc > 1 ? atol(argv[1]) : 1, rounds = argc > 2 ? atol(argv[2]) : 1;
    long children = argc > 3 ? atol(argv[3]) : 0;
    pthread_t *list = calloc((size_t)threads, sizeof *list);
    for (long i = 0; i < threads; i++)
        pthread_create(&list[i], NULL, worker, (void *)rounds);
    for (long i = 0; i < children; i++) {
        usleep(20 * 1000);
        if (fork() == 0)
            child();
    }
    for (long i = 0; i < threads; i++)
        pthread_join(list[i], NULL);
    while (wait(NULL) > 0)
        ;
    free(list);
    return 0;
}
