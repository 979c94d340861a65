/* Uses threads, a library, a child and signals, a little of each: plain LIBRARY */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "self_check.h"

enum { THREADS = 3 };

static volatile sig_atomic_t caught;

static void catch (int sig) {
    (void)sig;
    caught++;
}

static void *thread_work(void *arg) {
    (void)arg;
    check_work();
    return NULL;
}

static void use_library(const char *name) {
    void *handle = dlopen(name, RTLD_NOW);
    check(handle != NULL, "dlopen");
    int (*add)(int, int) = (int (*)(int, int))dlsym(handle, "library_add");
    check(add && add(2, 3) == 9, "the library");
    dlclose(handle);
}

static void have_child(void) {
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        check_work();
        _exit(5);
    }
    check(waitpid(pid, &status, 0) == pid && WIFEXITED(status), "the child's end");
    check(WEXITSTATUS(status) == 5, "the child's status");
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    check(argc == 2, "usage");
    signal(SIGUSR1, catch);
    for (int i = 0; i < THREADS; i++)
        check(pthread_create(&threads[i], NULL, thread_work, NULL) == 0, "pthread_create");
    use_library(argv[1]);
    have_child();
    while (!caught) /* the kernel drops a signal if the tracer is killed before it delivers it */
        raise(SIGUSR1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    check_work();
    return right();
}
