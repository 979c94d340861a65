/*
 * Threads hold the locks of malloc and of the dynamic linker until standard input ends. One more
 * thread reads the time from the vDSO, and one computes. Prints "ready" when all of them are at
 * work, and "right" at the end if the time never went back.
 */
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

void *__libc_malloc(size_t size);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int holders, over;
static _Atomic long asked, computed;

/* The C library's malloc, with a lock that a thread can hold. */
void *malloc(size_t size) {
    pthread_mutex_lock(&lock);
    void *p = __libc_malloc(size);
    pthread_mutex_unlock(&lock);
    return p;
}

static void await_end(void) {
    const struct timespec nap = {.tv_nsec = 10000000};
    holders++;
    while (!over)
        nanosleep(&nap, NULL);
}

static void *hold_malloc(void *unused) {
    pthread_mutex_lock(&lock);
    await_end();
    pthread_mutex_unlock(&lock);
    return unused;
}

static int visit(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)info, (void)size, (void)unused;
    await_end();
    return 1;
}

static void *hold_loader(void *unused) {
    dl_iterate_phdr(visit, NULL);
    return unused;
}

__attribute__((noinline)) static bool is_later(const struct timespec *a, const struct timespec *b) {
    return a->tv_sec > b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec > b->tv_nsec);
}

static void *ask_time(void *unused) {
    struct timespec before = {0}, now;
    for (; !over; asked++) {
        if (clock_gettime(CLOCK_MONOTONIC, &now) < 0 || is_later(&before, &now))
            _exit(1);
        before = now;
    }
    return unused;
}

__attribute__((noinline)) static long fib(long n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

static void *compute(void *unused) {
    for (; !over; computed++)
        if (fib(10) != 55)
            _exit(1);
    return unused;
}

int main(void) {
    static void *(*const all[])(void *) = {hold_malloc, hold_loader, ask_time, compute};
    enum { COUNT = sizeof all / sizeof *all, HOLDERS = 2 };
    static char room[BUFSIZ];
    const struct timespec nap = {.tv_nsec = 1000000};
    pthread_t threads[COUNT];
    setvbuf(stdout, room, _IOFBF, sizeof room); /* otherwise stdio would allocate it */
    for (int i = COUNT; i-- > 0;)               /* the threads that hold locks last */
        if (pthread_create(&threads[i], NULL, all[i], NULL) != 0)
            return 1;
    while (holders < HOLDERS || !asked || !computed)
        nanosleep(&nap, NULL);
    puts("ready");
    fflush(stdout);
    for (char c; read(0, &c, 1) != 0;)
        continue;
    over = 1;
    for (int i = 0; i < COUNT; i++)
        pthread_join(threads[i], NULL);
    puts("right");
    return 0;
}
