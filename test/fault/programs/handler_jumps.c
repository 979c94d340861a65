/* Signal handlers leave by siglongjmp(), wherever the signal has interrupted the program. */
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

#include "self_check.h"

enum { LEAPS = 300 };

static sigjmp_buf back;
static volatile sig_atomic_t leaps;

static void leap(int sig) {
    leaps++;
    siglongjmp(back, sig);
}

int main(void) {
    struct itimerval often = {{0, 500}, {0, 500}}, never = {0};
    signal(SIGALRM, leap);
    sigsetjmp(back, 1);
    setitimer(ITIMER_REAL, &often, NULL);
    while (leaps < LEAPS)
        check_work();
    setitimer(ITIMER_REAL, &never, NULL);
    check_work();
    return right();
}
