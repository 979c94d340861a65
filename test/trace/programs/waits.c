/*
 * Threads wait in system calls that the kernel does not restart after a stop. Meanwhile libraries
 * are loaded and unloaded, threads are born and processes fork. No wait may end early or with
 * EINTR.
 */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "expect.h"

enum { WAIT_MS = 400 };

static const struct timespec wait_time = {0, WAIT_MS * 1000000L};

static NOINLINE int in_epoll(void) {
    struct epoll_event event;
    int fd = epoll_create1(0), result = epoll_wait(fd, &event, 1, WAIT_MS), error = errno;
    close(fd);
    return result < 0 ? error : result;
}

static NOINLINE int in_sigtimedwait(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    return sigtimedwait(&set, NULL, &wait_time) < 0 ? errno : 0;
}

static NOINLINE int in_poll(void) {
    int result = poll(NULL, 0, WAIT_MS);
    return result < 0 ? errno : result;
}

static NOINLINE int in_select(void) {
    struct timeval time = {0, WAIT_MS * 1000L};
    int result = select(0, NULL, NULL, NULL, &time);
    return result < 0 ? errno : result;
}

static NOINLINE int in_nanosleep(void) { return nanosleep(&wait_time, NULL) < 0 ? errno : 0; }

static NOINLINE int in_recv(void) {
    int ends[2];
    char c;
    struct timeval time = {0, WAIT_MS * 1000L};
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
    int error = recv(ends[0], &c, 1, 0) < 0 ? errno : 0;
    close(ends[0]);
    close(ends[1]);
    return error;
}

static NOINLINE int in_semtimedop(void) {
    struct sembuf take = {0, -1, 0};
    int id = semget(IPC_PRIVATE, 1, 0600), error = 0;
    if (semtimedop(id, &take, 1, &wait_time) < 0)
        error = errno;
    semctl(id, 0, IPC_RMID);
    return error;
}

static NOINLINE int in_sem_timedwait(void) {
    sem_t sem;
    struct timespec until;
    sem_init(&sem, 0, 0);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += wait_time.tv_nsec;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    return sem_timedwait(&sem, &until) < 0 ? errno : 0;
}

static struct waiter {
    const char *name;
    int (*wait)(void);
    int result;
    double seconds;
} waiters[] = {
    {"epoll_wait", in_epoll, 0, 0},
    {"sigtimedwait", in_sigtimedwait, 0, 0},
    {"poll", in_poll, 0, 0},
    {"select", in_select, 0, 0},
    {"nanosleep", in_nanosleep, 0, 0},
    {"recv", in_recv, 0, 0},
    {"semtimedop", in_semtimedop, 0, 0},
    {"sem_timedwait", in_sem_timedwait, 0, 0},
};
enum { WAITERS = sizeof waiters / sizeof *waiters };

static void *body(void *argument) {
    struct waiter *w = argument;
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    w->result = w->wait();
    clock_gettime(CLOCK_MONOTONIC, &end);
    w->seconds = (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
    return NULL;
}

static void *nothing(void *argument) { return argument; }

static void disturb(const char *library) {
    struct timespec pause = {0, 2000000};
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        nanosleep(&pause, NULL);
        void *handle = dlopen(library, RTLD_NOW);
        pthread_create(&thread, NULL, nothing, NULL);
        pid_t child = fork();
        if (child == 0)
            _exit(0);
        waitpid(child, NULL, 0);
        pthread_join(thread, NULL);
        if (handle)
            dlclose(handle);
    }
}

int main(int argc, char **argv) {
    pthread_t threads[WAITERS];
    sigset_t set;
    if (argc < 2)
        return 2;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    for (int i = 0; i < WAITERS; i++)
        pthread_create(&threads[i], NULL, body, &waiters[i]);
    disturb(argv[1]);
    for (int i = 0; i < WAITERS; i++) {
        pthread_join(threads[i], NULL);
        printf("%s: %s, %s\n", waiters[i].name, strerror(waiters[i].result),
               waiters[i].seconds < WAIT_MS * 0.99e-3 ? "early" : "in time");
    }
    printf("calls: in_poll 1\ncalls: nothing 20\n");
    return 0;
}
