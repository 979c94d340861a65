/*
 * Prints a line each time it continues after a stop (SIGCONT), and a line when it is interrupted.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "expect.h"

static volatile sig_atomic_t continued, interrupted;

static void on_continue(int signal) {
    (void)signal;
    continued++;
}

static void on_interrupt(int signal) {
    (void)signal;
    interrupted++;
}

static NOINLINE unsigned spin(unsigned n) { return n * 31 + (unsigned)interrupted; }

int main(void) {
    unsigned value = 1;
    int shown = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGCONT, on_continue);
    signal(SIGINT, on_interrupt);
    signal(SIGTERM, on_interrupt);
    signal(SIGHUP, on_interrupt);
    printf("ready %d\n", getpid());
    while (interrupted < 2) {
        value = spin(value);
        if (shown < continued + interrupted) {
            shown = continued + interrupted;
            printf("continued %d interrupted %d\n", continued, interrupted);
        }
    }
    printf("done %d\n", value != 0);
    return 9;
}
