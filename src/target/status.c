#include "target/status.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static bool read_proc(pid_t tid, const char *file, char *out, size_t size) {
    char name[64];
    snprintf(name, sizeof name, "/proc/%d/%s", tid, file);
    AUTO_FD int fd = open(name, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);
    out[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* The value of FIELD ("Tgid:") in BASE, or 0. */
static uint64_t field(pid_t tid, const char *name, int base) {
    char text[4096];
    if (!read_proc(tid, "status", text, sizeof text))
        return 0;
    for (char *at = text; at; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, name, strlen(name)) == 0)
            return strtoull(at + strlen(name), NULL, base);
    }
    return 0;
}

pid_t status_process_of(pid_t tid) {
    pid_t pid = (pid_t)field(tid, "Tgid:", 10);
    return pid ? pid : tid;
}

pid_t status_parent_of(pid_t tid) { return (pid_t)field(tid, "PPid:", 10); }

unsigned status_seccomp_filters(pid_t tid) {
    enum { STRICT = 1, NO_CALLS = 1 << 20 };
    if (field(tid, "Seccomp:", 10) == STRICT)
        return NO_CALLS;
    return (unsigned)field(tid, "Seccomp_filters:", 10);
}

bool status_signal_pending(pid_t tid) {
    uint64_t pending = field(tid, "SigPnd:", 16) | field(tid, "ShdPnd:", 16);
    return pending & ~field(tid, "SigBlk:", 16);
}

bool status_catches(pid_t tid, int signal) { return field(tid, "SigCgt:", 16) >> (signal - 1) & 1; }

void status_name(pid_t tid, char *out, size_t size) {
    read_proc(tid, "comm", out, size);
    out[strcspn(out, "\n")] = '\0';
}
