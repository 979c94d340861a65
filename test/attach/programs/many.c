/*
 * Has many threads, or much memory, and computes until standard input ends. Checks all results.
 * Prints "ready" when all of it runs, and "right" at the end.
 *
 *     many births RATE      threads that are created and end, RATE a second
 *     many forks COUNT      children of its only thread, COUNT at a time
 *     many threads COUNT    COUNT threads that compute and rest in turn
 *     many megabytes COUNT  COUNT megabytes, all written, which one thread reads
 *
 * If births fall behind RATE, the program catches up later. It prints how many threads it made.
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 10, SECOND_NS = 1000000000, PAGE = 4096 };

static _Atomic bool over;
static _Atomic long done;

__attribute__((noinline)) static void require(bool right, const char *what) {
    if (right)
        return;
    printf("wrong: %s\n", what);
    fflush(stdout);
    _Exit(1);
}

__attribute__((noinline)) static long fib(long n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

__attribute__((noinline)) static void *live(void *number) {
    long n = (long)(intptr_t)number % 10;
    require(fib(n + 2) == fib(n) + fib(n + 1), "fib");
    done++;
    return number;
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * SECOND_NS + now.tv_nsec;
}

static void rest_ns(int64_t ns) {
    const struct timespec nap = {.tv_sec = ns / SECOND_NS, .tv_nsec = ns % SECOND_NS};
    if (ns > 0)
        nanosleep(&nap, NULL);
}

static void create_batch(long number) {
    pthread_t threads[BATCH];
    void *result;
    for (long i = 0; i < BATCH; i++)
        require(pthread_create(&threads[i], NULL, live, (void *)(intptr_t)(number + i)) == 0,
                "created");
    for (long i = 0; i < BATCH; i++)
        require(pthread_join(threads[i], &result) == 0 && (intptr_t)result == number + i, "joined");
}

static void *births(void *rate) {
    int64_t begin = now_ns();
    for (long n = 0; !over; n += BATCH) {
        create_batch(n);
        rest_ns(begin + (int64_t)SECOND_NS * (n + BATCH) / (intptr_t)rate - now_ns());
    }
    return NULL;
}

static void *work(void *number) {
    for (intptr_t i = (intptr_t)number; !over; i++) {
        live((void *)i);
        rest_ns(i % 4 * 500000);
    }
    return number;
}

static void threads(long count) {
    pthread_t thread;
    for (long i = 0; i < count; i++)
        require(pthread_create(&thread, NULL, work, (void *)(intptr_t)i) == 0, "created");
}

__attribute__((noinline)) static bool holds(const uint32_t *page, uint32_t number) {
    return page[0] == number && page[PAGE / sizeof *page - 1] == ~number;
}

struct memory {
    uint32_t *at;
    uint32_t pages;
};

static void *read_all(void *argument) {
    const struct memory *m = argument;
    while (!over)
        for (uint32_t i = 0; i < m->pages && !over; i++) {
            require(holds(m->at + (size_t)i * PAGE / sizeof *m->at, i), "memory");
            done++;
        }
    return NULL;
}

static void *fill(long megabytes) {
    static struct memory m;
    m.pages = (uint32_t)(megabytes << 20) / PAGE;
    m.at = malloc((size_t)m.pages * PAGE);
    require(m.at, "memory");
    for (uint32_t i = 0; i < m.pages; i++) {
        uint32_t *page = m.at + (size_t)i * PAGE / sizeof *page;
        page[0] = i;
        page[PAGE / sizeof *page - 1] = ~i;
    }
    return &m;
}

/* Makes COUNT children at a time, which end at once, until INPUT is readable. */
static void forks(long count, struct pollfd *input) {
    pid_t children[BATCH];
    int status, ready = 0;
    for (; ready == 0; done += count) {
        for (long i = 0; i < count; i++) {
            children[i] = fork();
            require(children[i] >= 0, "fork");
            if (children[i] == 0)
                _Exit((int)fib(6));
        }
        for (long i = 0; i < count; i++)
            require(waitpid(children[i], &status, 0) == children[i] && WIFEXITED(status) &&
                        WEXITSTATUS(status) == 8,
                    "child");
        ready = poll(input, 1, 0);
        require(ready >= 0, "poll");
    }
}

int main(int argc, char **argv) {
    struct pollfd input = {.fd = 0, .events = POLLIN};
    long count = argc == 3 ? atol(argv[2]) : 0;
    int64_t begin = now_ns();
    pthread_t thread;
    require(count > 0, "arguments");
    if (strcmp(argv[1], "births") == 0)
        pthread_create(&thread, NULL, births, (void *)(intptr_t)count);
    else if (strcmp(argv[1], "megabytes") == 0)
        pthread_create(&thread, NULL, read_all, fill(count));
    else if (strcmp(argv[1], "threads") == 0)
        threads(count);
    puts("ready");
    fflush(stdout);
    if (strcmp(argv[1], "forks") == 0)
        forks(count < BATCH ? count : BATCH, &input);
    while (poll(&input, 1, -1) <= 0)
        ;
    over = true;
    require(done > 0, "nothing was done");
    if (strcmp(argv[1], "births") == 0)
        printf("%ld of %ld threads a second\n",
               (long)(done * (int64_t)SECOND_NS / (now_ns() - begin)), count);
    puts("right");
    fflush(stdout);
    _Exit(0);
}
