/* See status.h: reads status, stat, syscall and other files of /proc/TID. */
#include "target/status.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/host.h"
#include "base/mem.h"
#include "target/proc_memo.h"

static FILE *open_proc(pid_t tid, const char *file) {
    char name[64];
    snprintf(name, sizeof name, "/proc/%d/%s", tid, file);
    return fopen(name, "re");
}

/* The whole of status, which the caller frees; NULL: not readable. The kernel makes the text at
 * once (fs/proc, single_open()): a read that leaves room is the last. */
static char *status_text(pid_t tid) {
    enum { USUAL = 4096 };
    char name[64];
    snprintf(name, sizeof name, "/proc/%d/status", tid);
    AUTO_FD int fd = open(name, O_RDONLY | O_CLOEXEC);
    AUTO_FREE char *text = NULL;
    size_t size = 0, room = 0;
    ssize_t n = fd < 0 ? 0 : 1;
    while (n > 0 && size == room) {
        room += USUAL;
        text = mem_resize(text, room + 1, 1);
        n = read(fd, text + size, room - size);
        size += n > 0 ? (size_t)n : 0;
    }
    if (!size)
        return NULL;
    text[size] = '\0';
    return steal(text);
}

/* Behind NAME ("Tgid:") in TEXT of status; NULL: it is not there. Names of threads hold no
 * newlines there. */
static char *behind(char *text, const char *name) {
    const size_t length = strlen(name);
    char *line = text;
    while (line && strncmp(line, name, length) != 0) {
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return line ? line + length : NULL;
}

/* The INDEXth value behind NAME, in BASE; or 0. */
static uint64_t value_in(char *text, const char *name, int base, unsigned index) {
    char *at = behind(text, name);
    uint64_t value = 0;
    for (unsigned i = 0; at && i <= index; i++)
        value = strtoull(at, &at, base);
    return value;
}

/* The same, of a process that stands: perhaps as it was when it began to (proc_memo.h). */
static char *lasting_text(pid_t tid) {
    const char *kept = proc_memo_text(tid, MEMO_STATUS);
    if (kept)
        return mem_strdup(kept);
    char *text = status_text(tid);
    if (text)
        proc_memo_keep(tid, MEMO_STATUS, text);
    return text;
}

static uint64_t lasting_field(pid_t tid, const char *name, int base) {
    AUTO_FREE char *text = lasting_text(tid);
    return value_in(text, name, base, 0);
}

static uint64_t field(pid_t tid, const char *name, int base) {
    AUTO_FREE char *text = status_text(tid);
    return value_in(text, name, base, 0);
}

/* Signal 0 is checked, but not sent; it may be forbidden (EPERM). */
bool status_is_thread_of(pid_t tid, pid_t pid) {
    return tid > 0 && pid > 0 && (syscall(SYS_tgkill, pid, tid, 0) == 0 || errno == EPERM);
}

pid_t status_process_of(pid_t tid) {
    if (status_is_thread_of(tid, tid)) /* its first thread; that takes less time to find out */
        return tid;
    pid_t pid = (pid_t)lasting_field(tid, "Tgid:", 10);
    return pid ? pid : tid;
}

pid_t status_parent_of(pid_t tid) { return (pid_t)lasting_field(tid, "PPid:", 10); }

bool status_descends(pid_t tid, pid_t pid) {
    pid_t at = status_process_of(tid);
    while (at > 0 && at != pid)
        at = status_parent_of(at);
    return at == pid;
}

/* The last id in the list: one for each namespace, innermost last. */
static pid_t innermost(pid_t tid, const char *name) {
    AUTO_FREE char *text = lasting_text(tid);
    char *line = behind(text, name);
    char *end = line ? strchr(line, '\n') : NULL;
    if (!end)
        return 0;
    *end = '\0';
    const char *last = strrchr(line, '\t');
    return last ? (pid_t)strtol(last, NULL, 10) : 0;
}

pid_t status_innermost_pid(pid_t tid) { return innermost(tid, "NStgid:"); }
pid_t status_innermost_tid(pid_t tid) { return innermost(tid, "NSpid:"); }

/* Field NUMBER, 4 or more, of stat (proc(5)); 0: not readable. The second field, the name, may hold
 * any character, but ends with the last ')'. */
static uint64_t stat_field(pid_t tid, int number) {
    enum { AFTER_NAME = 3 };
    AUTO_FREE char *line = NULL;
    size_t room = 0;
    FILE *f = open_proc(tid, "stat");
    const char *at = f && getdelim(&line, &room, '\0', f) > 0 ? strrchr(line, ')') : NULL;
    if (f)
        fclose(f);
    for (int i = AFTER_NAME - 1; at && i < number; i++) {
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
    }
    return at ? strtoull(at, NULL, 10) : 0;
}

taddr_t status_stack_start(pid_t tid) {
    enum { START_STACK = 28 };
    return stat_field(tid, START_STACK);
}

taddr_t status_break_start(pid_t tid) {
    enum { START_BRK = 47 };
    return stat_field(tid, START_BRK);
}

bool status_has_memory(pid_t tid) {
    enum { VSIZE = 23 };
    return stat_field(tid, VSIZE);
}

bool status_is_kernel_thread(pid_t tid) {
    enum { FLAGS = 9, PF_KTHREAD = 0x200000 /* linux/sched.h */ };
    return stat_field(tid, FLAGS) & PF_KTHREAD;
}

bool status_is_worker(pid_t tid) {
    enum { FLAGS = 9, PF_IO_WORKER = 0x10, PF_USER_WORKER = 0x4000 }; /* linux/sched.h */
    static const struct {
        const char *name; /* beginning of its name, which is quicker to read */
        uint64_t flag;    /* since Linux 5.12; 6.4 */
    } kinds[] = {{"iou-", PF_IO_WORKER}, {"vhost-", PF_USER_WORKER}};
    char name[32];
    status_name(tid, name, sizeof name);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strncmp(name, kinds[i].name, strlen(kinds[i].name)) == 0)
            return stat_field(tid, FLAGS) & kinds[i].flag;
    return false;
}

enum { SECCOMP_STRICT = 1 }; /* proc(5) */

bool status_seccomp_is_strict(pid_t tid) { return field(tid, "Seccomp:", 10) == SECCOMP_STRICT; }

unsigned status_seccomp_filters(pid_t tid) {
    enum { NO_CALLS = 1 << 20 };
    AUTO_FREE char *text = lasting_text(tid);
    if (value_in(text, "Seccomp:", 10, 0) == SECCOMP_STRICT)
        return NO_CALLS;
    return (unsigned)value_in(text, "Seccomp_filters:", 10, 0);
}

/* The kernel queues ignored signals of traced processes, too, since the tracer may want them. */
bool status_signal_pending(pid_t tid) {
    static const uint64_t IGNORED =
        UINT64_C(1) << (SIGCHLD - 1) | UINT64_C(1) << (SIGURG - 1) | UINT64_C(1) << (SIGWINCH - 1);
    AUTO_FREE char *text = status_text(tid);
    uint64_t pending = value_in(text, "SigPnd:", 16, 0) | value_in(text, "ShdPnd:", 16, 0);
    uint64_t caught = value_in(text, "SigCgt:", 16, 0);
    return pending & ~value_in(text, "SigBlk:", 16, 0) & ~value_in(text, "SigIgn:", 16, 0) &
           ~(IGNORED & ~caught);
}

bool status_ignores(pid_t tid, int sig) {
    bool by_default = sig == SIGCHLD || sig == SIGCONT || sig == SIGURG || sig == SIGWINCH;
    AUTO_FREE char *text = status_text(tid);
    bool caught = value_in(text, "SigCgt:", 16, 0) >> (sig - 1) & 1;
    return value_in(text, "SigIgn:", 16, 0) >> (sig - 1) & 1 || (by_default && !caught);
}

bool status_actions(pid_t tid, uint64_t *ret_caught, uint64_t *ret_ignored) {
    AUTO_FREE char *text = status_text(tid);
    *ret_caught = value_in(text, "SigCgt:", 16, 0);
    *ret_ignored = value_in(text, "SigIgn:", 16, 0);
    return text != NULL;
}

/* A letter of proc(5); 'X' if TID is gone. */
static char state_of(pid_t tid) {
    char line[256];
    FILE *f = open_proc(tid, "stat");
    const char *name_end = f && fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
    char state = name_end ? name_end[2] : 'X';
    if (f)
        fclose(f);
    return state;
}

bool status_has_ended(pid_t tid) {
    char state = state_of(tid);
    return state == 'Z' || state == 'X';
}

bool status_is_runnable(pid_t tid) { return state_of(tid) == 'R'; }
bool status_is_uninterruptible(pid_t tid) { return state_of(tid) == 'D'; }

uint64_t status_switches(pid_t tid) {
    AUTO_FREE char *text = status_text(tid);
    return value_in(text, "voluntary_ctxt_switches:", 10, 0) +
           value_in(text, "nonvoluntary_ctxt_switches:", 10, 0);
}

size_t status_threads(pid_t pid, pid_t **ret) {
    ARRAY(pid_t) list = {0};
    AUTO_FREE char *folder = mem_printf("/proc/%d/task", pid);
    DIR *d = opendir(folder);
    for (const struct dirent *e; d && (e = readdir(d));) {
        pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);
        if (tid && !status_has_ended(tid) && !status_is_worker(tid))
            ARRAY_PUSH(&list, tid);
    }
    if (d)
        closedir(d);
    *ret = list.at;
    return list.count;
}

bool status_syscall_of(pid_t tid, long *ret_number, uint64_t *ret_argument) {
    FILE *f = open_proc(tid, "syscall"); /* proc(5) */
    bool known = f && fscanf(f, "%ld %" SCNx64, ret_number, ret_argument) == 2 && *ret_number >= 0;
    if (f)
        fclose(f);
    return known;
}

void status_blocking_syscall(pid_t tid, struct status_wait *ret) {
    FILE *f = open_proc(tid, "syscall");
    bool known = f && fscanf(f, "%ld", &ret->number) == 1;
    for (size_t i = 0; known && i < sizeof ret->args / sizeof *ret->args; i++)
        known = fscanf(f, "%" SCNx64, &ret->args[i]) == 1;
    if (!known || fscanf(f, "%" SCNx64 " %" SCNx64, &ret->sp, &ret->pc) != 2)
        ret->number = -1;
    if (f)
        fclose(f);
}

bool status_stack_of(pid_t tid, taddr_t *ret_sp) {
    FILE *f = open_proc(tid, "syscall");
    bool known = f && fscanf(f, "%*d %*x %*x %*x %*x %*x %*x %" SCNx64, ret_sp) == 1;
    if (f)
        fclose(f);
    return known;
}

/* The pc is the last number, inside a system call and outside. */
bool status_pc_of(pid_t tid, taddr_t *ret_pc) {
    char line[256];
    FILE *f = open_proc(tid, "syscall");
    const char *last = f && fgets(line, sizeof line, f) ? strrchr(line, ' ') : NULL;
    if (f)
        fclose(f);
    *ret_pc = last ? strtoull(last, NULL, 16) : 0;
    return last;
}

bool status_created(pid_t tid, pid_t child) {
    AUTO_FREE char *name = mem_printf("task/%d/children", tid);
    FILE *f = open_proc(tid, name);
    if (!f)
        return status_parent_of(child) == status_process_of(tid);
    int listed = 0;
    bool found = false;
    while (!found && fscanf(f, "%d", &listed) == 1)
        found = listed == child;
    fclose(f);
    return found;
}

/* A vfork parent waits uninterruptibly, so /proc shows its call without a stop. clone3's flags are
 * in memory, and are not checked. */
bool status_is_in_vfork(pid_t tid) {
    long number;
    uint64_t flags;
    if (!status_syscall_of(tid, &number, &flags))
        return false;
    return number == REGS_CALL_VFORK || number == SYS_clone3 ||
           (number == SYS_clone && flags & CLONE_VFORK);
}

pid_t status_tracer_of(pid_t tid) { return (pid_t)field(tid, "TracerPid:", 10); }

bool status_catches(pid_t tid, int signal) { return field(tid, "SigCgt:", 16) >> (signal - 1) & 1; }

void status_credentials(pid_t tid, struct status_credentials *ret) {
    enum { EFFECTIVE = 1 };
    AUTO_FREE char *text = lasting_text(tid);
    *ret = (struct status_credentials){.user = (uid_t)value_in(text, "Uid:", 10, EFFECTIVE),
                                       .group = (gid_t)value_in(text, "Gid:", 10, EFFECTIVE),
                                       .permitted = value_in(text, "CapPrm:", 16, 0),
                                       .bounding = value_in(text, "CapBnd:", 16, 0),
                                       .no_new_privileges = value_in(text, "NoNewPrivs:", 10, 0)};
}

bool status_ids_match(pid_t tid, uid_t *ret_user) {
    enum { SETS = 3 }; /* real, effective, saved */
    AUTO_FREE char *text = status_text(tid);
    for (unsigned i = 0; i < SETS; i++) {
        *ret_user = (uid_t)value_in(text, "Uid:", 10, i);
        if (*ret_user != getuid())
            return false;
    }
    for (unsigned i = 0; i < SETS; i++)
        if ((gid_t)value_in(text, "Gid:", 10, i) != getgid())
            return false;
    return true;
}

void status_name(pid_t tid, char *out, size_t size) {
    FILE *f = open_proc(tid, "comm");
    if (!f || !fgets(out, (int)size, f))
        out[0] = '\0';
    if (f)
        fclose(f);
    out[strcspn(out, "\n")] = '\0';
}
