/*
 * Makes related tasks again and again until standard input ends. Checks how each ends, and prints
 * "right". Prints "ready" when all of it runs.
 *
 *     related_tasks sharers
 *         children that share its memory: by vfork, which exec or end, or by clone; one stays
 *
 *     related_tasks strays [MS]
 *         children that share its memory and are kept from tracers (CLONE_UNTRACED); every other
 *         one lives for MS
 *
 *     related_tasks waits
 *         waits for children of vfork nearly all the time; no task's gs base is free (x86-64)
 *
 *     related_tasks execs
 *         executes itself
 *
 *     related_tasks asked
 *         computes on several threads; executes itself at SIGUSR1, forks at SIGUSR2
 *
 *     related_tasks child N
 *         ends with status N, after some work
 *
 *     related_tasks traps
 *         calls a function that only a breakpoint can patch (x86-64)
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STACK = 65536, STATUS = 7, STRAY_MS = 60 };

static _Atomic bool over;
static _Atomic long done;

__attribute__((noinline)) static void require(bool right, const char *what) {
    if (right)
        return;
    printf("wrong: %s: %s\n", what, strerror(errno));
    fflush(stdout);
    _Exit(1);
}

__attribute__((noinline)) static long fib(long n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

#if defined __x86_64__
/* Adds 1 to *SUM, TIMES times. A branch leads into its first instruction, behind the prefix. */
int breakpoint(int *sum, int times);
__asm__(".globl breakpoint\n\t"
        ".type breakpoint, @function\n"
        "breakpoint:\n\t"
        ".cfi_startproc\n\t"
        ".byte 0xf0\n"
        "1: addl $1, (%rdi)\n\t"
        "decl %esi\n\t"
        "jnz 1b\n\t"
        "movl (%rdi), %eax\n\t"
        "ret\n\t"
        ".cfi_endproc\n\t"
        ".size breakpoint, . - breakpoint");
#else /* has no such instruction */
__attribute__((noinline, noclone)) static int breakpoint(int *sum, int times) {
    return *sum += times;
}
#endif

/* ---- children that share memory ---- */

__attribute__((noinline)) static void await(pid_t child, const char *what) {
    int status;
    char ended[64];
    require(child > 0 && waitpid(child, &status, __WALL) == child, what);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != STATUS) {
        snprintf(ended, sizeof ended, "%s, ended with %#x", what, (unsigned)status);
        require(false, ended);
    }
    done++;
}

/* A child of vfork may not write the shared memory: its arguments are prepared before. */
static void *vforking(void *path) {
    char *const words[] = {path, "child", "7", NULL};
    while (!over) {
        pid_t child = vfork();
        if (child == 0) {
            execv(path, words);
            _exit(1);
        }
        await(child, "executed");
        child = vfork();
        if (child == 0)
            _exit(fib(6) == 8 ? STATUS : 1);
        await(child, "vforked");
    }
    return NULL;
}

static int share(void *until) {
    const _Atomic bool *end = until;
    long rounds = 0;
    do
        rounds += fib(10) == 55;
    while (!*end);
    return rounds > 0 ? STATUS : 1;
}

static char *stack_new(void) {
    char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(stack != MAP_FAILED, "stack");
    return stack;
}

/* The child shares memory, but no thread's data. */
static void *cloning(void *unused) {
    static _Atomic bool at_once = true;
    char *stack = stack_new();
    while (!over) {
        pid_t child = clone(share, stack + STACK, CLONE_VM | SIGCHLD, &at_once);
        await(child, "shared");
        child = clone(share, stack + STACK, CLONE_VM | CLONE_VFORK | SIGCHLD, &at_once);
        await(child, "shared and waited for");
    }
    munmap(stack, STACK);
    return unused;
}

/* Returns when standard input ends. */
static void go_on_with(const pthread_t threads[2]) {
    puts("ready");
    fflush(stdout);
    for (char c; read(0, &c, 1) != 0;)
        continue;
    over = true;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

static void sharers(char *path) {
    pthread_t threads[2];
    pid_t child = clone(share, stack_new() + STACK, CLONE_VM | SIGCHLD, &over);
    require(child > 0, "cloned");
    pthread_create(&threads[0], NULL, vforking, path);
    pthread_create(&threads[1], NULL, cloning, NULL);
    go_on_with(threads);
    await(child, "shared all the time");
}

/* Children of two kinds: the first outlives spoor's stay, the second ends at once. spoor may attach
 * when one begins, or leave while one runs. */
static void *straying(void *life_ms) {
    const int kind = CLONE_VM | CLONE_UNTRACED | SIGCHLD;
    static _Atomic bool at_once = true;
    char *stack = stack_new();
    while (!over) {
        _Atomic bool end = false;
        pid_t child = clone(share, stack + STACK, kind, &end);
        poll(NULL, 0, *(const int *)life_ms);
        end = true;
        await(child, "strayed");
        child = clone(share, stack + STACK, kind | CLONE_VFORK, &at_once);
        await(child, "strayed and waited for");
    }
    munmap(stack, STACK);
    return life_ms;
}

static void strays(int life_ms) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        require(pthread_create(&threads[i], NULL, straying, &life_ms) == 0, "thread");
    go_on_with(threads);
}

/* ---- children that the parent waits for ---- */

/* No thread of this program sets the gs base. */
static bool has_no_gs_base(void) {
#if defined __x86_64__
    enum { ARCH_GET_GS = 0x1004 };
    unsigned long base = 1;
    return syscall(SYS_arch_prctl, ARCH_GET_GS, &base) == 0 && base == 0;
#else
    return true;
#endif
}

static void *waiting(void *unused) {
    enum { LIFE_MS = 300 };
    while (!over) {
        pid_t child = vfork();
        if (child == 0) {
            poll(NULL, 0, LIFE_MS);
            _exit(STATUS);
        }
        if (over)
            require(has_no_gs_base(), "the gs base");
        await(child, "waited for");
    }
    return unused;
}

static void waits(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, waiting, NULL);
    puts("ready");
    fflush(stdout);
    for (struct pollfd input = {.fd = 0, .events = POLLIN}; poll(&input, 1, 1) == 0;)
        require(fib(10) == 55, "fib");
    over = true;
    pthread_join(thread, NULL);
}

/* ---- no relatives ---- */

/* This system call may be the one at which fail_at_step.c strikes. */
static bool goes_on(int ms) {
    struct pollfd input = {.fd = 0, .events = POLLIN};
    return poll(&input, 1, ms) <= 0;
}

static void execs(char **argv) {
    char *const words[] = {argv[0], argv[1], "again", NULL};
    if (!argv[2]) {
        puts("ready");
        fflush(stdout);
    }
    for (int i = 0; i < 20; i++)
        done += fib(10) == 55;
    if (goes_on(1)) {
        execv("/proc/self/exe", words);
        require(false, "executed");
    }
}

/* ---- on request ---- */

static volatile sig_atomic_t asked;

static void on_ask(int sig) { asked = sig; }

static void *computing(void *unused) {
    while (!over)
        require(fib(10) == 55, "fib");
    return unused;
}

static void fork_one(void) {
    pid_t child = fork();
    if (child == 0)
        _exit(fib(10) == 55 ? STATUS : 1);
    await(child, "forked");
}

static void asks(char **argv) {
    char *const words[] = {argv[0], argv[1], "again", NULL};
    pthread_t threads[2];
    signal(SIGUSR1, on_ask);
    signal(SIGUSR2, on_ask);
    for (int i = 0; i < 2; i++)
        require(pthread_create(&threads[i], NULL, computing, NULL) == 0, "thread");
    if (!argv[2]) {
        puts("ready");
        fflush(stdout);
    }
    for (; goes_on(1); asked = 0, done++) {
        if (asked == SIGUSR1)
            execv("/proc/self/exe", words);
        if (asked == SIGUSR2)
            fork_one();
    }
    over = true;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    done++;
}

static void traps(void) {
    puts("ready");
    fflush(stdout);
    for (int sum = 5; goes_on(1); sum = 5, done++)
        require(breakpoint(&sum, 3) == 8 && fib(10) == 55, "the function");
}

int main(int argc, char **argv) {
    require(argc > 1, "arguments");
    if (strcmp(argv[1], "child") == 0)
        return fib(10) == 55 ? atoi(argv[2]) : 1;
    if (strcmp(argv[1], "sharers") == 0)
        sharers(argv[0]);
    else if (strcmp(argv[1], "strays") == 0)
        strays(argv[2] ? atoi(argv[2]) : STRAY_MS);
    else if (strcmp(argv[1], "waits") == 0)
        waits();
    else if (strcmp(argv[1], "asked") == 0)
        asks(argv);
    else if (strcmp(argv[1], "execs") == 0)
        execs(argv);
    else
        traps();
    require(done > 0, "nothing was done");
    puts("right");
    return 0;
}
