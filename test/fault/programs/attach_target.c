/*
 * A process to attach to: calls a library's function again and again. At SIGTERM it checks that all
 * is right. Prints its process id when it has begun.
 *
 *     attach_target KIND LIBRARY
 *
 *     plain    has nothing special
 *     late     its first thread has ended
 *     hides    is not dumpable (PR_SET_DUMPABLE)
 *     fenced   its seccomp filter kills for anonymous memory that can be executed
 *     loose    its seccomp filter kills only for pivot_root, which neither it nor spoor calls
 *     strict   its seccomp filter allows four calls only
 *     gone     its library was deleted, and only another process has it open
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "self_check.h"

#ifndef SYS_mmap /* 32-bit Arm has mmap2 */
#define SYS_mmap SYS_mmap2
#endif
#define LOAD_NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define LOAD_ARG(i) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[i]))
#define IF(k, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (k), (yes), (no))
#define IF_ANY(k, yes, no) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (k), (yes), (no))
#define ANSWER(action) BPF_STMT(BPF_RET | BPF_K, (action))

static struct sock_filter fenced[] = {
    LOAD_NUMBER,
    IF(SYS_mmap, 0, 4),
    LOAD_ARG(3),
    IF_ANY(MAP_ANONYMOUS, 0, 2),
    LOAD_ARG(2),
    IF_ANY(PROT_EXEC, 1, 0),
    ANSWER(SECCOMP_RET_ALLOW),
    ANSWER(SECCOMP_RET_KILL_PROCESS),
};
static struct sock_filter loose[] = {
    LOAD_NUMBER,
    IF(SYS_pivot_root, 0, 1),
    ANSWER(SECCOMP_RET_KILL_PROCESS),
    ANSWER(SECCOMP_RET_ALLOW),
};

static void lock_in(struct sock_filter *code, size_t count) {
    struct sock_fprog program = {(unsigned short)count, code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0, "seccomp");
}

static int (*add)(int, int);
static volatile sig_atomic_t asked;
static pthread_t first;

static void on_termination(int sig, siginfo_t *info, void *context) {
    (void)sig;
    (void)info;
    (void)context;
    asked = 1;
}

/* On 32-bit Arm handlers without SA_SIGINFO return by a call that strict filters forbid. */
static void listen_to_terminations(void) {
    const struct sigaction action = {.sa_sigaction = on_termination,
                                     .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGTERM, &action, NULL);
}

__attribute__((noinline)) static void call_once(void) {
    static int i;
    i = (i + 1) % 1000;
    check(add(i, 1) == 3 * i + 1, "library_add");
}

static void *call_until_asked(void *late) {
    const struct timespec nap = {.tv_nsec = 1000000};
    if (late)
        pthread_join(first, NULL);
    dprintf(1, "%d\n", getpid());
    while (!asked) {
        nanosleep(&nap, NULL);
        call_once();
    }
    check_work();
    _exit(right());
}

static void *idle(void *arg) {
    for (;;)
        pause();
    return arg;
}

/* The library is opened from a parent's descriptors, so that only the parent holds it. */
static void load_deleted(const char *library) {
    char name[64], template[] = "/tmp/spoor-gone-XXXXXX", command[4096];
    int fd = mkstemp(template);
    snprintf(command, sizeof command, "cat '%s' > %s", library, template);
    check(system(command) == 0 && unlink(template) == 0, "the copy");
    snprintf(name, sizeof name, "/proc/%d/fd/%d", getpid(), fd);
    pid_t pid = fork();
    check(pid >= 0, "fork");
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(fd);
        add = (int (*)(int, int))dlsym(dlopen(name, RTLD_NOW), "library_add");
        check(add != NULL, "dlopen");
        return;
    }
    int status;
    prctl(PR_SET_NAME, "its parent");
    signal(SIGTERM, SIG_IGN);
    check(waitpid(pid, &status, 0) == pid, "waitpid");
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static void allow_four_calls(void) {
    dprintf(1, "%d\n", getpid());
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    while (!asked)
        __asm__ volatile("");
    syscall(SYS_write, 1, "right\n", 6);
    syscall(SYS_exit, RIGHT);
}

int main(int argc, char **argv) {
    pthread_t thread;
    check(argc == 3, "usage");
    const char *kind = argv[1];
    if (strcmp(kind, "gone") == 0)
        load_deleted(argv[2]);
    else
        add = (int (*)(int, int))dlsym(dlopen(argv[2], RTLD_NOW), "library_add");
    listen_to_terminations();
    if (strcmp(kind, "hides") == 0)
        prctl(PR_SET_DUMPABLE, 0);
    if (strcmp(kind, "strict") == 0)
        allow_four_calls();
    if (strcmp(kind, "fenced") == 0)
        lock_in(fenced, sizeof fenced / sizeof *fenced);
    if (strcmp(kind, "loose") == 0)
        lock_in(loose, sizeof loose / sizeof *loose);
    first = pthread_self();
    bool late = strcmp(kind, "late") == 0;
    pthread_create(&thread, NULL, late ? call_until_asked : idle, late ? &first : NULL);
    if (late)
        pthread_exit(NULL);
    call_until_asked(NULL);
}
