/*
 * A child of vfork runs functions of its own while its parent waits, in the same memory and on the
 * same stack. The child has a trace of its own, which begins with the calls that are open there.
 */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

enum { CHILDREN = 5 };

static volatile int zero;
static volatile int sum; /* shared with the children */

static NOINLINE int leaf(int n) { return n + 1 + zero; }

static NOINLINE int in_child(int n) {
    ENTER;
    int result = n ? in_child(n - 1) + LEAF(leaf, n) : 1;
    LEAVE;
    return result;
}

static NOINLINE int have_child(int n) {
    ENTER;
    int status = -1;
    pid_t child = vfork();
    if (child == 0) {
        expect_forked(n);
        sum += in_child(n);
        expect_all("! have_child", "! main", NULL);
        expect_thread(0);
        _exit(n);
    }
    waitpid(child, &status, 0);
    (void)LEAF(leaf, n);
    LEAVE;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(void) {
    ENTER;
    for (int n = 1; n <= CHILDREN; n++)
        printf("child %d ended with %d, sum %d\n", n, have_child(n), sum);
    LEAVE;
    expect_print();
    return 0;
}
