/*
 * stands loads LIBRARY     main() calls load(), which loads LIBRARY
 * stands calls COUNT       main() calls step() COUNT times
 * stands waits             has threads whose names say what they do; prints a line when all do it
 */
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

__attribute__((noinline)) int load(const char *name) {
    void *library = dlopen(name, RTLD_NOW);
    __asm__ volatile("" : : : "memory");
    return library ? 0 : 1;
}

__attribute__((noinline)) unsigned step(unsigned n) {
    __asm__ volatile("" : "+r"(n));
    return n + 1;
}

static void *computes(void *unused) {
    for (unsigned n = 0;; n = step(n))
        for (volatile int i = 0; i < 1000; i++)
            ;
    return unused;
}

static void *sleeps(void *unused) {
    nanosleep(&(struct timespec){1000, 0}, NULL);
    return unused;
}

static void *polls(void *unused) {
    poll(NULL, 0, 1000000);
    return unused;
}

static void *epolls(void *unused) {
    struct epoll_event event;
    epoll_wait(epoll_create1(0), &event, 1, 1000000);
    return unused;
}

static void *reads(void *unused) {
    int ends[2];
    char byte;
    if (pipe(ends) == 0 && read(ends[0], &byte, 1) == 1)
        abort();
    return unused;
}

static void *locks(void *unused) {
    sem_t never;
    sem_init(&never, 0, 0);
    sem_wait(&never);
    return unused;
}

static void begin(void *(*run)(void *), const char *name) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, NULL) || pthread_setname_np(thread, name))
        abort();
}

static void waits(void) {
    begin(computes, "computes");
    begin(sleeps, "sleeps");
    begin(polls, "polls");
    begin(epolls, "epolls");
    begin(reads, "reads");
    begin(locks, "locks");
    usleep(200000);
    puts("ready");
    fflush(stdout);
    for (;;)
        pause();
}

int main(int argc, char *argv[]) {
    if (argc == 3 && strcmp(argv[1], "loads") == 0)
        return load(argv[2]);
    if (argc != 3 || strcmp(argv[1], "calls") != 0)
        waits();
    unsigned n = 0;
    for (int i = 0; i < atoi(argv[2]); i++)
        n = step(n);
    return n == 0;
}
