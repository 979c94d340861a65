/* A timer every 100 microseconds, whose handler calls what it interrupts: the functions of
 * narrow-code.S, which have little room for patches. Writes to the file that is its first argument
 * how often each was called. A second argument is another time, in microseconds. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <sys/time.h>
#include <unistd.h>

enum { LAPS = 1500, SIGNALS = 200 };

#define FUNCTIONS(set)                                                                             \
    set(hop_entry) set(hop_return) set(hop_tail) set(hop_branch) set(pun_entry) set(pun_return)    \
        set(pun_tail) set(pun_branch) set(pun_least) set(ways_short)
#define DECLARE(name) long name(long);
FUNCTIONS(DECLARE)

extern jmp_buf environment;
void jump_back(long n);
int come_after(void);

void jump_back(long n) { longjmp(environment, (int)n); }
int come_after(void) { return 4; }

static const struct {
    const char *name;
    long (*function)(long);
} functions[] = {
#define NAMED(name) {#name, name},
    FUNCTIONS(NAMED)};
enum { COUNT = sizeof functions / sizeof *functions };

static volatile long calls[COUNT];
static volatile sig_atomic_t signals, wrong;

/* For 3 each does what it does to what is greater than zero. */
static void call(int i) {
    long value = functions[i].function(3);
    if (value != 3 && value != 1003)
        wrong = 1;
    __atomic_fetch_add(&calls[i], 1, __ATOMIC_RELAXED);
}

static void on_alarm(int signal) {
    (void)signal;
    call((int)(signals++ % COUNT));
}

/* Where puns lead must not depend on chance. */
__attribute__((constructor)) static void expect_no_chance(int argc, char **argv) {
    int present = personality(0xffffffff);
    if (argc && !(present & ADDR_NO_RANDOMIZE) && personality(present | ADDR_NO_RANDOMIZE) >= 0 &&
        personality(0xffffffff) & ADDR_NO_RANDOMIZE)
        execv("/proc/self/exe", argv);
}

int main(int argc, char **argv) {
    long us = argc > 2 ? strtol(argv[2], NULL, 10) : 100;
    struct itimerval timer = {{0, us}, {0, us}}, off = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    sigset_t unblocked;
    sigemptyset(&unblocked);
    sigprocmask(SIG_SETMASK, &unblocked, NULL);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    for (long lap = 0; lap < LAPS || signals < SIGNALS; lap++)
        for (int i = 0; i < COUNT; i++)
            call(i);
    setitimer(ITIMER_REAL, &off, NULL);
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
    FILE *file = argc > 1 ? fopen(argv[1], "w") : NULL;
    for (int i = 0; file && i < COUNT; i++)
        fprintf(file, "%s %ld\n", functions[i].name, calls[i]);
    if (!file || fclose(file))
        return 1;
    puts(wrong ? "wrong" : "right");
    return wrong;
}
