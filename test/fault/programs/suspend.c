/*
 * A program in the foreground of a terminal: suspend default|ignore|handle
 *
 * It prints "ready" and obeys its input: "group" stops its process group, "end" ends it. With
 * "ignore" the terminal's stop signals do nothing. With "handle" it prints so before it stops
 * itself.
 */
#include <signal.h>

#include "self_check.h"

static void say(const char *text) { check(write(1, text, strlen(text)) > 0, "output"); }

static void on_stop(int sig) {
    (void)sig;
    say("tidied\n");
    raise(SIGSTOP);
    say("back\n");
}

static void on_continue(int sig) {
    (void)sig;
    say("continued\n");
}

int main(int argc, char **argv) {
    char line[64];
    check(argc == 2, "usage");
    if (strcmp(argv[1], "ignore") == 0)
        signal(SIGTSTP, SIG_IGN);
    if (strcmp(argv[1], "handle") == 0)
        signal(SIGTSTP, on_stop);
    signal(SIGCONT, on_continue);
    say("ready\n");
    for (;;) {
        check_work();
        ssize_t n = read(0, line, sizeof line - 1);
        check(n > 0, "input");
        line[n] = '\0';
        if (strcmp(line, "group\n") == 0)
            kill(0, SIGTSTP);
        if (strcmp(line, "end\n") == 0)
            return right();
    }
}
