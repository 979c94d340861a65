/*
 * Signals interrupt handlers of each other and of themselves (SA_NODEFER), on alternate stacks, in
 * several threads. Timers send them, threads send them to each other, and to threads of a stopped
 * process. Each queued signal is handled once.
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "self_check.h"

enum { THREADS = 3, EACH = 400, MOST_DEPTH = 4, STACK_BYTES = 256 * 1024 };

static __thread volatile int depth;
static __thread volatile unsigned queued;
static volatile int alarms, masked, storm;
static pthread_t threads[THREADS];
static pthread_barrier_t all_here;

/* Rearms the timer while the test runs. */
static void next_alarm(void) {
    struct itimerval soon = {.it_value = {0, 300}};
    if (storm)
        setitimer(ITIMER_REAL, &soon, NULL);
}

/* Interrupts everything, itself included, up to a maximum depth: it may run for longer than the
 * alarm interval. */
static void on_alarm(int sig) {
    sigset_t mask;
    bool deeper = ++depth < MOST_DEPTH;
    (void)sig;
    __atomic_fetch_add(&alarms, 1, __ATOMIC_SEQ_CST);
    if (deeper) {
        next_alarm();
        raise(SIGALRM);
    }
    check(work(6) == 8, "work in a handler");
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    check(!sigismember(&mask, SIGALRM), "the mask of SA_NODEFER");
    depth--;
}

/* SIGALRM does not interrupt it, but stays pending. */
static void on_queue(int sig, siginfo_t *info, void *context) {
    int before = depth;
    (void)sig;
    (void)context;
    check((unsigned)info->si_value.sival_int == queued, "values in order");
    check(work(7) == 13, "work in a handler");
    check(depth == before, "masked signals wait");
    queued++;
    __atomic_fetch_add(&masked, 1, __ATOMIC_SEQ_CST);
}

/* Receives signals from its neighbour, and sends them to the next thread. */
static void *exchange(void *arg) {
    size_t me = (size_t)arg;
    stack_t stack = {.ss_sp = malloc(STACK_BYTES), .ss_size = STACK_BYTES};
    check(sigaltstack(&stack, NULL) == 0, "sigaltstack");
    pthread_barrier_wait(&all_here);
    for (int i = 0; i < EACH; i++) {
        union sigval value = {.sival_int = i};
        while (pthread_sigqueue(threads[(me + 1) % THREADS], SIGRTMIN, value) == EAGAIN)
            ;
        check_work();
    }
    while (queued < EACH)
        check_work();
    pthread_barrier_wait(&all_here);
    return NULL;
}

static void exchange_all(void) {
    struct itimerval never = {{0, 0}, {0, 0}};
    pthread_barrier_init(&all_here, NULL, THREADS);
    storm = true;
    next_alarm();
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, exchange, (void *)i);
    for (; masked < THREADS * EACH; usleep(1000))
        next_alarm(); /* needed if the last one was too deep for another */
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    storm = false;
    setitimer(ITIMER_REAL, &never, NULL);
    check(masked == THREADS * EACH && alarms > 0, "all signals are handled");
}

/* ---- signals to threads of a stopped process ---- */

static struct {
    volatile pid_t tids[THREADS];
    volatile int got[THREADS], there;
} * shared;
static __thread size_t my_number;

static void on_user(int sig) {
    (void)sig;
    shared->got[my_number]++;
}

static void *run(void *arg) {
    my_number = (size_t)arg;
    shared->tids[my_number] = (pid_t)syscall(SYS_gettid);
    __atomic_fetch_add(&shared->there, 1, __ATOMIC_SEQ_CST);
    while (!shared->got[my_number])
        check_work();
    return NULL;
}

static void run_all(void) {
    signal(SIGUSR1, on_user);
    for (size_t i = 1; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run, (void *)i);
    run(NULL);
    for (size_t i = 1; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    _exit(4);
}

static void stopped_threads(void) {
    int status;
    pid_t pid = fork();
    if (pid == 0)
        run_all();
    while (shared->there < THREADS)
        usleep(1000);
    kill(pid, SIGSTOP);
    check(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status), "the stop");
    for (size_t i = 0; i < THREADS; i++) {
        syscall(SYS_tgkill, pid, shared->tids[i], SIGUSR1);
        syscall(SYS_tgkill, pid, shared->tids[i], SIGUSR1); /* sent together with the first */
    }
    for (size_t i = 0; i < THREADS; i++)
        check(!shared->got[i], "nothing runs in a stopped process");
    kill(pid, SIGCONT);
    check(waitpid(pid, &status, 0) == pid && WIFEXITED(status), "the end");
    check(WEXITSTATUS(status) == 4, "the status");
    for (size_t i = 0; i < THREADS; i++)
        check(shared->got[i] == 1, "each thread has got its signal");
}

int main(void) {
    struct sigaction alarm = {.sa_handler = on_alarm,
                              .sa_flags = SA_NODEFER | SA_RESTART | SA_ONSTACK};
    struct sigaction queue = {.sa_sigaction = on_queue,
                              .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    sigaddset(&queue.sa_mask, SIGALRM);
    sigaction(SIGALRM, &alarm, NULL);
    sigaction(SIGRTMIN, &queue, NULL);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    exchange_all();
    stopped_threads();
    return right();
}
