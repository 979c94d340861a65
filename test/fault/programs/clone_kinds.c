/*
 * Makes children by every kind of clone() while another thread loads libraries: clone_kinds LIBRARY
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include "self_check.h"

enum { ROUNDS = 10, STACK_BYTES = 256 * 1024 };

extern char **environ;
static volatile int ended;
static int shared;

static void *load(void *library) {
    while (!ended) {
        void *handle = dlopen(library, RTLD_NOW);
        check(handle != NULL, "dlopen");
        dlclose(handle);
        usleep(500);
    }
    return NULL;
}

static int child(void *arg) {
    (void)arg;
    check_work();
    shared++;
    return 9;
}

static void expect_end(pid_t pid, int status) {
    int got;
    check(waitpid(pid, &got, __WALL) == pid && WIFEXITED(got), "the end of a child");
    check(WEXITSTATUS(got) == status, "a child's status");
}

static void clone_child(int flags, int shares) {
    char *stack = malloc(STACK_BYTES);
    int before = shared;
    pid_t pid = clone(child, stack + STACK_BYTES, flags | SIGCHLD, NULL);
    check(pid > 0, "clone");
    expect_end(pid, 9);
    check(shared == before + shares, "what a child has changed");
    free(stack);
}

static void spawn_true(void) {
    char *argv[] = {"true", NULL};
    pid_t pid;
    check(posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ) == 0, "posix_spawn");
    expect_end(pid, 0);
}

static void vfork_true(void) {
    pid_t pid = vfork();
    if (pid == 0) {
        execl("/bin/true", "true", NULL);
        _exit(1);
    }
    expect_end(pid, 0);
}

static void vfork_exit(void) {
    pid_t pid = vfork();
    if (pid == 0)
        _exit(5);
    expect_end(pid, 5);
}

int main(int argc, char **argv) {
    pthread_t loader;
    check(argc == 2, "usage");
    pthread_create(&loader, NULL, load, argv[1]);
    for (int i = 0; i < ROUNDS; i++) {
        clone_child(0, 0);
        clone_child(CLONE_VFORK, 0);
        clone_child(CLONE_VM, 1);
        clone_child(CLONE_VM | CLONE_VFORK, 1);
        clone_child(CLONE_FILES | CLONE_FS, 0);
        spawn_true();
        vfork_true();
        vfork_exit();
        check_work();
    }
    ended = 1;
    pthread_join(loader, NULL);
    return right();
}
