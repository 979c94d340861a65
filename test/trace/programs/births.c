/*
 * Makes threads and processes by the C library: THREADS threads, a spawned program, and CLONES
 * tasks by clone(), one of which fails. Each thread calls body() first, each task child().
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#define NOINLINE __attribute__((noinline))

enum { THREADS = 3, CLONES = 3, STACK_BYTES = 65536, STATUS = 7 };

extern char **environ;

static volatile int count;

static NOINLINE void *body(void *argument) {
    count++;
    return argument;
}

static NOINLINE int child(void *argument) {
    (void)argument;
    count++;
    return STATUS;
}

static NOINLINE int end_of(pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    return WEXITSTATUS(status);
}

int main(void) {
    char *arguments[] = {"true", NULL}, *stack = malloc(STACK_BYTES);
    pthread_t thread;
    pid_t pid;
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&thread, NULL, body, NULL);
        pthread_join(thread, NULL);
    }
    posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, environ);
    printf("%d\n", end_of(pid));
    for (int i = 1; i < CLONES; i++)
        printf("%d\n", end_of(clone(child, stack + STACK_BYTES, SIGCHLD, NULL)));
    printf("%d\n", clone(NULL, stack + STACK_BYTES, SIGCHLD, NULL));
    printf("%d\n", count);
    return 0;
}
