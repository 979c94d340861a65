/* Is stopped and continued again and again while it loads libraries: stopped_job LIBRARY */
#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>

#include "self_check.h"

enum { STOPS = 200 };

static void stop_and_continue(pid_t pid) {
    for (int i = 0; i < STOPS; i++) {
        kill(pid, i % 2 ? SIGSTOP : SIGTSTP);
        usleep((useconds_t)(i * 17 % 500));
        kill(pid, SIGCONT);
        usleep((useconds_t)(i * 29 % 500));
    }
    _exit(0);
}

int main(int argc, char **argv) {
    pid_t me = getpid(), stopper = fork();
    check(argc == 2, "usage");
    if (stopper == 0)
        stop_and_continue(me);
    int status;
    while (waitpid(stopper, &status, WNOHANG) == 0) {
        void *handle = dlopen(argv[1], RTLD_NOW);
        check(handle != NULL, "dlopen");
        check_work();
        dlclose(handle);
    }
    check(status == 0, "the stopper");
    return right();
}
