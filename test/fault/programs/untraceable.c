/*
 * Children that the kernel keeps from tracers outlive the threads that made them: untraceable
 * LIBRARY
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "self_check.h"

enum { STACK_BYTES = 256 * 1024, MUCH = 300000, STATUS = 9 };

static int ends[2];
static const char *library;

struct untraced_child {
    int flags;
    pid_t pid;
    char stack[STACK_BYTES];
};

__attribute__((noinline)) static int next(int number) { return number + 1; }

/* Makes more events than a ring holds; the thread that made it has ended when it begins. */
static int child(void *unused) {
    char byte;
    volatile int count = 0;
    (void)unused;
    check(read(ends[0], &byte, 1) == 1, "a word from the main thread");
    while (count < MUCH)
        count = next(count);
    void *handle = dlopen(library, RTLD_NOW);
    check(handle != NULL, "dlopen");
    return STATUS;
}

static void *make(void *made) {
    struct untraced_child *untraced_child = made;
    untraced_child->pid = clone(child, untraced_child->stack + STACK_BYTES,
                                untraced_child->flags | CLONE_UNTRACED | SIGCHLD, NULL);
    return NULL;
}

static void outlive(int flags) {
    static struct untraced_child untraced_child;
    pthread_t maker;
    int status;
    untraced_child.flags = flags;
    check(pthread_create(&maker, NULL, make, &untraced_child) == 0, "thread");
    pthread_join(maker, NULL);
    usleep(100000); /* time for spoor to see that; if spoor needs longer, the test shows nothing */
    check(untraced_child.pid > 0 && write(ends[1], "!", 1) == 1, "the child");
    check(waitpid(untraced_child.pid, &status, __WALL) == untraced_child.pid, "its end");
    check(WIFEXITED(status) && WEXITSTATUS(status) == STATUS, "its status");
}

int main(int argc, char **argv) {
    check(argc == 2 && pipe(ends) == 0, "usage");
    library = argv[1];
    check_work();
    outlive(0);
    outlive(CLONE_FILES | CLONE_FS);
    check_work();
    return right();
}
