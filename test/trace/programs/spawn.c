/*
 * Children that exec: by vfork, posix_spawn, fork, system(), and an exec without fork at the end.
 * The program runs itself, and every generation is traced.
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

extern char **environ;

static volatile int zero;
static const char *self;

static NOINLINE int leaf(int n) { return n + 1 + zero; }

static NOINLINE int finish(pid_t child) {
    ENTER;
    int status = -1;
    waitpid(child, &status, 0);
    LEAVE;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* Prints the marks of child NUMBER until its exec: it is made by FUNCTION, and shows its calls. */
static void expect_made(const char *number, const char *function) {
    printf("|%s + main\n|%s + %s\n", number, number, function);
    printf("|%s ! %s\n|%s ! main\n", number, function, number);
}

static NOINLINE int by_vfork(char *number) {
    ENTER;
    expect_made(number, __func__);
    pid_t child = vfork();
    if (child == 0) {
        execl(self, self, number, NULL);
        _exit(99);
    }
    int status = finish(child);
    LEAVE;
    return status;
}

static NOINLINE int by_failing_vfork(void) {
    ENTER;
    expect_made("5", __func__);
    pid_t child = vfork();
    if (child == 0) {
        execl("/nonexistent/program", "program", NULL);
        _exit(99);
    }
    int status = finish(child);
    LEAVE;
    return status;
}

static NOINLINE int by_fork(char *number) {
    ENTER;
    expect_made(number, __func__);
    pid_t child = fork();
    if (child == 0) {
        execl(self, self, number, NULL);
        _exit(99);
    }
    int status = finish(child);
    LEAVE;
    return status;
}

static NOINLINE int by_spawn(char *number) {
    ENTER;
    pid_t child;
    char *arguments[] = {(char *)self, number, NULL};
    int error = posix_spawn(&child, self, NULL, NULL, arguments, environ);
    int status = error ? -error : finish(child);
    LEAVE;
    return status;
}

static NOINLINE int by_system(const char *number) {
    char line[4200];
    ENTER;
    snprintf(line, sizeof line, "exec '%s' %s", self, number);
    int status = system(line);
    LEAVE;
    return WEXITSTATUS(status);
}

static NOINLINE int run_child(int number) {
    expect_thread(number);
    expect('>', "main");
    expect('>', "run_child");
    printf("child %d\n", number);
    for (int i = 0; i < number; i++)
        (void)LEAF(leaf, i);
    expect('<', "run_child");
    expect('<', "main");
    expect_print();
    return 30 + number;
}

int main(int argc, char **argv) {
    if (argc > 1) {
        int status = run_child(atoi(argv[1]));
        return status + zero; /* no tail call */
    }
    ENTER;
    self = argv[0];
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("vfork %d\n", by_vfork("1"));
    printf("failing vfork %d\n", by_failing_vfork());
    printf("fork %d\n", by_fork("2"));
    printf("posix_spawn %d\n", by_spawn("3"));
    printf("system %d\n", by_system("4"));
    UNWOUND;
    expect_print();
    execl(self, self, "0", NULL);
    return 1;
}
