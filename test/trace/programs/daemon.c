/*
 * The first process ends at once. Its grandchild, in a session of its own, works on. So do forty
 * children that the grandchild's threads make.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

enum { THREADS = 4, CHILDREN = 10 };

static volatile int zero;
static int ends[2];

static NOINLINE int leaf(int n) { return n + 2 + zero; }

static NOINLINE void *make_children(void *argument) {
    long failures = 0;
    (void)argument;
    for (int i = 0; i < CHILDREN; i++) {
        int status = -1;
        pid_t child = fork();
        if (child == 0)
            _exit(leaf(i));
        waitpid(child, &status, 0);
        failures += WEXITSTATUS(status) != i + 2;
    }
    return (void *)failures;
}

static NOINLINE long live(void) {
    pthread_t threads[THREADS];
    long failures = 0;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, make_children, NULL);
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        failures += (long)result;
    }
    return failures;
}

int main(void) {
    char c;
    if (pipe(ends) != 0)
        return 1;
    if (fork() != 0)
        _exit(21);
    setsid();
    if (fork() != 0)
        _exit(22);
    close(ends[1]);
    while (read(ends[0], &c, 1) > 0) /* until its parents have ended */
        ;
    printf("failures %ld\n", live());
    printf("calls: leaf %d\ncalls: make_children %d\ncalls: live 1\n", THREADS * CHILDREN, THREADS);
    return 23;
}
