/* Several threads make five hundred children at once by fork(). None of them execs. */
#include <pthread.h>
#include <sys/wait.h>

#include "self_check.h"

enum { THREADS = 4, CHILDREN = 125 };

static int gate[2];

static void work_a_little(void) { check(work(8) == 21, "work"); }

/* Lives until all children exist, and has a child itself. */
static void run_child(int n) {
    char c;
    int status;
    work_a_little();
    close(gate[1]);
    check(read(gate[0], &c, 1) == 0, "the gate");
    if (n % 10 == 0) {
        pid_t pid = fork();
        if (pid == 0)
            _exit((int)work(10));
        check(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 55, "a grandchild");
    }
    work_a_little();
    _exit(n % 100);
}

static void *make_children(void *arg) {
    pid_t *children = arg;
    for (int i = 0; i < CHILDREN; i++) {
        children[i] = fork();
        check(children[i] >= 0, "fork");
        if (children[i] == 0)
            run_child(i);
    }
    return NULL;
}

int main(void) {
    static pid_t children[THREADS][CHILDREN];
    pthread_t threads[THREADS];
    check(pipe(gate) == 0, "pipe");
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, make_children, children[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    close(gate[1]);
    for (int i = 0; i < THREADS; i++)
        for (int k = 0; k < CHILDREN; k++) {
            int status;
            check(waitpid(children[i][k], &status, 0) == children[i][k], "wait");
            check(WIFEXITED(status) && WEXITSTATUS(status) == k % 100, "a child's status");
        }
    return right();
}
