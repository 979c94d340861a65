/* The remote calls that spoor makes, and whether a sandbox allows them. */
#include "patch/permits.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "target/sandbox.h"
#include "target/status.h"

enum { PAGE = 4096, MASK_BYTES = 8 };
enum {
    A = 1,
    B = 2,
    C = 4,
    D = 8,
    E = 16
}; /* bits of the first to fifth argument: its value is not known here */

/* All remote calls of this room, and rt_sigreturn, by which a thread recovers from them alone. The
 * sandbox in test/fault/programs/sandboxes.c allows exactly these calls, except set_tls, which only
 * threads without a thread pointer make. */
static const struct {
    unsigned purposes;
    bool may_fail;
    const char *name;
    struct sandbox_call call;
} calls[] = {
    {~0u, false, "rt_sigreturn", {.number = SYS_rt_sigreturn, .unknown = 0x3f}},
    {PERMIT_CODE,
     false,
     "mmap",
     {REGS_CALL_MMAP, {0, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, ~0ul, 0}, A}},
    {PERMIT_CODE,
     false,
     "mmap",
     {REGS_CALL_MMAP,
      {0, 0, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, ~0ul, 0},
      A | B}},
    {PERMIT_CODE | PERMIT_LEAVE, false, "munmap", {SYS_munmap, {0}, A | B}},
    {PERMIT_LANES,
     false,
     "memfd_create",
     {SYS_memfd_create, {0, MFD_CLOEXEC | MFD_ALLOW_SEALING}, A}},
    {PERMIT_LANES,
     false,
     "mmap",
     {REGS_CALL_MMAP, {0, 0, PROT_READ | PROT_WRITE, MAP_SHARED, 0, 0}, A | B | E}},
    {PERMIT_LANES, false, "close", {SYS_close, {0}, A}},
    {PERMIT_LANES, true, "madvise", {SYS_madvise, {0, 0, MADV_DONTDUMP}, A | B}},
    {PERMIT_PAGES, true, "madvise", {SYS_madvise, {0, 0, MADV_DONTNEED}, A | B}},
    {PERMIT_LOOK, true, "prctl", {SYS_prctl, {PR_GET_DUMPABLE, 0}, 0}},
    {PERMIT_LOOK, true, "prctl", {SYS_prctl, {PR_SET_DUMPABLE, 1}, 0}},
    {PERMIT_LOOK, false, "prctl", {SYS_prctl, {PR_SET_DUMPABLE, 0}, 0}},
    {PERMIT_MASK, false, "rt_sigprocmask", {SYS_rt_sigprocmask, {SIG_BLOCK, 0, 0, MASK_BYTES}, 0}},
    {PERMIT_MASK,
     false,
     "rt_sigprocmask",
     {SYS_rt_sigprocmask, {SIG_SETMASK, 0, 0, MASK_BYTES}, B}},
    {PERMIT_TRAPS, false, "rt_sigaction", {SYS_rt_sigaction, {SIGTRAP, 0, 0, MASK_BYTES}, C}},
    {PERMIT_TRAPS, false, "rt_sigaction", {SYS_rt_sigaction, {SIGTRAP, 0, 0, MASK_BYTES}, B}},
    {PERMIT_TRAPS,
     false,
     "rt_tgsigqueueinfo",
     {SYS_rt_tgsigqueueinfo, {0, 0, SIGTRAP, 0}, A | B | D}},
    {PERMIT_READS, false, "rt_sigaction", {SYS_rt_sigaction, {SIGSEGV, 0, 0, MASK_BYTES}, B | C}},
    {PERMIT_READS, false, "rt_sigaction", {SYS_rt_sigaction, {SIGBUS, 0, 0, MASK_BYTES}, B | C}},
    {PERMIT_READS,
     false,
     "rt_tgsigqueueinfo",
     {SYS_rt_tgsigqueueinfo, {0, 0, 0, 0}, A | B | C | D}},
    {PERMIT_TIMERS, false, "getitimer", {SYS_getitimer, {0}, A | B}},
    {PERMIT_TIMERS, false, "setitimer", {SYS_setitimer, {0}, A | B}},
    {PERMIT_TIMERS, false, "rt_sigtimedwait", {SYS_rt_sigtimedwait, {0, 0, 0, MASK_BYTES}, A | C}},
    {PERMIT_IMAGE,
     false,
     "openat",
     {SYS_openat, {(uint64_t)AT_FDCWD, 0, O_RDONLY | O_CLOEXEC, 0}, B}},
    {PERMIT_IMAGE,
     false,
     "mmap",
     {REGS_CALL_MMAP,
      {0, 0, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED_NOREPLACE, 0, 0},
      A | B | E}},
    {PERMIT_IMAGE, false, "close", {SYS_close, {0}, A}},
    {PERMIT_SERIES, false, "tgkill", {SYS_tgkill, {0, 0, SIGURG}, A | B}},
    {PERMIT_POINTER, false, "set_tls", {REGS_CALL_SET_POINTER, {0}, A}},
};

/* The name of the first forbidden call for PURPOSES; NULL: all are allowed. */
static const char *forbidden(const struct sandbox *sandbox, unsigned purposes) {
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        enum sandbox_answer worst = calls[i].may_fail ? SANDBOX_FAILS : SANDBOX_ALLOWS;
        if (calls[i].purposes & purposes && sandbox_answer(sandbox, &calls[i].call) > worst)
            return calls[i].name;
    }
    return NULL;
}

static bool is_in_container(void) {
    static const char initial[] = "pid:[4026531836]"; /* linux/proc_ns.h */
    char link[64] = {0};
    return readlink("/proc/self/ns/pid", link, sizeof link - 1) > 0 && strcmp(link, initial) != 0;
}

/* The number of seccomp filters of spoor itself, which does not change. */
static unsigned own_filters(void) {
    static bool known;
    static unsigned count;
    if (!known)
        count = status_seccomp_filters(getpid());
    known = true;
    return count;
}

unsigned permits_trusted(pid_t tid) {
    unsigned own = own_filters();
    return own && (status_descends(tid, getpid()) || is_in_container()) ? own : 0;
}

int permits_check(const struct space *s, pid_t caller, unsigned purposes, const char *consequence,
                  struct err *err) {
    struct sandbox sandbox;
    if (status_seccomp_filters(caller) <= s->filters)
        return 0;
    if (sandbox_read(caller, &sandbox, NULL) < 0)
        return err_set(err, EPERM, "sandboxed",
                       "process %d: its seccomp sandbox may forbid what tracing needs (only root, "
                       "in no sandbox, can see what it allows): %s",
                       s->pid, consequence);
    const char *name = forbidden(&sandbox, purposes);
    sandbox_done(&sandbox);
    return name ? err_set(err, EPERM, "sandboxed",
                          "process %d: its seccomp sandbox forbids %s, which tracing needs: %s",
                          s->pid, name, consequence)
                : 0;
}

bool permits(const struct space *s, pid_t caller, unsigned purposes) {
    return permits_check(s, caller, purposes, "", NULL) == 0;
}
