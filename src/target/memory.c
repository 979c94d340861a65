/* Opens, reads and writes /proc/PID/mem. */
#include "target/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

int memory_open(pid_t tid, int *ret_fd, struct err *err) {
    char name[32];
    snprintf(name, sizeof name, "/proc/%d/mem", tid);
    int fd = open(name, O_RDWR | O_CLOEXEC);
    if (fd < 0 && errno == ESRCH)
        return err_set(err, ESRCH, "open-memory", "process %d: is exiting: its memory is unmapped",
                       tid);
    if (fd < 0)
        return err_set(err, errno, "open-memory", "process %d: cannot open its memory: %s", tid,
                       strerror(errno));
    *ret_fd = fd;
    return 0;
}

/* N: result of pread() or pwrite(); 0: the address space is gone (fs/proc/base.c, mem_rw()). */
static int failed(struct err *err, const char *verb, size_t size, taddr_t addr, ssize_t n) {
    int code = n < 0 ? errno : ESRCH;
    return err_set(err, code, "memory", "target memory: cannot %s %zu bytes at 0x%jx: %s", verb,
                   size, addr, strerror(code));
}

int memory_read(int fd, taddr_t addr, void *out, size_t size, struct err *err) {
    for (size_t done = 0; done < size;) {
        ssize_t n = pread(fd, (char *)out + done, size - done, (off_t)(addr + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return failed(err, "read", size, addr, n);
        done += (size_t)n;
    }
    return 0;
}

bool memory_read_fast(pid_t tid, taddr_t addr, void *out, size_t size) {
    struct iovec to = {out, size}, from = {(void *)(uintptr_t)addr, size};
    return process_vm_readv(tid, &to, 1, &from, 1, 0) == (ssize_t)size;
}

/*
 * May write code. On Arm instruction caches do not see stores. Data caches have to be cleaned and
 * instructions invalidated; then each processor has to synchronise its context (isb) before it runs
 * new code. The kernel does the first for other processes' executable pages (mm/memory.c,
 * copy_to_user_page()). The second comes with the exception return by which each thread continues:
 * all are stopped while text is written, but for a byte of a branch that withdraws a read
 * (patch/value_faults.c). doc/ARM.md has more.
 */
int memory_write(int fd, taddr_t addr, const void *bytes, size_t size, struct err *err) {
    for (size_t done = 0; done < size;) {
        ssize_t n = pwrite(fd, (const char *)bytes + done, size - done, (off_t)(addr + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return failed(err, "write", size, addr, n);
        done += (size_t)n;
    }
    return 0;
}
