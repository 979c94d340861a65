/*
 * Works with threads, a timer's handler and a library, and obeys the lines of standard input:
 * long_running LIBRARY
 *
 *     q   pauses, without the library, and prints "quiet"
 *     w   works on, with a timer, and prints "works"
 *     f   makes a child that works by itself, and prints its id; all children end at e
 *     e   ends
 */
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "self_check.h"

enum { THREADS = 3, TICK_US = 2000, LONG_HANDLER = 50 };

static atomic_int quiet, still, over, ticks;
static const char *library;

static void tick(int sig) {
    (void)sig;
    check_work();
    if (++ticks % LONG_HANDLER == 0)
        usleep(20 * 1000);
}

static void timer(int us) {
    struct itimerval t = {{0, us}, {0, us}};
    setitimer(ITIMER_REAL, &t, NULL);
}

static void *thread_work(void *arg) {
    while (!over) {
        check_work();
        if (!quiet)
            continue;
        still++;
        while (quiet)
            usleep(1000);
        still--;
    }
    return arg;
}

static void use_library(void) {
    void *handle = dlopen(library, RTLD_NOW);
    check(handle != NULL, "dlopen");
    int (*add)(int, int) = (int (*)(int, int))dlsym(handle, "library_add");
    check(add && add(2, 3) == 9, "the library");
    dlclose(handle);
}

static void say(const char *what) {
    check(write(1, what, strlen(what)) == (ssize_t)strlen(what), "output");
}

/* The next command; 0: none yet; 'e' at the end of input. */
static char command(int wait) {
    struct pollfd in = {0, POLLIN, 0};
    char c;
    int n;
    do
        n = poll(&in, 1, wait ? -1 : 0);
    while (n < 0 && errno == EINTR);
    if (n == 0)
        return 0;
    return read(0, &c, 1) == 1 ? c : 'e';
}

static void pause_work(void) {
    timer(0);
    quiet = 1;
    while (still < THREADS)
        usleep(1000);
    say("quiet\n");
}

static void work_on(void) {
    quiet = 0;
    while (still)
        usleep(1000);
    timer(TICK_US);
    while (ticks < 3)
        check_work();
    say("works\n");
}

/* The child ends when the pipe's write end, which only its parent has, is closed. */
static void have_child(void) {
    static int pipes[2];
    char text[32];
    if (!pipes[1])
        check(pipe(pipes) == 0, "pipe");
    pid_t pid = fork();
    check(pid >= 0, "fork");
    if (pid) {
        snprintf(text, sizeof text, "%d\n", pid);
        say(text);
        return;
    }
    close(pipes[1]);
    struct pollfd end = {pipes[0], 0, 0};
    timer(TICK_US);
    while (poll(&end, 1, 0) <= 0)
        use_library();
    _exit(0);
}

static void end(pthread_t *threads) {
    over = 1;
    quiet = 0;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    timer(0);
    check_work();
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    check(argc == 2, "usage");
    library = argv[1];
    signal(SIGALRM, tick);
    signal(SIGCHLD, SIG_IGN);
    for (int i = 0; i < THREADS; i++)
        check(pthread_create(&threads[i], NULL, thread_work, NULL) == 0, "pthread_create");
    say("ready\n");
    for (char c; (c = command(quiet)) != 'e';) {
        if (c == 'q')
            pause_work();
        if (c == 'w')
            work_on();
        if (c == 'f')
            have_child();
        if (!quiet)
            use_library();
    }
    end(threads);
    return right();
}
