/*
 * Is not dumpable (PR_SET_DUMPABLE): runs more threads than there are lanes, loads a library, makes
 * children, and gets signals all the time: not_dumpable LIBRARY
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "maps.h"
#include "self_check.h"

enum { THREADS = 100, SAMPLES = 200 };

static pthread_barrier_t all_here;
static volatile int samples;

static void *work_together(void *arg) {
    (void)arg;
    pthread_barrier_wait(&all_here);
    check_work();
    return NULL;
}

static void sample(int sig, siginfo_t *info, void *context) {
    (void)sig;
    (void)info;
    check(maps_is_code(maps_place(context).pc), "the pc that is sampled");
    samples++;
}

static void work_under_signals(void) {
    struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    for (setitimer(ITIMER_REAL, &often, NULL); samples < SAMPLES;)
        check_work();
    setitimer(ITIMER_REAL, &never, NULL);
}

static void check_hidden(void) { check(prctl(PR_GET_DUMPABLE) == 0, "PR_GET_DUMPABLE"); }

static void have_child(int (*live)(const char *), const char *library) {
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(live(library));
    check(waitpid(pid, &status, 0) == pid && WIFEXITED(status), "the end of a child");
    check(WEXITSTATUS(status) == 7, "a child's status");
    check_hidden();
}

static int live(const char *library) {
    check_hidden();
    work_under_signals();
    void *handle = dlopen(library, RTLD_NOW);
    int (*add)(int, int) = (int (*)(int, int))dlsym(handle, "library_add");
    check(add && add(2, 3) == 9, "the library");
    dlclose(handle);
    check_hidden();
    return 7;
}

static int live_on(const char *library) {
    have_child(live, library);
    return live(library);
}

static int exec_shell(const char *library) {
    (void)library;
    execl("/bin/sh", "sh", "-c", "exit 7", NULL);
    return 1;
}

int main(int argc, char **argv) {
    struct sigaction action = {.sa_sigaction = sample, .sa_flags = SA_SIGINFO | SA_RESTART};
    pthread_t threads[THREADS];
    check(argc == 2, "usage");
    sigaction(SIGALRM, &action, NULL);
    pthread_barrier_init(&all_here, NULL, THREADS);
    maps_read_code();
    prctl(PR_SET_DUMPABLE, 0);
    for (int i = 0; i < THREADS; i++)
        check(pthread_create(&threads[i], NULL, work_together, NULL) == 0, "pthread_create");
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    live(argv[1]);
    have_child(live, argv[1]);
    have_child(live_on, argv[1]);
    have_child(exec_shell, argv[1]);
    return right();
}
