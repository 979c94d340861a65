/*
 * Loaded into spoor: strikes at an exact moment of its work on processes, namely before its Nth
 * request to ptrace, or its Nth access to another's memory, all counted together.
 *
 *     STRIKE=spoor:N      spoor is killed
 *     STRIKE=program:N    the process that the request is for is killed
 *     STRIKE=count:FILE   at its end spoor writes to FILE how many there were
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

static enum { NOTHING, SPOOR, PROGRAM, COUNT } who;
static long left, count;
static char file[256];
static pid_t last; /* whom the latest request was for */

__attribute__((constructor)) static void begin(void) {
    const char *how = getenv("STRIKE");
    unsetenv("LD_PRELOAD"); /* the program shall not have it */
    if (!how)
        return;
    who = strncmp(how, "spoor:", 6) == 0     ? SPOOR
          : strncmp(how, "program:", 8) == 0 ? PROGRAM
                                             : COUNT;
    const char *rest = strchr(how, ':') + 1;
    left = strtol(rest, NULL, 10);
    snprintf(file, sizeof file, "%s", rest);
    unsetenv("STRIKE");
}

__attribute__((destructor)) static void end(void) {
    FILE *f = who == COUNT ? fopen(file, "w") : NULL;
    if (f)
        fprintf(f, "%ld\n", count);
    if (f)
        fclose(f);
}

static void step(void) {
    count++;
    if (who == SPOOR && left-- == 0)
        kill(getpid(), SIGKILL);
    if (who == PROGRAM && left-- == 0 && last)
        kill(last, SIGKILL);
}

long ptrace(enum __ptrace_request request, ...) {
    va_list ap;
    va_start(ap, request);
    pid_t pid = va_arg(ap, pid_t);
    void *addr = va_arg(ap, void *), *data = va_arg(ap, void *);
    va_end(ap);
    last = pid;
    step();
    return syscall(SYS_ptrace, request, pid, addr, data);
}

ssize_t pread(int fd, void *buffer, size_t size, off_t offset) {
    step();
    return syscall(SYS_pread64, fd, buffer, size, offset);
}
ssize_t pread64(int fd, void *buffer, size_t size, off_t offset) {
    return pread(fd, buffer, size, offset);
}

ssize_t pwrite(int fd, const void *buffer, size_t size, off_t offset) {
    step();
    return syscall(SYS_pwrite64, fd, buffer, size, offset);
}
ssize_t pwrite64(int fd, const void *buffer, size_t size, off_t offset) {
    return pwrite(fd, buffer, size, offset);
}
