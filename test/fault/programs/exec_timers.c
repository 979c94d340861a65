/*
 * An interval timer outlives exec, the handler of its signal does not. Here its signal comes while
 * the program's tracer, if there is one, is about to work on the new image: a child stops the
 * tracer until then. The new image lives on, as it sets its handler at once, and gets the signal
 * then. Without a handler it dies, late but of that signal.
 */
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "self_check.h"

enum { TIMER_MS = 400, MUCH_LATER_MS = 800, SHORT_MS = 100, INTERVAL_S = 1000, MOST_S = 60 };

static volatile sig_atomic_t came;

static void note(int sig) {
    (void)sig;
    came = 1;
}

static pid_t tracer(void) {
    char line[256];
    int pid = 0;
    FILE *f = fopen("/proc/self/status", "r");
    check(f != NULL, "status");
    while (fgets(line, sizeof line, f) && sscanf(line, "TracerPid: %d", &pid) != 1)
        ;
    fclose(f);
    return pid;
}

static void set_timer(int ms) {
    const struct itimerval value = {{INTERVAL_S, 0}, {0, ms * 1000}};
    check(setitimer(ITIMER_REAL, &value, NULL) == 0, "setitimer");
}

/* Its process's timers are not this child's. */
static void hold_tracer(void) {
    const pid_t pid = tracer();
    int ready[2];
    char byte = 0;
    check(pipe(ready) == 0, "pipe");
    const pid_t child = fork();
    if (child == 0) {
        if (pid)
            kill(pid, SIGSTOP);
        check(write(ready[1], &byte, 1) == 1, "write");
        usleep(MUCH_LATER_MS * 1000);
        if (pid)
            kill(pid, SIGCONT);
        _exit(0);
    }
    check(child > 0 && read(ready[0], &byte, 1) == 1, "read");
}

/* In a child of its own, whose status it returns. */
static int in_new_image(const char *how) {
    int status;
    const pid_t child = fork();
    check(child >= 0, "fork");
    if (child == 0) {
        if (*how == 'r')
            hold_tracer();
        set_timer(*how == 'r' ? TIMER_MS : SHORT_MS);
        execl("/proc/self/exe", "new image", how, (char *)NULL);
        _exit(1);
    }
    check(waitpid(child, &status, 0) == child, "waitpid");
    return status;
}

static int handles_it(void) {
    struct itimerval left;
    signal(SIGALRM, note);
    for (int i = 0; i < MOST_S * 100 && !came; i++)
        usleep(10000);
    check(came, "the signal of a timer");
    check(getitimer(ITIMER_REAL, &left) == 0 && left.it_interval.tv_sec == INTERVAL_S, "interval");
    while (wait(NULL) > 0)
        ;
    return right();
}

int main(int argc, char **argv) {
    if (argc == 2 && *argv[1] == 'r')
        return handles_it();
    if (argc == 2)
        for (;;)
            pause();
    check(in_new_image("real") == RIGHT << 8, "a handler that is set at once");
    check(WTERMSIG(in_new_image("late")) == SIGALRM, "no handler");
    return RIGHT;
}
