/* Kills a process while it forks. Each child that was made must run to its end. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "self_check.h"

enum { ROUNDS = 40 };

static void fork_for_ever(void) {
    for (;;) {
        pid_t pid = fork();
        if (pid == 0) {
            check_work();
            _exit(7);
        }
        while (pid > 0 && waitpid(-1, NULL, WNOHANG) > 0)
            ;
    }
}

/* Waits for all children that this process has now: the killed one, and the orphans. */
static void await_all(pid_t killed) {
    int status;
    for (pid_t pid; (pid = wait(&status)) > 0;) {
        if (pid == killed)
            check(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "the end of the killed");
        else
            check(WIFEXITED(status) && WEXITSTATUS(status) == 7, "the end of an orphan");
    }
}

int main(void) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (int i = 0; i < ROUNDS; i++) {
        pid_t pid = fork();
        if (pid == 0)
            fork_for_ever();
        usleep((useconds_t)(1000 + i * 113));
        kill(pid, SIGKILL);
        await_all(pid);
    }
    return right();
}
