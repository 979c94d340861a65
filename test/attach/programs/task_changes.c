/*
 * Prints "ready", computes on several threads until standard input ends, and prints "right". When a
 * byte comes through the pipe "now", a thread changes once which tasks exist:
 *
 *     task_changes exec       the first thread executes this program again
 *     task_changes takeover   another thread does
 *     task_changes fork       makes a child; vfork: and waits until the child has ended
 *     task_changes thread     makes a thread
 *     task_changes end        a thread ends; first: the first thread ends
 *     task_changes exit       the process ends, with status 7
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STATUS = 7, VFORK_MS = 30 };

static _Atomic bool over;
static char **arguments;

__attribute__((noinline)) static void require(bool right, const char *what) {
    if (right)
        return;
    printf("wrong: %s\n", what);
    fflush(stdout);
    _exit(1);
}

__attribute__((noinline)) static long fib(long n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

static void *computing(void *unused) {
    while (!over)
        require(fib(10) == 55, "fib");
    return unused;
}

static pthread_t start(void *(*function)(void *)) {
    pthread_t thread;
    require(pthread_create(&thread, NULL, function, NULL) == 0, "thread");
    return thread;
}

/* From then on the libraries that the C library loads for pthread_exit() stay loaded. */
static void *leaving(void *unused) {
    pthread_exit(unused);
    return unused;
}

/* Ends the process: all other threads stop. */
static void *watching(void *unused) {
    for (char c; read(0, &c, 1) != 0;)
        continue;
    over = true;
    require(fib(10) == 55, "fib");
    puts("right");
    exit(0);
    return unused;
}

static void await(pid_t child) {
    int status;
    require(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
                WEXITSTATUS(status) == STATUS,
            "child");
}

static void await_now(void) {
    char byte;
    int now = open("now", O_RDWR | O_CLOEXEC);
    require(now >= 0 && read(now, &byte, 1) == 1, "now");
}

static void begin_again(void) {
    char *const words[] = {arguments[0], arguments[1], "again", NULL};
    execv("/proc/self/exe", words);
    require(false, "executed");
}

static void make_child(void) {
    pid_t child = fork();
    if (child == 0)
        _exit(fib(10) == 55 ? STATUS : 1);
    await(child);
}

static void make_child_and_wait(void) {
    pid_t child = vfork();
    if (child == 0) {
        poll(NULL, 0, VFORK_MS);
        _exit(STATUS);
    }
    await(child);
}

static void *act(void *unused) {
    const char *what = arguments[1];
    await_now();
    if (strcmp(what, "exec") == 0 || strcmp(what, "takeover") == 0)
        begin_again();
    else if (strcmp(what, "fork") == 0)
        make_child();
    else if (strcmp(what, "vfork") == 0)
        make_child_and_wait();
    else if (strcmp(what, "thread") == 0)
        start(computing);
    else if (strcmp(what, "exit") == 0)
        _exit(STATUS);
    else if (strcmp(what, "first") == 0)
        pthread_exit(NULL);
    return unused;
}

int main(int argc, char **argv) {
    require(argc > 1, "arguments");
    arguments = argv;
    bool another = strcmp(argv[1], "takeover") == 0 || strcmp(argv[1], "end") == 0;
    pthread_join(start(leaving), NULL);
    start(watching);
    start(computing);
    start(computing);
    if (argc == 2 && another)
        start(act);
    puts("ready");
    fflush(stdout);
    if (argc == 2 && !another)
        act(NULL);
    for (;;)
        pause();
}
