/*
 * Repeats one kind of work on several threads until standard input ends, and checks all results.
 * Prints "ready" when all threads run, and "right" at the end.
 *
 *     busy compute|locked|wait|births|signals|forks|loads [LIBRARY]
 */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 4, SIZE = 200 };

/* Builds with APART put half of the code into the section FAR_TEXT, out of reach of jumps. */
#ifdef APART
#define FAR __attribute__((noinline, section("far_text")))
#else
#define FAR
#endif

static _Atomic bool over;
static const char *library;

__attribute__((noinline)) static void require(bool right, const char *what) {
    if (right)
        return;
    printf("wrong: %s: %s\n", what, strerror(errno));
    fflush(stdout);
    _exit(1);
}

/* ---- compute: values in all kinds of registers, recursion, many small functions ---- */

FAR __attribute__((noinline)) static long fib(long n) {
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}
__attribute__((noinline)) static double mean(const double *v, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += v[i];
    return sum / n;
}
static int ascending(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

FAR static void compute(void) {
    double values[SIZE];
    int order[SIZE];
    char text[64];
    for (int i = 0; i < SIZE; i++)
        values[i] = i, order[i] = (i * 37) % SIZE;
    qsort(order, SIZE, sizeof *order, ascending);
    for (int i = 0; i < SIZE; i++)
        require(order[i] == i, "sorted");
    require(fib(15) == 610, "fib");
    require(mean(values, SIZE) == (SIZE - 1) / 2.0, "mean");
    snprintf(text, sizeof text, "%.3f %s %ld", 1.5, "x", fib(10));
    require(strcmp(text, "1.500 x 55") == 0, "printed");
}

static void *computing(void *unused) {
    while (!over)
        compute();
    return unused;
}

/* ---- wait: system calls that a stop must not end ---- */

static long ms_since(const struct timespec *begin) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - begin->tv_sec) * 1000 + (now.tv_nsec - begin->tv_nsec) / 1000000;
}

static void *sleeping(void *unused) {
    const struct timespec nap = {.tv_nsec = 150000000};
    while (!over) {
        struct timespec begin;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        require(nanosleep(&nap, NULL) == 0 && ms_since(&begin) >= 150, "slept");
    }
    return unused;
}

FAR static void *polling(void *unused) {
    int ends[2];
    require(pipe(ends) == 0, "pipe");
    struct pollfd fd = {.fd = ends[0], .events = POLLIN};
    while (!over)
        require(poll(&fd, 1, 150) == 0, "polled");
    return unused;
}

static void *epolling(void *unused) {
    struct epoll_event event;
    int fd = epoll_create1(0);
    while (!over)
        require(epoll_wait(fd, &event, 1, 150) == 0, "epolled");
    return unused;
}

static void *awaiting_signal(void *unused) {
    const struct timespec patience = {.tv_nsec = 150000000};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    while (!over)
        require(sigtimedwait(&set, NULL, &patience) < 0 && errno == EAGAIN, "waited for a signal");
    return unused;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void *awaiting_condition(void *unused) {
    pthread_mutex_lock(&lock);
    while (!over) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 150000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        require(pthread_cond_timedwait(&condition, &lock, &until) == ETIMEDOUT, "waited");
    }
    pthread_mutex_unlock(&lock);
    return unused;
}

/* ---- births: threads that begin and end all the time ---- */

FAR static void *one_computation(void *unused) {
    compute();
    return unused;
}

FAR static void *creating_threads(void *unused) {
    while (!over) {
        pthread_t threads[4];
        for (int i = 0; i < 4; i++)
            require(pthread_create(&threads[i], NULL, one_computation, NULL) == 0, "thread");
        for (int i = 0; i < 4; i++)
            require(pthread_join(threads[i], NULL) == 0, "joined");
    }
    return unused;
}

/* ---- signals: handlers at any instruction, some of which run for long ---- */

static _Atomic long ticks;

FAR static void on_alarm(int sig) {
    int before = errno;
    (void)sig;
    ticks += fib(5) == 5;
    errno = before;
}

/* Most of the time the interrupted code waits for the end of this handler. */
static void on_nap(int sig) {
    const struct timespec nap = {.tv_nsec = 20000000};
    (void)sig;
    for (int i = 0; i < 5; i++)
        nanosleep(&nap, NULL);
}

static void *computing_at_length(void *arg) {
    while (!over)
        compute();
    return arg;
}

FAR static void *napping(void *arg) {
    pthread_t victim = *(pthread_t *)arg;
    const struct timespec nap = {.tv_nsec = 3000000};
    while (!over) {
        pthread_kill(victim, SIGUSR1);
        nanosleep(&nap, NULL);
    }
    return NULL;
}

static void start_signals(pthread_t *threads) {
    struct sigaction alarm = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct sigaction nap = {.sa_handler = on_nap, .sa_flags = SA_RESTART};
    struct itimerval timer = {{0, 500}, {0, 500}};
    sigaction(SIGALRM, &alarm, NULL);
    sigaction(SIGUSR1, &nap, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, computing_at_length, NULL);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[2 + i], NULL, napping, &threads[i]);
    while (!ticks)
        usleep(1000);
}

/* ---- forks ---- */

FAR static void *forking(void *unused) {
    while (!over) {
        pid_t child = fork();
        if (child == 0) {
            compute();
            _exit(7);
        }
        int status;
        require(child > 0 && waitpid(child, &status, 0) == child, "forked");
        require(WIFEXITED(status) && WEXITSTATUS(status) == 7, "child's status");
    }
    return unused;
}

/* ---- loads ---- */

static void *loading(void *unused) {
    while (!over) {
        void *handle = dlopen(library, RTLD_NOW);
        require(handle != NULL, "loaded");
        require(dlclose(handle) == 0, "unloaded");
    }
    return unused;
}

/* The kernel does not drop locked pages. */
static void lock_code(void) {
    extern const char __executable_start[], etext[];
    require(mlock(__executable_start, (size_t)(etext - __executable_start)) == 0, "mlock");
}

struct kind {
    const char *name;
    void *(*work[WORKERS + 1])(void *);
};

static const struct kind kinds[] = {
    {"compute", {computing, computing, computing}},
    {"locked", {computing, computing, computing}},
    {"wait", {sleeping, polling, epolling, awaiting_signal, awaiting_condition}},
    {"births", {creating_threads, creating_threads}},
    {"signals", {NULL}},
    {"forks", {forking, computing}},
    {"loads", {loading, computing}},
};

int main(int argc, char **argv) {
    pthread_t threads[WORKERS + 1];
    const struct kind *kind = kinds;
    size_t count = 0;
    sigset_t set;
    library = argc > 2 ? argv[2] : NULL;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    while (strcmp(kind->name, argv[1]) != 0)
        kind++;
    if (strcmp(kind->name, "locked") == 0)
        lock_code();
    for (; count <= WORKERS && kind->work[count]; count++)
        require(pthread_create(&threads[count], NULL, kind->work[count], NULL) == 0, "thread");
    if (!count) {
        start_signals(threads);
        count = 4;
    }
    printf("ready\n");
    fflush(stdout);
    for (char c; read(0, &c, 1) != 0;)
        require(errno != EINTR || strcmp(kind->name, "signals") == 0, "read");
    over = true;
    for (size_t i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    require(strcmp(kind->name, "signals") != 0 || ticks > 0, "ticks");
    printf("right\n");
    return 0;
}
