/* Checks processes before attach; finds the processes that share memory by kcmp(2). */
#include "target/candidate.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/regs.h"
#include "base/mem.h"
#include "base/search.h"
#include "target/refusal.h"
#include "target/status.h"

enum { NAME_ROOM = 32 };

pid_t candidate_thread(pid_t pid) {
    AUTO_FREE pid_t *tids = NULL;
    if (!status_has_ended(pid))
        return pid;
    size_t count = status_threads(pid, &tids);
    return count ? tids[0] : 0;
}

/* PID is not in /proc, but may exist. */
static int not_shown(pid_t pid, struct err *err) {
    if (pid > 0 && (kill(pid, 0) == 0 || errno == EPERM))
        return err_set(err, EPERM, "seize",
                       "process %d: cannot be traced: /proc does not show it here (it may be "
                       "mounted with hidepid): run spoor as root (sudo)",
                       pid);
    return err_set(err, ESRCH, "no-process", "process %d: there is no such process", pid);
}

static int has_ended(pid_t pid, struct err *err) {
    char name[NAME_ROOM], parent_name[NAME_ROOM];
    pid_t parent = status_parent_of(pid);
    status_name(pid, name, sizeof name);
    status_name(parent, parent_name, sizeof parent_name);
    return err_set(
        err, ESRCH, "ended",
        "process %d (%s): has ended: its parent, process %d (%s), has not collected its status",
        pid, name, parent, parent_name);
}

int candidate_check_process(pid_t pid, struct err *err) {
    char name[NAME_ROOM];
    AUTO_FREE char *folder = mem_printf("/proc/%d", pid);
    if (pid <= 0 || access(folder, F_OK) < 0)
        return not_shown(pid, err);
    pid_t process = status_process_of(pid);
    status_name(process, name, sizeof name);
    if (process != pid)
        return err_set(err, EINVAL, "thread-id",
                       "process %d: is a thread of process %d (%s): trace that process: spoor "
                       "traces all threads of a process",
                       pid, process, name);
    if (status_is_kernel_thread(pid))
        return err_set(err, EINVAL, "kernel-thread",
                       "process %d (%s): is a kernel thread: it runs no program", pid, name);
    return candidate_thread(pid) ? 0 : has_ended(pid, err);
}

static int unreadable(pid_t tid, struct err *err) {
    char command[NAME_ROOM];
    status_name(tid, command, sizeof command);
    return err_set(err, EACCES, "unreadable",
                   "process %d (%s): cannot be traced: its program file is not readable", tid,
                   command);
}

/* True for Valgrind's tools: static programs at a fixed address (Valgrind's configure.ac,
 * valt_load_address_pri_norml) that translate another program, and run the translation. */
static bool is_valgrind(int fd, const ElfW(Ehdr) * header) {
    const taddr_t place = 0x58000000;
    ElfW(Phdr) p[16];
    ssize_t size = header->e_phnum * (ssize_t)sizeof *p;
    bool found = false;
    if (header->e_type != ET_EXEC || header->e_phentsize != sizeof *p || size > (ssize_t)sizeof p ||
        pread(fd, p, (size_t)size, (off_t)header->e_phoff) != size)
        return false;
    for (size_t i = 0; i < header->e_phnum; i++) {
        if (p[i].p_type == PT_INTERP || p[i].p_type == PT_DYNAMIC)
            return false;
        found |= p[i].p_type == PT_LOAD && p[i].p_offset == 0 && p[i].p_vaddr == place;
    }
    return found;
}

int candidate_check_program(pid_t tid, struct err *err) {
    AUTO_FREE char *name = mem_printf("/proc/%d/exe", tid);
    AUTO_FD int fd = open(name, O_RDONLY | O_CLOEXEC);
    ElfW(Ehdr) header;
    if (fd < 0 && errno == EACCES)
        return unreadable(tid, err);
    if (fd < 0 || read(fd, &header, sizeof header) != (ssize_t)sizeof header)
        return 0; /* it cannot be read: assume a native program */
    bool native =
        header.e_ident[EI_CLASS] == REGS_ELF_CLASS && header.e_machine == REGS_ELF_MACHINE;
    if (native && is_valgrind(fd, &header))
        return err_set(
            err, ENOTSUP, "foreign-program",
            "process %d: is Valgrind, which runs translated code instead of the program's: left "
            "untraced",
            tid);
    if (native)
        return 0;
    return err_set(err, ENOEXEC, "foreign-program",
                   "process %d: is not a " REGS_PROGRAMS " program: spoor traces no others here",
                   tid);
}

/* Refuses if any thread has a tracer. */
static int check_tracers(pid_t pid, const char *what, struct err *err) {
    AUTO_FREE pid_t *tids = NULL;
    size_t count = status_threads(pid, &tids);
    for (size_t i = 0; i < count; i++)
        if (status_tracer_of(tids[i]))
            return refusal(tids[i], what, EPERM, err);
    return 0;
}

/* Opening a process's memory needs the same rights as tracing it (proc_mem_open(), ptrace(2)). */
static int check_rights(pid_t tid, const char *what, struct err *err) {
    AUTO_FREE char *name = mem_printf("/proc/%d/mem", tid);
    AUTO_FD int fd = open(name, O_RDONLY | O_CLOEXEC);
    return fd < 0 && (errno == EACCES || errno == EPERM) ? refusal(tid, what, EPERM, err) : 0;
}

int candidate_check(pid_t pid, struct err *err) {
    char name[NAME_ROOM];
    int rc = candidate_check_process(pid, err);
    if (rc < 0)
        return rc;
    if (pid == getpid())
        return err_set(err, EINVAL, "own-process", "process %d: is spoor itself", pid);
    pid_t tid = candidate_thread(pid);
    status_name(pid, name, sizeof name);
    AUTO_FREE char *what = mem_printf("process %d (%s)", pid, name);
    rc = check_tracers(pid, what, err);
    if (rc == 0)
        rc = check_rights(tid, what, err);
    return rc < 0 ? rc : candidate_check_program(tid, err);
}

static int compare_pid(const void *a, const void *b) {
    pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;
    return (x > y) - (x < y);
}

/* Lists all processes in /proc, ascending. */
static void list_processes(struct sharing *now) {
    DIR *d = opendir("/proc");
    for (const struct dirent *e; d && (e = readdir(d));) {
        pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
        if (pid > 0)
            ARRAY_PUSH(&now->seen, pid);
    }
    if (d)
        closedir(d);
    if (now->seen.count)
        qsort(now->seen.at, now->seen.count, sizeof *now->seen.at, compare_pid);
}

static bool is_seen(const struct sharing *s, pid_t pid) {
    const size_t i = SEARCH(k, s->seen.count, s->seen.at[k] < pid);
    return i < s->seen.count && s->seen.at[i] == pid;
}

/* 0: A and B share memory; positive: they do not; negative: unknown (kcmp(2)). */
static long compare_memory(pid_t a, pid_t b) {
    enum { KCMP_VM = 1 };
    return syscall(SYS_kcmp, a, b, KCMP_VM, 0, 0);
}

/* Kernel threads and exiting tasks have no memory, and so compare as equal. */
static bool share_memory(pid_t a, pid_t b) {
    return compare_memory(a, b) == 0 && status_has_memory(b);
}

bool sharing_is_over(const struct sharing *s, pid_t tid) {
    pid_t thread = candidate_thread(s->pid);
    return thread && compare_memory(thread, tid) > 0 && status_has_memory(tid);
}

void sharing_update(struct sharing *s) {
    struct sharing now = {.pid = s->pid};
    pid_t tid = candidate_thread(s->pid);
    list_processes(&now);
    for (size_t i = 0; tid && i < now.seen.count; i++) {
        pid_t other = now.seen.at[i];
        pid_t thread = other != s->pid && !is_seen(s, other) ? candidate_thread(other) : 0;
        if (thread && share_memory(tid, thread))
            ARRAY_PUSH(&s->sharers, other);
    }
    ARRAY_FREE(&s->seen);
    s->seen.at = now.seen.at;
    s->seen.count = now.seen.count;
}

void sharing_done(struct sharing *s) {
    ARRAY_FREE(&s->sharers);
    ARRAY_FREE(&s->seen);
}
