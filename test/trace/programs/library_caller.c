/*
 * Calls functions of a library in all possible ways; the library also calls them itself. Only the
 * program's own calls are expected, with the library's name before the function's.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "called_library.h"
#include "expect.h"

#define CALL(name, call)                                                                           \
    (expect('>', "called_library.so!" name), total += (call),                                      \
     expect('<', "called_library.so!" name))
#define TAIL_CALL(name, target, call)                                                              \
    (expect_all("> called_library.so!" name, "< called_library.so!" name,                          \
                "> called_library.so!" target, NULL),                                              \
     total += (call), expect('<', "called_library.so!" target))

static volatile int total;
static called_function *volatile pointer = called_leaf;
static called_function *const table[] = {called_leaf, called_work};
static jmp_buf place;

/* The library's own calls of called_leaf are not expected. */
static void directly(void) {
    for (int i = 0; i < 5; i++)
        CALL("called_leaf", called_leaf(i));
    CALL("called_work", called_work(100));
    total += called_bad(6); /* not traced */
    CALL("called_old", called_old(1));
    CALL("called_sum", (int)called_sum(3, 0.5, 1.5, 2.25));
    CALL("called_pick", called_pick(2)); /* a library has its function by another name */
    TAIL_CALL("called_tail", "called_leaf", called_tail(4));
    if (called_nowhere)
        total += called_nowhere(1);
}

static void through_pointers(void) {
    CALL("called_leaf", pointer(7));
    CALL("called_leaf", table[0](8));
    CALL("called_work", table[1](9));
    CALL("called_back", called_back(called_leaf, 50));
    expect('>', "called_library.so!called_table");
    called_function *const *functions = called_table();
    expect('<', "called_library.so!called_table");
    total += functions[0](3); /* the program does not import it */
    CALL("called_leaf", functions[1](3));
}

static NOINLINE int callback(int n) {
    CALL("called_leaf", called_leaf(n));
    return n;
}

/* Calls by the callback are children of the library call, which lasts until the callback returns.
 */
static void inside(void) {
    CALL("called_inside", called_inside(callback, 3));
    CALL("called_leaf", called_leaf(1));
}

static NOINLINE int jumping(int n) {
    CALL("called_leaf", called_leaf(n));
    longjmp(place, 1);
}

static NOINLINE int deeper(int n) {
    volatile char room[400];
    room[n] = 0;
    CALL("called_leaf", called_leaf(n + room[n]));
    return n + 1;
}

static void back_and_forth(void) {
    inside();
    CALL("called_back", called_back(callback, 3));
    if (!setjmp(place)) {
        expect('>', "called_library.so!called_back");
        called_back(jumping, 3);
    }
    expect('!', "called_library.so!called_back");
    total += deeper(1);
}

static void handle(int sig) { CALL("called_leaf", called_leaf(sig)); }

static void *run(void *arg) {
    expect_thread(*(int *)arg);
    for (int i = 0; i < 10; i++)
        CALL("called_work", called_work(i));
    return NULL;
}

static void in_other_threads_and_processes(void) {
    static int numbers[] = {1, 2};
    pthread_t threads[2];
    signal(SIGUSR1, handle);
    raise(SIGUSR1);
    for (int i = 0; i < 2; i++) {
        pthread_create(&threads[i], NULL, run, &numbers[i]);
        pthread_join(threads[i], NULL);
    }
    fflush(stdout);
    if (fork() == 0) {
        expect_forget(3);
        CALL("called_leaf", called_leaf(1));
        expect_print();
        fflush(stdout);
        _exit(0);
    }
    wait(NULL);
}

int main(void) {
    directly();
    through_pointers();
    back_and_forth();
    in_other_threads_and_processes();
    printf("%d\n", total);
    expect_print();
    return 0;
}
