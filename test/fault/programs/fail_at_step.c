/*
 * Loaded into spoor by LD_PRELOAD: at an exact step of spoor's work, one thing fails or one process
 * is killed. Steps are requests to ptrace and accesses to another process's memory, counted
 * together. For other strikes N counts the operations that can fail.
 *
 *     STRIKE=spoor:N      before step N spoor is killed
 *     STRIKE=settling:N   the same, counted from the first thread that spoor brings out of a
 *                         trampoline: from the request that blocks all but fault signals
 *     STRIKE=program:N    before step N the process of the latest request is killed
 *     STRIKE=exec:N       that process gets SIGUSR1
 *     STRIKE=fork:N       that process gets SIGUSR2
 *     STRIKE=seize:N      EPERM for the Nth PTRACE_SEIZE
 *     STRIKE=memory:N     EIO for the Nth access to memory
 *     STRIKE=call:N       ENOSYS for the Nth remote call: its number is replaced
 *     STRIKE=room:N       ENOMEM for the Nth remote call
 *     STRIKE=unmap:N      ENOMEM for the Nth remote munmap
 *     STRIKE=take:N       EPERM for the first N ways to take a descriptor out of the program
 *     STRIKE=size:N       ENOSPC when shared memory gets its size
 *     STRIKE=maps:N       ENOMEM when the program's memory map is read
 *     STRIKE=threads:N    ENOMEM when its threads are listed
 *     STRIKE=unlisted:N   the same from list N on
 *     STRIKE=count:FILE   at its end spoor writes the number of steps to FILE
 *     STRIKE=between:     at the first request to stop a thread, when all are seized, a byte goes
 *                         to the pipe "now"; then the kernel's report of what follows is awaited
 */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum strike {
    SPOOR,
    SETTLING,
    PROGRAM,
    EXEC,
    FORK,
    SEIZE,
    MEMORY,
    CALL,
    ROOM,
    UNMAP,
    BETWEEN,
    TAKE,
    SIZE,
    MAPS,
    THREADS,
    UNLISTED,
    COUNT,
    NOTHING
};
static const char *const names[] = {
    "spoor:", "settling:", "program:", "exec:", "fork:", "seize:",   "memory:",   "call:", "room:",
    "unmap:", "between:",  "take:",    "size:", "maps:", "threads:", "unlisted:", "count:"};
static enum strike strike = NOTHING;
static long countdown, count;
static char file[256];
static pid_t last_pid; /* the process that the latest request was for */
static int settling;   /* whether the request from which SETTLING counts was made */

__attribute__((constructor)) static void begin(void) {
    const char *how = getenv("STRIKE");
    unsetenv("LD_PRELOAD"); /* the program must not inherit it */
    if (!how)
        return;
    for (strike = SPOOR;
         strike < NOTHING && strncmp(how, names[strike], strlen(names[strike])) != 0;)
        strike++;
    const char *rest = strchr(how, ':') + 1;
    countdown = strtol(rest, NULL, 10);
    snprintf(file, sizeof file, "%s", rest);
    unsetenv("STRIKE");
}

__attribute__((destructor)) static void end(void) {
    FILE *f = strike == COUNT ? fopen(file, "w") : NULL;
    if (f)
        fprintf(f, "%ld\n", count);
    if (f)
        fclose(f);
}

#include "fail_at_step_calls.h"

/* ---- strikes ---- */

/* Turns RESULT of the kernel into the result of a C library function. */
static long returned(long result) {
    if (result >= 0 || result < -4095)
        return result;
    errno = (int)-result;
    return -1;
}

/* As syscall(), which this file replaces. */
static long kernel(long number, long a, long b, long c, long d, long e, long f) {
    return returned(call_kernel(number, a, b, c, d, e, f));
}

static void count_step(void) {
    count++;
    if (strike == SPOOR && countdown-- == 0)
        kill(getpid(), SIGKILL);
    if (strike == SETTLING && settling && countdown-- == 0)
        kill(getpid(), SIGKILL);
    if ((strike == PROGRAM || strike == EXEC || strike == FORK) && countdown-- == 0 && last_pid)
        kill(last_pid, strike == PROGRAM ? SIGKILL : strike == EXEC ? SIGUSR1 : SIGUSR2);
}

static int fails(enum strike what, int error) {
    if (strike != what || countdown-- != 0)
        return 0;
    errno = error;
    return 1;
}

static uint64_t peek(pid_t pid, uint64_t at) {
    uint64_t text;
    return kernel(SYS_ptrace, PTRACE_PEEKTEXT, pid, (long)at, (long)&text, 0, 0) < 0 ? 0 : text;
}

/* A mapping of more memory than can exist. */
static const unsigned long too_much[] = {
    0, 0ul - (1 << 20), 0, MAP_PRIVATE | MAP_ANONYMOUS, (unsigned long)-1, 0};

/* A number that no system call has: ENOSYS. (−1 raises SIGILL on 32-bit Arm, and returns the
 * argument.) */
enum { NO_CALL = 0x7fff };

/* Counts a remote call. Returns the number that replaces NUMBER; CALL_MMAP: with too_much. */
static unsigned long strike_call(unsigned long number) {
    if (fails(CALL, 0))
        return NO_CALL;
    return fails(ROOM, 0) || (number == SYS_munmap && fails(UNMAP, 0)) ? CALL_MMAP : 0;
}

static void poke(pid_t pid, uint64_t at, unsigned long word) {
    kernel(SYS_ptrace, PTRACE_POKETEXT, pid, (long)at, (long)word, 0, 0);
}

static void replace_series(pid_t pid, uint64_t table, unsigned count) {
    for (uint64_t at = table; count--; at += sizeof(struct series_entry)) {
        const unsigned long other = strike_call(peek(pid, at));
        if (other)
            poke(pid, at, other);
        for (int i = 0; other == CALL_MMAP && i < 6; i++)
            poke(pid, at + 8 + 8 * (uint64_t)i, too_much[i]);
    }
}

static void replace_call(pid_t pid, registers *regs) {
    if (strike != CALL && strike != ROOM && strike != UNMAP)
        return;
    if (!is_call(regs, peek, pid)) {
        const uint64_t table = series_table(regs, peek, pid);
        replace_series(pid, table, table ? series_count(regs) : 0);
        return;
    }
    const unsigned long other = strike_call(*call_number(regs));
    if (other)
        *call_number(regs) = other;
    for (int i = 0; other == CALL_MMAP && i < 6; i++)
        *call_argument(regs, i) = too_much[i];
}

static int blocks_all_but_faults(const uint64_t *mask) {
    uint64_t faults = 0;
    const int list[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        faults |= (uint64_t)1 << (list[i] - 1);
    return *mask == ~faults;
}

/* Waits until the kernel reports something of a child, or a limited time if nothing is reported (a
 * first thread that ends). */
static void wait_for_report(void) {
    enum { MOST_MS = 200 };
    siginfo_t report = {.si_pid = 0};
    int pipe = open("now", O_WRONLY);
    if (write(pipe, "", 1) != 1)
        abort();
    close(pipe);
    for (int i = 0; i < MOST_MS && report.si_pid == 0; i++) {
        usleep(1000);
        if (waitid(P_ALL, 0, &report, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) < 0)
            return;
    }
}

long ptrace(enum __ptrace_request request, ...) {
    va_list ap;
    va_start(ap, request);
    pid_t pid = va_arg(ap, pid_t);
    void *addr = va_arg(ap, void *), *data = va_arg(ap, void *);
    va_end(ap);
    last_pid = pid;
    settling |= request == PTRACE_SETSIGMASK && blocks_all_but_faults(data);
    count_step();
    if (request == PTRACE_SEIZE && fails(SEIZE, EPERM))
        return -1;
    if (request == PTRACE_INTERRUPT && fails(BETWEEN, 0))
        wait_for_report();
    if (request == SET_REGISTERS)
        replace_call(pid, registers_of(data));
    return kernel(SYS_ptrace, request, pid, (long)addr, (long)data, 0, 0);
}

ssize_t pread64(int fd, void *buffer, size_t size, off64_t offset) {
    count_step();
    if (fails(MEMORY, EIO))
        return -1;
    return returned(call_at(SYS_pread64, fd, (long)buffer, (long)size, (uint64_t)offset));
}
ssize_t pread(int fd, void *buffer, size_t size, off_t offset) {
    return pread64(fd, buffer, size, offset);
}

ssize_t pwrite64(int fd, const void *buffer, size_t size, off64_t offset) {
    count_step();
    if (fails(MEMORY, EIO))
        return -1;
    return returned(call_at(SYS_pwrite64, fd, (long)buffer, (long)size, (uint64_t)offset));
}
ssize_t pwrite(int fd, const void *buffer, size_t size, off_t offset) {
    return pwrite64(fd, buffer, size, offset);
}

ssize_t process_vm_readv(pid_t pid, const struct iovec *to, unsigned long tos,
                         const struct iovec *from, unsigned long froms, unsigned long flags) {
    count_step();
    if (fails(MEMORY, EIO))
        return -1;
    return kernel(SYS_process_vm_readv, pid, (long)to, (long)tos, (long)from, (long)froms,
                  (long)flags);
}

static int cannot_take(void) {
    if (strike != TAKE || countdown <= 0)
        return 0;
    countdown--;
    errno = EPERM;
    return 1;
}

long syscall(long number, ...) {
    va_list ap;
    long given[6];
    va_start(ap, number);
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        given[i] = va_arg(ap, long);
    va_end(ap);
    if (number == SYS_pidfd_getfd && cannot_take())
        return -1;
    return kernel(number, given[0], given[1], given[2], given[3], given[4], given[5]);
}

int open64(const char *name, int flags, ...) {
    va_list ap;
    va_start(ap, flags);
    unsigned mode = va_arg(ap, unsigned);
    va_end(ap);
    const char *descriptor = strncmp(name, "/proc/", 6) == 0 ? strstr(name, "/fd/") : NULL;
    if (descriptor && cannot_take())
        return -1;
    return (int)kernel(SYS_openat, AT_FDCWD, (long)name, flags, mode, 0, 0);
}

int ftruncate64(int fd, off64_t size) {
    if (fcntl(fd, F_GET_SEALS) >= 0 && fails(SIZE, ENOSPC))
        return -1;
    return (int)returned(set_size(fd, (uint64_t)size));
}

static int ends_in(const char *name, const char *end) {
    size_t size = strlen(name), least = strlen(end);
    return size >= least && strcmp(name + size - least, end) == 0;
}

static int is_map(int fd) {
    char link[32], name[64] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    return strike == MAPS && readlink(link, name, sizeof name - 1) > 0 && ends_in(name, "/maps");
}

ssize_t read(int fd, void *buffer, size_t size) {
    if (is_map(fd) && fails(MAPS, ENOMEM))
        return -1;
    return kernel(SYS_read, fd, (long)buffer, (long)size, 0, 0, 0);
}

DIR *opendir(const char *name) {
    const int list = ends_in(name, "/task");
    if (list && fails(THREADS, ENOMEM))
        return NULL;
    if (list && strike == UNLISTED && countdown-- <= 0) {
        errno = ENOMEM;
        return NULL;
    }
    int fd = open64(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? NULL : fdopendir(fd);
}
