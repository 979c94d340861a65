/*
 * Waits until no process traces it any more. Then it runs more threads than there are lanes, makes
 * children of every kind, and uses a library: fork_children LIBRARY [inside]
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "self_check.h"

enum { THREADS = 100, STACK_BYTES = 256 * 1024, ENOUGH = 100 };

static pthread_barrier_t all_here;
static volatile sig_atomic_t caught;

static int is_traced(void) {
    char line[256];
    int tracer = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, f))
        sscanf(line, "TracerPid: %d", &tracer);
    fclose(f);
    return tracer != 0;
}

/* Enough events to fill each ring many times. */
static void much_work(void) {
    for (int i = 0; i < ENOUGH; i++)
        check_work();
}

static void *work_together(void *arg) {
    (void)arg;
    pthread_barrier_wait(&all_here);
    much_work();
    return NULL;
}

static void have_threads(void) {
    pthread_t all[THREADS];
    pthread_barrier_init(&all_here, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        check(pthread_create(&all[i], NULL, work_together, NULL) == 0, "pthread_create");
    for (int i = 0; i < THREADS; i++)
        pthread_join(all[i], NULL);
}

static void use_library(const char *name) {
    void *handle = dlopen(name, RTLD_NOW);
    check(handle != NULL, "dlopen");
    int (*add)(int, int) = (int (*)(int, int))dlsym(handle, "library_add");
    check(add && add(2, 3) == 9, "the library");
    dlclose(handle);
}

static int child(void *arg) {
    (void)arg;
    much_work();
    return 5;
}

static void expect_end(pid_t pid, int status) {
    int got;
    check(waitpid(pid, &got, __WALL) == pid && WIFEXITED(got), "the end of a child");
    check(WEXITSTATUS(got) == status, "a child's status");
}

static void have_children(char **argv) {
    char *stack = malloc(STACK_BYTES);
    pid_t pid = fork();
    if (pid == 0) {
        use_library(argv[1]);
        _exit(child(NULL));
    }
    expect_end(pid, 5);
    pid = vfork();
    if (pid == 0) {
        execl("/proc/self/exe", argv[0], argv[1], "inside", NULL);
        _exit(1);
    }
    expect_end(pid, RIGHT);
    expect_end(clone(child, stack + STACK_BYTES, SIGCHLD | CLONE_VM, NULL), 5);
    expect_end(clone(child, stack + STACK_BYTES, SIGCHLD, NULL), 5);
    free(stack);
}

static void catch (int sig) {
    (void)sig;
    caught++;
    check_work();
}

int main(int argc, char **argv) {
    check(argc > 1, "usage");
    if (argc > 2)
        return check_work(), RIGHT;
    signal(SIGUSR1, catch);
    check(write(1, "ready\n", 6) == 6, "output");
    while (is_traced())
        check_work();
    much_work();
    raise(SIGUSR1);
    check(caught == 1, "the signal");
    use_library(argv[1]);
    have_threads();
    have_children(argv);
    return right();
}
