/*
 * May write at most a page to any file, and then needs shared memory: it has more threads than
 * there are lanes, a child, and a program: file_limits [inside | files]
 *
 * With "files" it also has as many files open as it may have.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "self_check.h"

enum { THREADS = 100, FILES = 64 };

static pthread_barrier_t all_here;

static void *work_together(void *arg) {
    (void)arg;
    pthread_barrier_wait(&all_here);
    check_work();
    return NULL;
}

static void threads(void) {
    pthread_t all[THREADS];
    pthread_barrier_init(&all_here, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        check(pthread_create(&all[i], NULL, work_together, NULL) == 0, "pthread_create");
    for (int i = 0; i < THREADS; i++)
        pthread_join(all[i], NULL);
}

static void open_all(void) {
    struct rlimit files;
    check(getrlimit(RLIMIT_NOFILE, &files) == 0, "getrlimit");
    files.rlim_cur = FILES;
    check(setrlimit(RLIMIT_NOFILE, &files) == 0, "setrlimit");
    while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
        ;
    check(errno == EMFILE, "as many files as it may");
}

int main(int argc, char **argv) {
    struct rlimit page = {4096, 4096};
    int status;
    bool inside = argc > 1 && strcmp(argv[1], "inside") == 0, files = argc > 1 && !inside;
    if (files)
        open_all();
    check(setrlimit(RLIMIT_FSIZE, &page) == 0, "setrlimit");
    signal(SIGXFSZ, SIG_DFL);
    threads();
    if (inside)
        return 7;
    check(!files || (open("/dev/null", O_RDONLY) < 0 && errno == EMFILE), "no file more");
    pid_t pid = fork();
    if (pid == 0) {
        check_work();
        execl("/proc/self/exe", "small", "inside", NULL);
    }
    check(waitpid(pid, &status, 0) == pid && WIFEXITED(status), "the child's end");
    check(WEXITSTATUS(status) == 7, "the child's status");
    return right();
}
