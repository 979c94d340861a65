/* See browser.h. */
#include "page/browser.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cmd/say.h"

static bool is_set(const char *name) {
    const char *value = getenv(name);
    return value && *value;
}

static const char *user_name(void) {
    const struct passwd *user = getpwuid(getuid());
    return user ? user->pw_name : "USER";
}

/* SSH_CONNECTION (ssh(1)): the client's address and port, and the server's. */
static void tell_ssh(unsigned port) {
    char server[64], server_port[16], host[HOST_NAME_MAX + 1] = "HOST";
    const char *connection = getenv("SSH_CONNECTION");
    gethostname(host, sizeof host - 1);
    bool known = connection && sscanf(connection, "%*s %*s %63s %15s", server, server_port) == 2;
    bool other_port = known && strcmp(server_port, "22") != 0;
    say_note("no browser here; on your machine: ssh -N -L %u:127.0.0.1:%u%s%s %s@%s, and open the "
             "address",
             port, port, other_port ? " -p " : "", other_port ? server_port : "", user_name(),
             known ? server : host);
}

/* In the new process. REPORT, which ends at exec, gets the reason if there is none. */
static _Noreturn void execute(const char *program, const char *url, int report) {
    signal(SIGPIPE, SIG_DFL);
    signal(SIGCHLD, SIG_DFL);
    setsid();
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; null >= 0 && fd < 3; fd++)
        dup2(null, fd);
    execlp(program, program, url, (char *)NULL);
    int why = errno;
    _exit(write(report, &why, sizeof why) < 0 ? 126 : 127);
}

/* 0, or an errno: PROGRAM could not be started. */
static int run(const char *program, const char *url) {
    int ends[2], why = 0;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return errno;
    pid_t pid = fork();
    if (pid == 0)
        execute(program, url, ends[1]);
    if (pid < 0)
        why = errno;
    close(ends[1]);
    if (pid > 0 && read(ends[0], &why, sizeof why) != sizeof why)
        why = 0;
    close(ends[0]);
    return why;
}

void browser_open(const char *url, unsigned port) {
    if (is_set("SSH_CONNECTION") || (!is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY"))) {
        tell_ssh(port);
        return;
    }
    signal(SIGCHLD, SIG_IGN);
    int why = run("xdg-open", url);
    if (why)
        say_note("xdg-open: %s: no browser was opened: open the address in one", strerror(why));
}
