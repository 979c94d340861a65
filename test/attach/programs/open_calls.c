/*
 * Has known calls open when spoor attaches. Prints "ready"; when standard input ends it returns
 * from all of them and prints "right".
 *
 *     nested   waits inside calls in five threads: in a recursion, in a handler on its thread's
 *              stack, in one on an alternate stack, in a coroutine, in a thread's first function
 *     turns    calls without end: leaves, recursion, tail calls, large frames
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#define KEEP __attribute__((noinline, noclone, noipa))
enum { STACK = 65536, THREADS = 5 };

static int gate[2];
static pthread_barrier_t all_stand;
static volatile long sum;

/* Waits until the gate is closed. */
KEEP static void stand(void) {
    char byte;
    pthread_barrier_wait(&all_stand);
    while (read(gate[0], &byte, 1) > 0)
        continue;
    sum++;
}

KEEP static void recurse(int n) {
    char room[32 + n * 40];
    memset(room, n, sizeof room);
    if (n)
        recurse(n - 1);
    else
        stand();
    sum += room[n];
}

KEEP static void on_signal(int sig) {
    recurse(1);
    sum += sig;
}

KEEP static void interrupted(bool other_stack) {
    stack_t own = {.ss_sp = malloc(STACK), .ss_size = STACK};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = other_stack ? SA_ONSTACK : 0};
    sigaltstack(&own, NULL);
    sigaction(other_stack ? SIGUSR1 : SIGUSR2, &action, NULL);
    raise(other_stack ? SIGUSR1 : SIGUSR2);
    sum++;
}

static ucontext_t back, coroutine;
KEEP static void routine(void) {
    recurse(2);
    sum++;
}

KEEP static void switches(void) {
    getcontext(&coroutine);
    coroutine.uc_stack.ss_sp = malloc(STACK);
    coroutine.uc_stack.ss_size = STACK;
    coroutine.uc_link = &back;
    makecontext(&coroutine, routine, 0);
    swapcontext(&back, &coroutine);
    sum++;
}

KEEP static void *handles(void *arg) {
    interrupted(false);
    return arg;
}
KEEP static void *handles_apart(void *arg) {
    interrupted(true);
    return arg;
}
KEEP static void *changes_stack(void *arg) {
    switches();
    return arg;
}
KEEP static void *stands(void *arg) {
    stand();
    return arg;
}

static void wait_for_end(void) {
    char byte;
    while (read(0, &byte, 1) > 0)
        continue;
}

/* Closes the gate when all threads wait there and standard input has ended. */
static void *opens(void *arg) {
    pthread_barrier_wait(&all_stand);
    puts("ready");
    fflush(stdout);
    wait_for_end();
    close(gate[1]);
    return arg;
}

static void nested(void) {
    static void *(*const bodies[THREADS])(void *) = {handles, handles_apart, changes_stack, stands,
                                                     opens};
    pthread_t threads[THREADS];
    pthread_barrier_init(&all_stand, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, bodies[i], NULL);
    recurse(5);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* ---- turns ---- */

KEEP static long leaf(long x) { return x * 3 + sum; }
KEEP static long after(long x) { return leaf(x + 1) + 1; }
KEEP static long tail(long x) {
    sum++;
    return after(x);
}
KEEP static long large(long x) {
    char room[5000];
    memset(room, (int)x, sizeof room);
    return room[x % 5000] + leaf(x);
}
KEEP static long down(long n) { return n ? down(n - 1) + leaf(n) : tail(n); }
KEEP static long turn(long x) { return down(x % 9) + large(x & 1023) + tail(x); }

KEEP static void turns(void) {
    struct pollfd in = {.fd = 0, .events = POLLIN};
    puts("ready");
    fflush(stdout);
    for (long i = 0; i % 4096 || !poll(&in, 1, 0); i++)
        sum += turn(i);
}

int main(int argc, char **argv) {
    if (argc != 2 || pipe(gate))
        return 2;
    if (strcmp(argv[1], "nested") == 0)
        nested();
    else
        turns();
    puts("right");
    return 0;
}
