/*
 * A thread waits in the kernel where no tracer can stop it, as if its file system did not answer.
 * Another thread works all the time and checks its results. Prints "ready", obeys the lines of its
 * input, and prints "right" at the end of it.
 *
 *     wait     a thread begins to wait; prints "waits"
 *     go on    the thread goes on; prints "done" when its own work after that is done
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEEP __attribute__((noinline, noclone, noipa))

static int gate[2];
static volatile pid_t waiter;
static volatile int over;

KEEP static long fib(long n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

static void require(int right, const char *what) {
    if (right)
        return;
    printf("wrong: %s\n", what);
    exit(1);
}

static void *work(void *arg) {
    while (!over) {
        require(fib(12) == 144, "fib");
        usleep(500);
    }
    return arg;
}

/* The thread waits as for a child of vfork, but no tracer is informed of the child. The child has a
 * copy of the memory, and ends with the program. */
static void *wait_in_kernel(void *arg) {
    char byte;
    int status;
    waiter = (pid_t)syscall(SYS_gettid);
    long child = syscall(SYS_clone, CLONE_VFORK | CLONE_UNTRACED | SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        syscall(SYS_close, gate[1]);
        syscall(SYS_read, gate[0], &byte, 1);
        syscall(SYS_exit_group, 7);
    }
    require(waitpid((pid_t)child, &status, 0) == child && WEXITSTATUS(status) == 7, "child");
    require(fib(15) == 610, "fib after the wait");
    return arg;
}

static void await_uninterruptible(void) {
    char name[64], line[256];
    const char *state = NULL;
    while (!state || state[2] != 'D') {
        usleep(1000);
        snprintf(name, sizeof name, "/proc/self/task/%d/stat", (int)waiter);
        FILE *f = fopen(name, "r");
        state = f && fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
        if (f)
            fclose(f);
    }
}

int main(void) {
    pthread_t worker, thread;
    char line[64];
    if (pipe(gate) < 0)
        return 2;
    pthread_create(&worker, NULL, work, NULL);
    setvbuf(stdout, NULL, _IOLBF, 0);
    puts("ready");
    while (fgets(line, sizeof line, stdin)) {
        if (strcmp(line, "wait\n") == 0) {
            pthread_create(&thread, NULL, wait_in_kernel, NULL);
            await_uninterruptible();
            puts("waits");
        } else {
            require(write(gate[1], "x", 1) == 1, "write");
            pthread_join(thread, NULL);
            puts("done");
        }
    }
    over = 1;
    pthread_join(worker, NULL);
    puts("right");
    return 0;
}
