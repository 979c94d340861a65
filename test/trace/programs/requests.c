/*
 * Serves requests as the lines of standard input demand, and answers each line when it is done:
 *
 *     fast N     N requests, one after the other
 *     slow MS    one request that takes MS milliseconds
 *     left MS    the same; then longjmp leaves the request
 *     rare N     calls of rare() only
 *     long N     one chore() that makes N short calls, one a millisecond
 *     threads N  N threads that serve 100 fast requests and then wait
 *     ended N    N threads that serve 100 fast requests and end
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "expect.h"

static jmp_buf away;
static volatile unsigned sum;

static NOINLINE unsigned parse(unsigned x) { return x * 2654435761u >> 7; }
static NOINLINE void answer(unsigned x) { sum += x; }
NOINLINE void rare(void) { sum++; }

static NOINLINE unsigned look_up(unsigned key) {
    unsigned found = key;
    for (unsigned i = 0; i < key % 5; i++)
        found += parse(key + i);
    return found;
}

static NOINLINE void crunch(long ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
    sum += look_up(3);
}

static NOINLINE void escape(long ms) {
    crunch(ms);
    longjmp(away, 1);
}

static NOINLINE void work(long n) {
    const struct timespec t = {0, 1000000};
    for (long i = 0; i < n; i++) {
        nanosleep(&t, NULL);
        sum += look_up(3);
    }
}

NOINLINE void chore(long n) {
    work(n);
    sum++; /* no tail call */
}

NOINLINE void request(unsigned number, long ms, int leave) {
    unsigned key = parse(number);
    if (leave)
        escape(ms);
    if (ms)
        crunch(ms);
    answer(look_up(key));
    sum++; /* no tail call */
}

static void serve(unsigned count) {
    for (unsigned i = 0; i < count; i++)
        request(i, 0, 0);
}

static pthread_barrier_t served;

static void *serve_and_wait(void *stay) {
    serve(100);
    if (!stay)
        return NULL;
    pthread_barrier_wait(&served);
    for (struct timespec t = {3600, 0};;)
        nanosleep(&t, NULL);
}

static void start(unsigned count) {
    pthread_t thread;
    pthread_barrier_init(&served, NULL, count + 1);
    for (unsigned i = 0; i < count; i++)
        pthread_create(&thread, NULL, serve_and_wait, &served);
    pthread_barrier_wait(&served);
}

static void start_and_join(unsigned count) {
    pthread_t thread;
    for (unsigned i = 0; i < count; i++) {
        pthread_create(&thread, NULL, serve_and_wait, NULL);
        pthread_join(thread, NULL);
    }
}

static void dispatch(const char *word, long n) {
    if (strcmp(word, "fast") == 0)
        serve((unsigned)n);
    else if (strcmp(word, "slow") == 0)
        request(1, n, 0);
    else if (strcmp(word, "left") == 0 && !setjmp(away))
        request(2, n, 1);
    else if (strcmp(word, "threads") == 0)
        start((unsigned)n);
    else if (strcmp(word, "long") == 0)
        chore(n);
    else if (strcmp(word, "ended") == 0)
        start_and_join((unsigned)n);
    for (long i = 0; strcmp(word, "rare") == 0 && i < n; i++)
        rare();
}

int main(void) {
    char line[64], word[16];
    long n;
    while (fgets(line, sizeof line, stdin) && sscanf(line, "%15s %ld", word, &n) == 2) {
        dispatch(word, n);
        printf("%s", line);
        fflush(stdout);
    }
    return 5;
}
