/*
 * A timer fires every 100 microseconds, and its handler calls the functions that it interrupts
 * (narrow-code.S), whose sites have little room. Each function must leave the registers alone that
 * it does not change. The number of calls of each goes to the file that the first argument names.
 * The second and the third argument replace the interval in microseconds and the number of signals
 * that must arrive.
 */
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
int call_deeper(void);

void jump_back(long n) { longjmp(environment, (int)n); }
int call_deeper(void) { return 4; }

static const struct {
    const char *name;
    long (*function)(long);
} functions[] = {
#define NAMED(name) {#name, name},
    FUNCTIONS(NAMED)};
enum { COUNT = sizeof functions / sizeof *functions };

static volatile long calls[COUNT];
static volatile sig_atomic_t signals, wrong;

enum { RCX, RDX, RSI, R8, R9, R10, R11, FILLED };

/* Calls FUNCTION(ARGUMENT) with values in every register that it may change. */
static long call_filled(long (*function)(long), long argument, unsigned long *filled) {
    register unsigned long r8 __asm__("r8") = filled[R8], r9 __asm__("r9") = filled[R9];
    register unsigned long r10 __asm__("r10") = filled[R10], r11 __asm__("r11") = filled[R11];
    long value;
    __asm__ volatile("lea -128(%%rsp), %%rsp\n\tcall *%%rbx\n\tlea 128(%%rsp), %%rsp"
                     : "=a"(value), "+D"(argument), "+c"(filled[RCX]), "+d"(filled[RDX]),
                       "+S"(filled[RSI]), "+r"(r8), "+r"(r9), "+r"(r10), "+r"(r11)
                     : "b"(function)
                     : "cc", "memory");
    filled[R8] = r8;
    filled[R9] = r9;
    filled[R10] = r10;
    filled[R11] = r11;
    return value;
}

/* Where flags decide, negative, zero and positive arguments take different ways. */
enum { ARGUMENTS = 3 };
static struct outcome {
    long value;
    unsigned long rdx; /* some functions change it */
} right[COUNT][ARGUMENTS];

static struct outcome outcome_of(int i, int argument) {
    unsigned long filled[FILLED];
    for (int k = 0; k < FILLED; k++)
        filled[k] = 0x0123456789abcdef * (unsigned long)(k + 1);
    long value = call_filled(functions[i].function, 3 * (argument - 1), filled);
    for (int k = 0; k < FILLED; k++)
        if (k != RDX && filled[k] != 0x0123456789abcdef * (unsigned long)(k + 1))
            wrong = 1;
    __atomic_fetch_add(&calls[i], 1, __ATOMIC_RELAXED);
    return (struct outcome){value, filled[RDX]};
}

static void call(int i, int argument) {
    struct outcome o = outcome_of(i, argument);
    if (o.value != right[i][argument].value || o.rdx != right[i][argument].rdx)
        wrong = 1;
}

/* Learns the results without signals, and prints them: they must be those of an untraced run. */
static void record_results(void) {
    for (int i = 0; i < COUNT; i++)
        for (int argument = 0; argument < ARGUMENTS; argument++) {
            right[i][argument] = outcome_of(i, argument);
            printf("%s %ld %lx\n", functions[i].name, right[i][argument].value,
                   right[i][argument].rdx);
        }
}

static void on_alarm(int signal) {
    (void)signal;
    call((int)(signals % COUNT), (int)(signals / COUNT % ARGUMENTS));
    signals++;
}

/* Addresses must not be random, so that no pun's target is mapped. */
__attribute__((constructor)) static void expect_no_chance(int argc, char **argv) {
    int present = personality(0xffffffff);
    if (argc && !(present & ADDR_NO_RANDOMIZE) && personality(present | ADDR_NO_RANDOMIZE) >= 0 &&
        personality(0xffffffff) & ADDR_NO_RANDOMIZE)
        execv("/proc/self/exe", argv);
}

int main(int argc, char **argv) {
    long us = argc > 2 ? strtol(argv[2], NULL, 10) : 100;
    long wanted = argc > 3 ? strtol(argv[3], NULL, 10) : SIGNALS;
    struct itimerval timer = {{0, us}, {0, us}}, off = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    sigset_t unblocked;
    record_results();
    sigemptyset(&unblocked);
    sigprocmask(SIG_SETMASK, &unblocked, NULL);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    for (long lap = 0; lap < LAPS || signals < wanted; lap++)
        for (int i = 0; i < COUNT; i++)
            call(i, (int)(lap % ARGUMENTS));
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
