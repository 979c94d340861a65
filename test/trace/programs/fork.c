/*
 * fork() without exec: parent and children continue in the same functions, and children have
 * children.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

static volatile int zero;

static NOINLINE int leaf(int n) { return n + 1 + zero; }

static NOINLINE int work(int n) {
    ENTER;
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += LEAF(leaf, i);
    LEAVE;
    return sum;
}

static NOINLINE int wait_for(pid_t child) {
    int status;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

/* The child returns from functions that its parent has entered. */
static NOINLINE int branch(int number) {
    ENTER;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        expect_forget(number);
        LEAVE;
        return number;
    }
    expect_all("> wait_for", "< wait_for", NULL);
    int status = wait_for(child);
    LEAVE;
    return -status;
}

static NOINLINE void grandchild(void) {
    fflush(stdout);
    ENTER;
    pid_t child = fork();
    if (child == 0) {
        expect_forget(9);
        int sum = work(2);
        expect_all("! grandchild", "! main", NULL);
        expect_print();
        _exit(sum);
    }
    expect_all("> wait_for", "< wait_for", NULL);
    printf("grandchild %d\n", wait_for(child));
    LEAVE;
}

int main(void) {
    ENTER;
    printf("%d\n", work(3));
    for (int i = 1; i < 4; i++) {
        int number = branch(i);
        if (number > 0) {
            printf("child %d: %d\n", number, work(number));
            if (number == 2)
                grandchild();
            LEAVE;
            expect_print();
            return 40 + number;
        }
        printf("status %d\n", -number);
    }
    printf("%d\n", work(4));
    LEAVE;
    expect_print();
    return 0;
}
