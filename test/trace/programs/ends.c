/* Ends in each way that a process can end: ends HOW */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "expect.h"

#if defined __aarch64__
#define BREAKPOINT "brk #0"
#define ILLEGAL "udf #0"
#elif defined __arm__
#define BREAKPOINT "udf #1" /* the breakpoint of T32 code */
#define ILLEGAL "udf #0"
#define T32 __attribute__((target("thumb")))
#else
#define BREAKPOINT "int3"
#define ILLEGAL "ud2"
#endif

#ifndef T32
#define T32
#endif

enum { DEFAULT, IGNORED, BLOCKED };

/* A breakpoint ends even a program that ignores or blocks SIGTRAP. */
T32 static NOINLINE void end_by_breakpoint(int number) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTRAP);
    if (number == IGNORED)
        signal(SIGTRAP, SIG_IGN);
    if (number == BLOCKED)
        pthread_sigmask(SIG_BLOCK, &set, NULL);
    __asm__ volatile(BREAKPOINT ::: "memory");
}

static NOINLINE void end(const char *how) {
    char kind = how[0];
    int number = atoi(how + 1);
    if (kind == 'e')
        exit(number);
    if (kind == '_')
        _exit(number);
    if (kind == 's')
        raise(number);
    if (kind == 'a')
        abort();
    if (kind == 'f')
        *(volatile int *)(long)number = 1;
    if (kind == 't')
        __asm__ volatile(ILLEGAL);
    if (kind == 'b')
        end_by_breakpoint(number);
}

static NOINLINE void *body(void *how) {
    end(how);
    return NULL;
}

/* T: the end happens in a thread. p: in a thread, after the first thread has ended. */
int main(int argc, char **argv) {
    if (argc < 2)
        return 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    puts("begins");
    char *how = strdup(argv[1]);
    if (how[0] == 'r')
        return atoi(how + 1);
    if (how[0] != 'T' && how[0] != 'p') {
        end(how);
        return 0;
    }
    pthread_t thread;
    pthread_create(&thread, NULL, body, how + 1);
    if (how[0] == 'p')
        pthread_exit(NULL);
    pthread_join(thread, NULL);
    puts("ends");
    return 0;
}
