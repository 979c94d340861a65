/*
 * Gets very many signals while it works in functions hardly larger than the window of a patch, so
 * many signals arrive in trampolines. When its tracer is gone, or after MOST signals, signals must
 * still arrive, and the signal mask must be the first one.
 *
 *     sealed    first installs a filter that kills for rt_sigprocmask
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "self_check.h"

enum { MOST = 4000, MORE = 20, PERIOD_US = 100, PATIENCE = 100, ROUNDS = 2000, STEP = 7 };

static volatile sig_atomic_t hits;

static void on_alarm(int sig) {
    (void)sig;
    hits++;
}

__attribute__((noinline)) static unsigned long mix(unsigned long value) {
#if defined __aarch64__ || defined __arm__
    __asm__ volatile("add %0, %0, #3\n\tadd %0, %0, #2\n\tadd %0, %0, #2" : "+r"(value));
#else
    __asm__ volatile("lea 3(%0), %0\n\tlea 2(%0), %0\n\tlea 2(%0), %0" : "+r"(value));
#endif
    return value;
}

static void work_on(void) {
    unsigned long value = 0;
    for (int i = 0; i < ROUNDS; i++)
        value = mix(value);
    check(value == ROUNDS * STEP, "mix");
}

/* Works until the next signal. Each signal is requested: on a busy machine signals of a periodic
 * timer would follow each other without an instruction in between. A signal can be lost with the
 * tracer. */
static void work_until_signal(void) {
    const struct itimerval once = {{0, 0}, {0, PERIOD_US}};
    int seen = hits;
    for (int i = 0; hits == seen; i++) {
        if (i % PATIENCE == 0)
            setitimer(ITIMER_REAL, &once, NULL);
        work_on();
    }
}

static int is_traced(void) {
    char text[4096];
    FILE *f = fopen("/proc/self/status", "r");
    check(f != NULL, "status");
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    return strstr(text, "TracerPid:\t0\n") == NULL;
}

static void seal(void) {
    static struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigprocmask, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof code / sizeof *code, code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0, "seccomp");
}

static void check_mask(void) {
    char line[256];
    unsigned long long blocked = ~0ULL;
    FILE *f = fopen("/proc/self/status", "r");
    check(f != NULL, "status");
    while (fgets(line, sizeof line, f))
        if (strncmp(line, "SigBlk:", 7) == 0)
            blocked = strtoull(line + 7, NULL, 16);
    fclose(f);
    check(blocked == 1ULL << (SIGUSR2 - 1), "signals that are blocked");
}

int main(int argc, char **argv) {
    const struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    int sealed = argc > 1 && strcmp(argv[1], "sealed") == 0;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_SETMASK, &set, NULL);
    sigaction(SIGALRM, &action, NULL);
    if (sealed)
        seal();
    while (hits < MOST && (sealed || is_traced()))
        work_until_signal();
    for (int i = 0; i < MORE; i++)
        work_until_signal();
    check_mask();
    return right();
}
