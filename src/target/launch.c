#include "target/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "target/thread.h"

/* In the child: waits for GO, then becomes the program; reports a failure through FAILED. */
static void become(char *const argv[], const sigset_t *mask, int go, int failed) {
    char byte;
    while (read(go, &byte, 1) < 0 && errno == EINTR)
        ;
    sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(argv[0], argv);
    int code = errno;
    ssize_t n = write(failed, &code, sizeof code);
    (void)n;
    _exit(127);
}

static int exec_error(const char *program, int code, struct err *err) {
    if (code == ENOENT)
        return err_set(err, code, "not-found", "%s: no such program", program);
    if (code == ENOEXEC)
        return err_set(err, code, "not-executable",
                       "%s: is neither a program nor a script that names its interpreter", program);
    return err_set(err, code, "not-executable", "%s: cannot be run: %s", program, strerror(code));
}

/* Waits for the exec event, or for the child's report that there will be none. */
static int await_exec(pid_t pid, const char *program, int failed, struct err *err) {
    for (;;) {
        int status, code = 0;
        if (waitpid(pid, &status, __WALL) < 0)
            return err_set(err, errno, "fork", "%s: lost: %s", program, strerror(errno));
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            if (read(failed, &code, sizeof code) != (ssize_t)sizeof code)
                code = ECHILD;
            return exec_error(program, code, err);
        }
        if (status >> 8 == (SIGTRAP | (PTRACE_EVENT_EXEC << 8)))
            return 0;
        int sig = status >> 16 ? 0 : WSTOPSIG(status);
        thread_continue(pid, sig);
    }
}

int launch(char *const argv[], const sigset_t *mask, pid_t *ret_pid, struct err *err) {
    int go[2] = {-1, -1}, failed[2] = {-1, -1};
    if (pipe2(go, O_CLOEXEC) < 0 || pipe2(failed, O_CLOEXEC) < 0)
        return err_set(err, errno, "fork", "pipe: %s", strerror(errno));
    pid_t pid = fork();
    if (pid == 0)
        become(argv, mask, go[0], failed[1]);
    AUTO_FD int go_write = go[1], failed_read = failed[0];
    close(go[0]);
    close(failed[1]);
    if (pid < 0)
        return err_set(err, errno, "fork", "fork: %s", strerror(errno));
    int rc = thread_seize(pid, err);
    if (rc < 0) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        return rc;
    }
    ssize_t n = write(go_write, "", 1);
    (void)n;
    rc = await_exec(pid, argv[0], failed_read, err);
    if (rc == 0)
        *ret_pid = pid;
    return rc;
}
