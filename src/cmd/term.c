/* Asks the terminal, and runs the pager. */
#include "cmd/term.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"

struct term term_open(const struct view_options *o) {
    const char *kind = getenv("TERM"), *no_color = getenv("NO_COLOR");
    struct term t = {.is_terminal = isatty(STDOUT_FILENO) && !o->json};
    struct winsize size;
    if (t.is_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
        t.columns = size.ws_col >= 20 ? size.ws_col : 0;
        t.rows = size.ws_row;
    }
    t.names = o->names != NAMES_DEFAULT ? o->names : t.is_terminal ? NAMES_SHORT : NAMES_FULL;
    t.width = t.names == NAMES_SHORT ? t.columns : 0;
    bool able = t.is_terminal && kind && strcmp(kind, "dumb") != 0 && !(no_color && *no_color);
    t.color = !o->json && (o->color == COLOR_ALWAYS || (o->color == COLOR_AUTO && able));
    return t;
}

/* ---- the pager ---- */

static pid_t pager;
static int terminal = -1; /* the old standard output while a pager runs */

static bool is_in_path(const char *program) {
    const char *path = getenv("PATH");
    AUTO_FREE char *copy = mem_strdup(path ? path : "/usr/bin:/bin");
    char *rest = copy;
    for (const char *directory; (directory = strsep(&rest, ":"));) {
        AUTO_FREE char *file = mem_printf("%s/%s", directory, program);
        if (access(file, X_OK) == 0)
            return true;
    }
    return false;
}

/* A command line for the shell; NULL: no pager is wanted, or there is none. */
static const char *pager_command(void) {
    const char *command = getenv("PAGER"), *kind = getenv("TERM");
    if (!kind || strcmp(kind, "dumb") == 0 || (command && strcmp(command, "cat") == 0))
        return NULL;
    if (command && *command)
        return command;
    return is_in_path("less") ? "less" : NULL;
}

static void become_pager(const char *command, int input) {
    dup2(input, STDIN_FILENO);
    setenv("LESS", "FRX", 0); /* quit if it fits, keep colours, leave the screen as it is */
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

void pager_start(const struct term *term, const struct view_options *o) {
    const char *command = pager_command();
    int ends[2];
    if (!term->is_terminal || o->no_pager || !command)
        return;
    fflush(stdout);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return;
    pager = fork();
    if (pager == 0)
        become_pager(command, ends[0]);
    if (pager > 0) {
        terminal = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
        dup2(ends[1], STDOUT_FILENO);
        signal(SIGINT, SIG_IGN); /* ^C is for the pager */
    }
    close(ends[0]);
    close(ends[1]);
}

void pager_finish(void) {
    if (pager <= 0)
        return;
    fflush(stdout);
    dup2(terminal, STDOUT_FILENO); /* closes the pipe: the pager sees the end */
    close(terminal);
    while (waitpid(pager, NULL, 0) < 0 && errno == EINTR)
        continue;
    signal(SIGINT, SIG_DFL);
    pager = 0;
}
