/* The child waits on a pipe until it is seized. A second pipe reports a failed exec. */
#include "target/launch.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/mem.h"
#include "target/refusal.h"
#include "target/status.h"
#include "target/thread.h"

/* The child's report of a failed exec. */
struct failure {
    int code;
    bool found;       /* the file exists, but its interpreter does not, or it cannot run */
    uint16_t machine; /* of an ELF file for another machine, as EM_*; else 0 */
    bool little_endian;
};

/* Reads an ELF file's machine, which headers of both classes have at the same offset. */
static void read_machine(const char *path, struct failure *f) {
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    Elf32_Ehdr header;
    if (fd < 0 || read(fd, &header, sizeof header) != (ssize_t)sizeof header ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_VERSION] != EV_CURRENT)
        return;
    f->little_endian = header.e_ident[EI_DATA] == ELFDATA2LSB;
    f->machine = f->little_endian ? header.e_machine : __builtin_bswap16(header.e_machine);
    if (f->little_endian && f->machine == arch_host()->machine)
        f->machine = 0;
}

/* Returns only on failure. If the file does not exist, *F is unchanged. */
static void try_file(const char *path, char *const argv[], struct failure *f) {
    execv(path, argv);
    int code = errno;
    if (code == ENOENT && faccessat(AT_FDCWD, path, F_OK, AT_EACCESS) < 0)
        return;
    *f = (struct failure){.code = code, .found = true};
    if (code == ENOEXEC)
        read_machine(path, f);
}

/* Searches like execvp(), but never gives an unknown file to a shell. */
static struct failure try_path(char *const argv[]) {
    struct failure f = {.code = ENOENT};
    const char *path = getenv("PATH");
    if (!*argv[0])
        return f;
    if (strchr(argv[0], '/')) {
        try_file(argv[0], argv, &f);
        return f;
    }
    for (const char *at = path ? path : "/bin:/usr/bin", *end; at; at = *end ? end + 1 : NULL) {
        end = strchrnul(at, ':');
        const char *slash = end == at ? "" : "/";
        AUTO_FREE char *file = mem_printf("%.*s%s%s", (int)(end - at), at, slash, argv[0]);
        struct failure here = {0};
        try_file(file, argv, &here);
        if (here.code && here.code != ENOTDIR)
            f = here;
        if (f.code != ENOENT && f.code != EACCES)
            break;
    }
    return f;
}

/* In the child: waits for a byte from GO, then execs the program. Reports a failure to FAILED. */
static void run_program(char *const argv[], const sigset_t *mask, int go, int failed) {
    char byte;
    ssize_t n;
    do
        n = read(go, &byte, 1);
    while (n < 0 && errno == EINTR);
    if (n != 1) /* the tool has died */
        _exit(125);
    sigprocmask(SIG_SETMASK, mask, NULL);
    struct failure f = try_path(argv);
    n = write(failed, &f, sizeof f);
    _exit(127);
}

static int foreign_machine(const char *program, struct failure f, struct err *err) {
    const struct arch *arch = f.little_endian ? arch_for_machine(f.machine) : NULL;
    if (!arch)
        return err_set(err, f.code, "not-executable", "%s: is for another machine (ELF machine %u)",
                       program, f.machine);
    return err_set(err, f.code, "not-executable",
                   "%s: is for another machine (%s): record it there; spoor explain and views of "
                   "its traces work here too",
                   program, arch->name);
}

static int exec_error(const char *program, struct failure f, struct err *err) {
    if (!f.found)
        return err_set(err, f.code, "not-found", "%s: no such program", program);
    if (f.code == ENOENT)
        return err_set(err, f.code, "not-executable", "%s: its interpreter does not exist",
                       program);
    if (f.machine)
        return foreign_machine(program, f, err);
    if (f.code == ENOEXEC)
        return err_set(err, f.code, "not-executable",
                       "%s: is neither a program nor a script with an interpreter line (#!)",
                       program);
    return err_set(err, f.code, "not-executable", "%s: cannot be run: %s", program,
                   strerror(f.code));
}

static int killed(const char *program, struct err *err) {
    return err_set(err, ECHILD, "fork", "%s: was killed before its first instruction", program);
}

/* Waits for the exec event, or for the child's report of a failure. */
static int await_exec(pid_t pid, const char *program, int failed, struct err *err) {
    for (;;) {
        int status;
        struct failure f;
        if (waitpid(pid, &status, __WALL) < 0) {
            if (errno == EINTR)
                continue;
            return err_set(err, errno, "fork", "%s: waiting for it failed: %s", program,
                           strerror(errno));
        }
        const struct stop stop = stop_of_status(status);
        if (stop_is_end(stop.kind)) {
            if (read(failed, &f, sizeof f) == (ssize_t)sizeof f)
                return exec_error(program, f, err);
            return killed(program, err);
        }
        if (stop.kind == STOP_EXEC)
            return 0;
        thread_continue(pid, stop.kind == STOP_SIGNAL ? stop.signal : 0);
    }
}

int launch(char *const argv[], const sigset_t *mask, pid_t *ret_pid, struct err *err) {
    int go[2] = {-1, -1}, failed[2] = {-1, -1};
    if (pipe2(go, O_CLOEXEC) < 0)
        return err_set(err, errno, "fork", "pipe: %s", strerror(errno));
    AUTO_FD int go_read = go[0], go_write = go[1];
    if (pipe2(failed, O_CLOEXEC) < 0)
        return err_set(err, errno, "fork", "pipe: %s", strerror(errno));
    AUTO_FD int failed_read = failed[0], failed_write = failed[1];
    pid_t pid = fork();
    if (pid == 0) {
        close(go_write); /* so that the tool's death ends the wait */
        run_program(argv, mask, go_read, failed_write);
    }
    close(failed_write);
    failed_write = -1;
    if (pid < 0)
        return err_set(err, errno, "fork", "fork: %s", strerror(errno));
    int rc = thread_seize(pid, NULL);
    if (rc < 0) {
        rc = status_has_ended(pid) ? killed(argv[0], err) : refusal(pid, argv[0], -rc, err);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        return rc;
    }
    ssize_t n = write(go_write, "", 1); /* no SIGPIPE: go_read is open here, too */
    (void)n;
    rc = await_exec(pid, argv[0], failed_read, err);
    if (rc == 0)
        *ret_pid = pid;
    return rc;
}
