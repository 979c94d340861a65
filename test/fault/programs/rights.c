/*
 * A program that is installed with privileges, and one that executes such programs.
 *
 *     rights have WHAT [ARGUMENT...]   succeeds if it has WHAT: user, group, capability or none
 *     rights spawn PROGRAM WHAT        executes PROGRAM have WHAT in each possible way
 */
#include <pthread.h>
#include <spawn.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "self_check.h"

enum { NET_RAW = 13, CAPABILITY_VERSION = 0x20080522 };

extern char **environ;

static int has_capability(void) {
    struct {
        uint32_t version;
        int pid;
    } header = {CAPABILITY_VERSION, 0};
    struct {
        uint32_t effective, permitted, inheritable;
    } data[2];
    check(syscall(SYS_capget, &header, data) == 0, "capget");
    return data[0].effective >> NET_RAW & 1;
}

static int have(const char *what, char **argv) {
    char name[32];
    const char *slash = strrchr(argv[0], '/');
    int user = geteuid() != getuid(), group = getegid() != getgid();
    int capability = has_capability() && geteuid();
    check(user == (strcmp(what, "user") == 0), "the user");
    check(group == (strcmp(what, "group") == 0), "the group");
    check(capability == (strcmp(what, "capability") == 0), "the capability");
    check(!getauxval(AT_SECURE) == (strcmp(what, "none") == 0), "AT_SECURE");
    check(strcmp((const char *)getauxval(AT_EXECFN), argv[0]) == 0, "the path of its execution");
    prctl(PR_GET_NAME, name);
    check(strcmp(name, slash ? slash + 1 : argv[0]) == 0, "its name");
    check(argv[3] && strcmp(argv[3], "two words") == 0 && !argv[4], "its arguments");
    check(getenv("RIGHTS_TEST") && strcmp(getenv("RIGHTS_TEST"), "here") == 0, "its environment");
    check_work();
    return right();
}

static void expect_right(pid_t pid) {
    int status;
    check(waitpid(pid, &status, 0) == pid && WIFEXITED(status), "the end of a child");
    check(WEXITSTATUS(status) == RIGHT, "a child's status");
}

static void *take_over(void *arg) {
    char **argv = arg;
    execv(argv[0], argv);
    return NULL;
}

static int spawn(char **argv) {
    pthread_t thread;
    pid_t pid = fork();
    if (pid == 0)
        execv(argv[0], argv);
    expect_right(pid);
    pid = vfork();
    if (pid == 0)
        execv(argv[0], argv);
    expect_right(pid);
    check(posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) == 0, "posix_spawn");
    expect_right(pid);
    pid = fork();
    if (pid == 0) {
        pthread_create(&thread, NULL, take_over, argv);
        pthread_join(thread, NULL);
    }
    expect_right(pid);
    check_work();
    execv(argv[0], argv);
    return 1;
}

int main(int argc, char **argv) {
    check(argc >= 3, "usage");
    if (strcmp(argv[1], "have") == 0)
        return have(argv[2], argv);
    return spawn((char *[]){argv[2], "have", argv[3], "two words", NULL});
}
