/*
 * Kills each of its children, which execute this program again, a moment after they begin. The kill
 * thus hits a tracer at each step of its work on a new process.
 */
#include <signal.h>
#include <sys/wait.h>

#include "self_check.h"

enum { CHILDREN = 100, MOST_US = 60000 };

static void spin(void) {
    for (;;)
        check_work();
}

int main(int argc, char **argv) {
    if (argc > 1)
        spin();
    srand(1);
    for (int i = 0; i < CHILDREN; i++) {
        pid_t child = fork();
        if (child == 0)
            execl("/proc/self/exe", argv[0], "child", NULL);
        usleep((useconds_t)(rand() % MOST_US));
        int status;
        check(kill(child, SIGKILL) == 0 && waitpid(child, &status, 0) == child, "a child");
        check(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "a child's end");
    }
    check_work();
    return right();
}
