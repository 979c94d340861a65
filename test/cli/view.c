/* The program of view.py: two threads, calls of known counts, recursion. view.py replaces the names
 * that begin with hostile_ by others of the same length. LONG_NAME is set by view.py. */
#include <pthread.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile unsigned sum;

NOINLINE void leaf(unsigned i) { sum = sum * 3 + i; }
NOINLINE void hostile_quotes_and_markup(unsigned i) { leaf(i); }
NOINLINE void hostile_newline_and_bytes(unsigned i) { leaf(i); }
NOINLINE void LONG_NAME(unsigned i) { leaf(i); }

__attribute__((used)) NOINLINE void never_called(unsigned i) { leaf(i); }

NOINLINE unsigned fib(unsigned n) {
    sum = sum + n;
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

NOINLINE void work(unsigned i) {
    leaf(i);
    hostile_quotes_and_markup(i);
    hostile_newline_and_bytes(i);
    LONG_NAME(i);
    sum = sum + fib(i % 12);
}

static void *run(void *rounds) {
    for (unsigned i = 0; i < *(unsigned *)rounds; i++)
        work(i);
    return NULL;
}

int main(int argc, char **argv) {
    unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 100, other = rounds / 2;
    pthread_t thread;
    pthread_create(&thread, NULL, run, &other);
    run(&rounds);
    return pthread_join(thread, NULL);
}
