/*
 * Calls a function that only a breakpoint can patch, while the program uses SIGTRAP itself: blocks,
 * ignores, handles, awaits, raises it, or has it pending. After each call that use is as before.
 * STORY names what else the program does.
 *
 *     breakpoint STORY [CALLS]     CALLS of each thread, where there are many threads
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "self_check.h"

enum { THREADS = 4, ALARMS = 50, HURRIED = 3000 };

static int each = 200;

/* Adds 1 to *SUM, TIMES times. On x86-64 a branch leads into its first instruction, behind the
 * prefix. Elsewhere it is an ordinary function, and the tracer is asked for breakpoints. */
int breakpoint(int *sum, int times);
#if defined __x86_64__
#define STATE ""
#define CODE                                                                                       \
    ".byte 0xf0\n"                                                                                 \
    "1: addl $1, (%rdi)\n\t"                                                                       \
    "decl %esi\n\t"                                                                                \
    "jnz 1b\n\t"                                                                                   \
    "movl (%rdi), %eax\n\t"                                                                        \
    "ret\n\t"
#define OWN "int3\n\tret\n\t"
enum { OWN_CODE = SI_KERNEL };
#elif defined __aarch64__
#define STATE ""
#define CODE                                                                                       \
    "nop\n"                                                                                        \
    "1: ldr w2, [x0]\n\t"                                                                          \
    "add w2, w2, #1\n\t"                                                                           \
    "str w2, [x0]\n\t"                                                                             \
    "subs w1, w1, #1\n\t"                                                                          \
    "b.ne 1b\n\t"                                                                                  \
    "mov w0, w2\n\t"                                                                               \
    "ret\n\t"
#define OWN "brk #0\n\tret\n\t"
enum { OWN_CODE = TRAP_BRKPT, OWN_BYTES = 4 };
#else
#define STATE ".syntax unified\n\t.thumb\n\t.thumb_func\n\t"
#define CODE                                                                                       \
    "nop\n"                                                                                        \
    "1: ldr r2, [r0]\n\t"                                                                          \
    "adds r2, #1\n\t"                                                                              \
    "str r2, [r0]\n\t"                                                                             \
    "subs r1, #1\n\t"                                                                              \
    "bne 1b\n\t"                                                                                   \
    "mov r0, r2\n\t"                                                                               \
    "bx lr\n\t"
#define OWN ".inst.n 0xde01\n\tbx lr\n\t" /* the breakpoint of Linux in T32 code */
enum { OWN_CODE = TRAP_BRKPT, OWN_BYTES = 2 };
#endif
__asm__(STATE ".globl breakpoint\n\t.type breakpoint, %function\n"
              "breakpoint:\n\t.cfi_startproc\n\t" CODE ".cfi_endproc\n\t"
              ".size breakpoint, . - breakpoint");
void own_breakpoint(void);
__asm__(STATE ".globl own_breakpoint\n\t.type own_breakpoint, %function\n"
              "own_breakpoint:\n\t.cfi_startproc\n\t" OWN ".cfi_endproc\n\t"
              ".size own_breakpoint, . - own_breakpoint");

static volatile int calls, trapped, last_code, last_value;

static void call(void) {
    int sum = 5;
    check(breakpoint(&sum, 3) == 8 && sum == 8, "the function");
    __atomic_fetch_add(&calls, 1, __ATOMIC_SEQ_CST);
}

/* ---- the kernel's state of SIGTRAP ---- */

static int is_blocked(void) {
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    return sigismember(&mask, SIGTRAP);
}

static void set_blocked(int how) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTRAP);
    pthread_sigmask(how, &set, NULL);
}

struct action { /* struct kernel_sigaction */
    unsigned long handler, flags, restorer, mask[8 / sizeof(long)];
};

static struct action get_action(void) {
    struct action a;
    check(syscall(SYS_rt_sigaction, SIGTRAP, NULL, &a, 8) == 0, "rt_sigaction");
    return a;
}

/* The pc points at the breakpoint itself, but behind it on x86-64. */
static void leave_breakpoint(ucontext_t *u) {
#if defined __x86_64__
    (void)u;
#elif defined __aarch64__
    u->uc_mcontext.pc += OWN_BYTES;
#else
    u->uc_mcontext.arm_pc += OWN_BYTES;
#endif
}

static void on_trap(int sig, siginfo_t *info, void *context) {
    (void)sig;
    if (info->si_code == OWN_CODE)
        leave_breakpoint(context);
    trapped++;
    last_code = info->si_code;
    last_value = info->si_value.sival_int;
}

static void handle(int flags) {
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | flags};
    sigaddset(&action.sa_mask, SIGUSR2);
    check(sigaction(SIGTRAP, &action, NULL) == 0, "sigaction");
}

/* Calls the function, and checks that SIGTRAP's state is unchanged. */
static void check_call(void) {
    struct action before = get_action();
    int blocked = is_blocked(), count = trapped;
    call();
    struct action after = get_action();
    check(is_blocked() == blocked, "the mask");
    check(memcmp(&before, &after, sizeof before) == 0, "the action");
    check(trapped == count, "no signal");
}

/* ---- each state of SIGTRAP ---- */

static void in_each_state(void (*action)(void)) {
    for (int how = 0; how < 2; how++) {
        set_blocked(how ? SIG_BLOCK : SIG_UNBLOCK);
        signal(SIGTRAP, SIG_DFL);
        action();
        signal(SIGTRAP, SIG_IGN);
        action();
        handle(0);
        action();
        handle(SA_RESTART | SA_NODEFER | SA_RESETHAND);
        action();
    }
    set_blocked(SIG_UNBLOCK);
    signal(SIGTRAP, SIG_DFL);
}

static void its_own_traps(void) {
    handle(0);
    check_call();
    own_breakpoint();
    check(trapped == 1 && last_code == OWN_CODE, "a breakpoint of its own");
    check_call();
    raise(SIGTRAP);
    check(trapped == 2 && last_code == SI_TKILL, "raise");
    signal(SIGTRAP, SIG_IGN);
    raise(SIGTRAP);
    check_call();
    handle(SA_RESETHAND);
    raise(SIGTRAP);
    check(trapped == 3 && get_action().handler == 0, "SA_RESETHAND");
    set_blocked(SIG_BLOCK);
    check_call();
    set_blocked(SIG_UNBLOCK);
}

/* Pending signals keep their values. */
static void pending(void) {
    sigset_t set, waiting;
    siginfo_t info;
    sigemptyset(&set);
    sigaddset(&set, SIGTRAP);
    for (int kind = 0; kind < 3; kind++) {
        handle(0);
        trapped = 0;
        set_blocked(SIG_BLOCK);
        if (kind == 0)
            raise(SIGTRAP);
        else if (kind == 1)
            sigqueue(getpid(), SIGTRAP, (union sigval){.sival_int = 77});
        else
            pthread_sigqueue(pthread_self(), SIGTRAP, (union sigval){.sival_int = 78});
        check_call();
        check(sigpending(&waiting) == 0 && sigismember(&waiting, SIGTRAP), "it waits");
        check_call();
        check(sigwaitinfo(&set, &info) == SIGTRAP, "sigwaitinfo");
        check(info.si_code == (kind ? SI_QUEUE : SI_USER /* glibc's name for SI_TKILL */), "code");
        check(info.si_pid == getpid(), "whose");
        check(!kind || info.si_value.sival_int == 76 + kind, "its value");
        check(sigpending(&waiting) == 0 && !sigismember(&waiting, SIGTRAP),
              "it is not pending any more");
        raise(SIGTRAP);
        check_call();
        set_blocked(SIG_UNBLOCK);
        check(trapped == 1, "delivered once");
    }
    signal(SIGTRAP, SIG_DFL);
}

/* ---- in handlers ---- */

static volatile int handled;

static void on_user(int sig) {
    (void)sig;
    check(is_blocked() == 1, "the handler's mask");
    check_call();
    check(is_blocked() == 1, "the handler's mask, still");
    handled++;
}

static void on_trap_calling(int sig) {
    (void)sig;
    check_call();
    if (!handled++)
        raise(SIGTRAP); /* blocked until this handler has returned */
    check(handled < 3, "one at a time");
    check_call();
    trapped += handled == 1;
}

static void in_handlers(void) {
    struct sigaction action = {.sa_handler = on_user};
    sigset_t some;
    sigaddset(&action.sa_mask, SIGTRAP);
    sigaction(SIGUSR1, &action, NULL);
    handle(0);
    raise(SIGUSR1);
    check(handled == 1 && !is_blocked(), "a handler that blocks it");
    action.sa_mask = (sigset_t){{0}};
    sigaction(SIGUSR1, &action, NULL);
    sigset_t user;
    sigemptyset(&user);
    sigaddset(&user, SIGUSR1);
    sigprocmask(SIG_BLOCK, &user, NULL);
    raise(SIGUSR1);
    sigemptyset(&some);
    sigaddset(&some, SIGTRAP);
    check(sigsuspend(&some) < 0 && errno == EINTR, "sigsuspend");
    check(handled == 2 && !is_blocked(), "a wait that blocks it");
    sigprocmask(SIG_UNBLOCK, &user, NULL);
    handled = trapped = 0;
    signal(SIGTRAP, on_trap_calling);
    raise(SIGTRAP);
    check(handled == 2, "its own handler");
    signal(SIGTRAP, SIG_DFL);
}

static volatile int alarms;

static void on_alarm(int sig) {
    (void)sig;
    alarms++;
    call();
}

static void during_signals(void) {
    struct itimerval often = {{0, 2000}, {0, 2000}}, never = {{0, 0}, {0, 0}};
    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &often, NULL);
    while (alarms < ALARMS)
        call();
    setitimer(ITIMER_REAL, &never, NULL);
}

/* ---- tasks ---- */

static void *run(void *arg) {
    set_blocked((size_t)arg % 2 ? SIG_BLOCK : SIG_UNBLOCK);
    for (int i = 0; i < each; i++)
        check_call();
    return NULL;
}

static void in_threads(void) {
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run, (void *)i);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void await(pid_t pid, int status) {
    int got;
    check(waitpid(pid, &got, __WALL) == pid && WIFEXITED(got) && WEXITSTATUS(got) == status,
          "the child");
}

static int in_clone(void *arg) {
    (void)arg;
    check_call();
    _exit(7);
}

static void in_children(void) {
    static char stack[65536] __attribute__((aligned(16)));
    set_blocked(SIG_BLOCK);
    signal(SIGTRAP, SIG_IGN);
    pid_t pid = fork();
    if (pid == 0) {
        check_call();
        execl("/proc/self/exe", "breakpoint", "inherit", NULL);
        _exit(1);
    }
    await(pid, 9);
    pid = vfork();
    if (pid == 0) {
        check_call();
        _exit(6);
    }
    await(pid, 6);
    await(clone(in_clone, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL), 7);
    check_call();
    set_blocked(SIG_UNBLOCK);
    signal(SIGTRAP, SIG_DFL);
}

/* ---- stories that an argument names ---- */

#ifdef __x86_64__
static volatile int steps;

static void on_step(int sig) {
    (void)sig;
    steps++;
}

static int walk(void) {
    signal(SIGTRAP, on_step);
    for (int i = 0; i < 3; i++) {
        int before = steps;
        int sum = 0;
        __asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
        breakpoint(&sum, 2);
        __asm__ volatile("pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
        check(sum == 2 && steps > before + 6, "steps");
        printf("%d\n", steps - before);
    }
    return 0;
}
#else
/* No flag lets a program step itself. */
static int walk(void) { return 0; }
#endif

/* From now on a filter forbids all system calls but those of this test. */
static int hide(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigprocmask, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    handle(0);
    set_blocked(SIG_BLOCK);
    check_call();
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0, "the filter");
    call();
    check(is_blocked(), "the mask");
    _exit(right());
}

/* A child asks its parent to trace it, while it shares the parent's memory. */
static int debug(void) {
    int status;
    pid_t pid = vfork();
    if (pid == 0) {
        syscall(SYS_ptrace, PTRACE_TRACEME, 0, NULL, NULL);
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        call();
        _exit(8);
    }
    await(pid, 8);
    pid = fork();
    if (pid == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        call();
        _exit(8);
    }
    check(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status), "the child has stopped");
    check(ptrace(PTRACE_CONT, pid, NULL, NULL) == 0, "PTRACE_CONT");
    await(pid, 8);
    call();
    return 0;
}

static int inherit(void) {
    check(is_blocked() && get_action().handler == 1, "what a program inherits");
    check_call();
    return 9;
}

static volatile int done;

static void *call_on(void *arg) {
    while (!done)
        call();
    return arg;
}

/* Ends, and leaves a process whose threads keep calling for a second or more. */
static int leave(void) {
    pthread_t threads[THREADS];
    if (fork())
        return 0;
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, call_on, NULL);
    sleep(1);
    done = 1;
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    check_call();
    check(write(1, "later\n", 6) == 6, "output");
    _exit(0);
}

static int hurry(void) {
    for (int i = 0; i < HURRIED; i++)
        call();
    return 0;
}

static int all(void) {
    in_each_state(check_call);
    its_own_traps();
    pending();
    in_handlers();
    during_signals();
    in_threads();
    signal(SIGTRAP, SIG_IGN);
    in_threads();
    in_children();
    in_each_state(check_call);
    return 0;
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        int (*story)(void);
    } stories[] = {{"all", all},         {"walk", walk},   {"hide", hide},  {"debug", debug},
                   {"inherit", inherit}, {"leave", leave}, {"hurry", hurry}};
    for (size_t i = 0; i < sizeof stories / sizeof *stories; i++) {
        if (argc < 2 || strcmp(argv[1], stories[i].name))
            continue;
        each = argc > 2 ? atoi(argv[2]) : each;
        int status = stories[i].story();
        fflush(stdout);
        return status ? status : right();
    }
    return 2;
}
