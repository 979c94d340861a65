/*
 * Two processes share memory, and one of them sets the gs base or gets another tracer: shared_gs
 * LIBRARY CASE
 *
 *     child   a child sets the gs base; then its parent loads a library
 *     vfork   a child of vfork sets it
 *     maker   the parent sets it while a child calls functions that the kernel keeps from tracers
 *             (CLONE_UNTRACED)
 *     tracer  another process, with memory of its own, traces one of the two
 *
 * Only x86-64 has this base; other machines have only the last case. The process keeps its value,
 * and both processes run on. If the other tracer can seize the process, no mapping in its memory is
 * spoor's.
 */
#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#ifdef __x86_64__
#include <asm/prctl.h>
#endif

#include "self_check.h"

enum { STACK_BYTES = 256 * 1024, STATUS = 9, SOME = 200 };
static char stack[STACK_BYTES] __attribute__((aligned(16)));
static volatile int base_is_set, rounds, go;

static void await_child(pid_t pid) {
    int status;
    check(waitpid(pid, &status, __WALL) == pid, "the child's end");
    check(WIFEXITED(status) && WEXITSTATUS(status) == STATUS, "the child's status");
}

/* Returns whether *THERE reaches COUNT before PID ends. */
static int lives_until(pid_t pid, const volatile int *there, int count) {
    siginfo_t end = {0};
    while (*there < count &&
           waitid(P_PID, (id_t)pid, &end, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 &&
           end.si_pid == 0)
        check_work();
    return *there >= count;
}

static int worker(void *unused) {
    (void)unused;
    while (!go) {
        check_work();
        rounds++;
    }
    return STATUS;
}

/* ---- processes that set the gs base ---- */

#ifdef __x86_64__
enum { WORDS = 8192 };
static uint64_t own[WORDS];

int arch_prctl(int code, unsigned long address);

static __attribute__((noinline)) uint64_t word(unsigned long index) {
    uint64_t value;
    __asm__ volatile("mov %%gs:(%1),%0" : "=r"(value) : "r"(index * sizeof value) : "memory");
    return value;
}

static __attribute__((noinline)) void check_own(const char *when) {
    check_work();
    for (unsigned i = 0; i < WORDS; i++)
        check(word(i) == i && own[i] == i, when);
}

static __attribute__((noinline)) void take(void) {
    check_work();
    for (unsigned i = 0; i < WORDS; i++)
        own[i] = i;
    check(arch_prctl(ARCH_SET_GS, (unsigned long)own) == 0, "arch_prctl");
    check_own("what it has just taken");
}

static int set_base_and_check(void *unused) {
    (void)unused;
    take();
    base_is_set = 1;
    while (!go)
        check_own("what it has while the other loads");
    check_own("what it has at the end");
    return STATUS;
}

static void child_sets_base(const char *library) {
    pid_t pid = clone(set_base_and_check, stack + STACK_BYTES, CLONE_VM | SIGCHLD, NULL);
    check(pid > 0, "clone");
    if (lives_until(pid, &base_is_set, 1))
        check(dlopen(library, RTLD_NOW) != NULL, "dlopen");
    check_work();
    go = 1;
    await_child(pid);
}

static int set_base_and_end(void *unused) {
    (void)unused;
    take();
    return STATUS;
}

static void vfork_child_sets_base(const char *library) {
    pid_t pid =
        clone(set_base_and_end, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
    check(pid > 0, "clone");
    check_work();
    await_child(pid);
    check(dlopen(library, RTLD_NOW) != NULL, "dlopen");
}

static void parent_sets_base(const char *library) {
    pid_t pid = clone(worker, stack + STACK_BYTES, CLONE_VM | CLONE_UNTRACED | SIGCHLD, NULL);
    check(pid > 0, "clone");
    lives_until(pid, &rounds, SOME);
    take();
    check(dlopen(library, RTLD_NOW) != NULL, "dlopen");
    lives_until(pid, &rounds, rounds + SOME);
    go = 1;
    await_child(pid);
    check_own("what it has at the end");
}

static void one_sets_base(const char *library, const char *case_name) {
    if (strcmp(case_name, "child") == 0)
        child_sets_base(library);
    else if (strcmp(case_name, "vfork") == 0)
        vfork_child_sets_base(library);
    else
        parent_sets_base(library);
}
#else
static void one_sets_base(const char *library, const char *case_name) {
    (void)library, (void)case_name;
    check(base_is_set, "a gs base to set");
}
#endif

/* ---- another tracer ---- */

/* Traces PID to its end, and writes the kernel's answer to OUT. If this process is not followed,
 * spoor may already trace PID. */
static void trace(pid_t pid, int out) {
    int status, why = ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0 ? 0 : errno;
    check(write(out, &why, sizeof why) == sizeof why, "output");
    while (!why && waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status))
        ptrace(PTRACE_CONT, pid, NULL, NULL);
    _exit(STATUS);
}

static void check_nothing_is_left(void) {
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    check(maps != NULL, "maps");
    while (fgets(line, sizeof line, maps))
        check(strstr(line, "memfd:spoor") == NULL, line);
    fclose(maps);
}

static void one_is_traced(const char *library) {
    int ends[2], why;
    pid_t pid = clone(worker, stack + STACK_BYTES, CLONE_VM | SIGCHLD, NULL);
    check(pid > 0 && pipe(ends) == 0, "clone");
    pid_t tracer = fork();
    if (tracer == 0)
        trace(pid, ends[1]);
    check(read(ends[0], &why, sizeof why) == sizeof why, "the tracer's word");
    check(why == 0 || why == EPERM, "PTRACE_SEIZE");
    if (why == 0)
        check_nothing_is_left();
    check(dlopen(library, RTLD_NOW) != NULL, "dlopen");
    check(lives_until(pid, &rounds, rounds + SOME), "the other runs on");
    go = 1;
    await_child(tracer);
    await_child(pid);
}

int main(int argc, char **argv) {
    check(argc == 3, "usage");
    check_work();
    if (strcmp(argv[2], "tracer") == 0)
        one_is_traced(argv[1]);
    else
        one_sets_base(argv[1], argv[2]);
    check_work();
    return right();
}
