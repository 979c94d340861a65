/*
 * A program with XRay's sleds (clang -fxray-instrument). Computes on several threads until standard
 * input ends, checks all results, and prints "right". Prints "ready" when all threads run, "p" when
 * its sleds are patched, and "u" when they are no longer patched.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define UNSEEN __attribute__((xray_never_instrument))
#define NOINLINE __attribute__((noinline))

/* xray/xray_interface.h */
enum { STATUS_SUCCESS = 1 };
int __xray_set_handler(void (*handler)(int32_t function, int kind));
int __xray_patch(void);
int __xray_unpatch(void);

enum { THREADS = 3 };

static _Atomic bool over;
static _Atomic long seen;
static volatile int zero;

UNSEEN static void count(int32_t function, int kind) {
    (void)function, (void)kind;
    seen++;
}

UNSEEN static void require(bool right, const char *what) {
    if (right)
        return;
    printf("wrong: %s\n", what);
    fflush(stdout);
    _exit(1);
}

NOINLINE static long fib(long n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
NOINLINE static long leaf(long n) { return n * 7 + zero; }
NOINLINE static long jumps(long n) { return leaf(n + 1 + zero); }

/* These functions have no room beside their sleds. */
NOINLINE static void empty(void) { __asm__ volatile(""); }
NOINLINE static void early(long n) {
    if (n > 3)
        return;
    leaf(n);
    zero = 0;
}

/* Pages of code in which only sleds are patched. */
#define MORE(n)                                                                                    \
    NOINLINE __attribute__((used)) static void more_##n(void) { __asm__ volatile(""); }
#define MORE_8(n)                                                                                  \
    MORE(n##0) MORE(n##1) MORE(n##2) MORE(n##3) MORE(n##4) MORE(n##5) MORE(n##6) MORE(n##7)
#define MORE_64(n)                                                                                 \
    MORE_8(n##0)                                                                                   \
    MORE_8(n##1) MORE_8(n##2) MORE_8(n##3) MORE_8(n##4) MORE_8(n##5) MORE_8(n##6) MORE_8(n##7)
MORE_64(a)
MORE_64(b)
MORE_64(c)
MORE_64(d)

NOINLINE static void compute(void) {
    require(fib(15) == 610, "fib");
    for (long n = 0; n < 9; n++) {
        require(jumps(n) == (n + 1) * 7, "jumps");
        early(n);
        empty();
    }
}

UNSEEN static void *work(void *unused) {
    while (!over)
        compute();
    return unused;
}

UNSEEN static void answer(char what) {
    long before = seen;
    require((what == 'p' ? __xray_patch() : __xray_unpatch()) == STATUS_SUCCESS, "patched");
    while (what == 'p' && seen == before)
        usleep(1000);
    printf("%c\n", what);
    fflush(stdout);
}

UNSEEN int main(void) {
    pthread_t threads[THREADS];
    __xray_set_handler(count);
    for (int i = 0; i < THREADS; i++)
        require(pthread_create(&threads[i], NULL, work, NULL) == 0, "thread");
    puts("ready");
    fflush(stdout);
    for (char c; read(0, &c, 1) > 0;)
        answer(c);
    over = true;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    puts("right");
    return 0;
}
