#include "cmd/term.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct term term_open(const struct view_options *o) {
    const char *kind = getenv("TERM"), *no_color = getenv("NO_COLOR");
    struct term t = {.is_terminal = isatty(STDOUT_FILENO) && !o->json};
    struct winsize size;
    if (t.is_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20)
        t.width = size.ws_col;
    bool able = t.is_terminal && kind && strcmp(kind, "dumb") != 0 && !(no_color && *no_color);
    t.color = !o->json && (o->color == COLOR_ALWAYS || (o->color == COLOR_AUTO && able));
    return t;
}

static pid_t pager;

static void become_pager(int input) {
    const char *command = getenv("PAGER");
    dup2(input, STDIN_FILENO);
    setenv("LESS", "FRX", 0); /* quit if it fits, keep colours, leave the screen as it is */
    if (!command || !*command)
        command = "less";
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

void pager_start(const struct term *term, const struct view_options *o) {
    const char *command = getenv("PAGER");
    int ends[2];
    if (!term->is_terminal || o->no_pager || (command && strcmp(command, "cat") == 0))
        return;
    fflush(stdout);
    if (pipe(ends) < 0)
        return;
    pager = fork();
    if (pager == 0) {
        close(ends[1]);
        become_pager(ends[0]);
    }
    close(ends[0]);
    if (pager > 0) {
        dup2(ends[1], STDOUT_FILENO);
        signal(SIGINT, SIG_IGN); /* ^C is the pager's */
    }
    close(ends[1]);
}

void pager_finish(void) {
    if (pager <= 0)
        return;
    fflush(stdout);
    close(STDOUT_FILENO);
    while (waitpid(pager, NULL, 0) < 0)
        ;
    pager = 0;
}
