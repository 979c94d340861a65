/* Collects the facts about a refused PTRACE_SEIZE, and chooses the message. */
#include "target/refusal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "target/status.h"

enum { POLICY_NONE = -1, POLICY_DESCENDANTS = 1, POLICY_ADMINISTRATORS = 2, POLICY_NOBODY = 3 };

static int read_policy(void) {
    char text[8] = {0};
    AUTO_FD int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
        return POLICY_NONE;
    return (int)strtol(text, NULL, 10);
}

static int say(const char *what, const struct refusal_facts *f, struct err *err, const char *why) {
    return err_set(err, f->code, "seize", "%s: cannot be traced: %s", what, why);
}

static int say_tracer(const char *what, const struct refusal_facts *f, struct err *err) {
    AUTO_FREE char *why =
        f->attached
            ? mem_printf("another spoor (process %d) is attached to it: 'kill %d' detaches it",
                         f->tracer, f->tracer)
        : f->records ? mem_printf("another spoor (process %d) records it", f->tracer)
                     : mem_printf("process %d (%s) traces it: end that process first", f->tracer,
                                  f->tracer_name);
    return say(what, f, err, why);
}

/* The kernel's checks before those of security modules. NULL: they all pass. */
static char *why_unprivileged(const struct refusal_facts *f) {
    if (f->foreign)
        return mem_printf("it is another user's (uid %u): run spoor as root (sudo)", f->user);
    if (f->has_more_capabilities)
        return mem_strdup("it has capabilities that spoor lacks: run spoor as root (sudo)");
    if (f->hides)
        return mem_strdup(
            "it is not dumpable (PR_SET_DUMPABLE, or its program file is not readable): "
            "run spoor as root (sudo)");
    return NULL;
}

static const char *why_policy(const struct refusal_facts *f) {
    if (f->policy == POLICY_NOBODY)
        return "ptrace is disabled until the next boot (kernel.yama.ptrace_scope is 3)";
    if (f->policy == POLICY_ADMINISTRATORS && !f->capable && f->descendant)
        return "only root may trace here (kernel.yama.ptrace_scope is 2): run spoor as root, or "
               "'sysctl "
               "kernel.yama.ptrace_scope=1'";
    if (f->policy == POLICY_ADMINISTRATORS && !f->capable)
        return "only root may trace here (kernel.yama.ptrace_scope is 2): run spoor as root "
               "(sudo), or "
               "'sysctl kernel.yama.ptrace_scope=0'";
    return NULL;
}

int refusal_explain(const char *what, const struct refusal_facts *f, struct err *err) {
    bool refused = f->code == EPERM || f->code == EACCES;
    if (refused && f->tracer)
        return say_tracer(what, f, err);
    if (refused && why_policy(f))
        return say(what, f, err, why_policy(f));
    AUTO_FREE char *unprivileged = refused && !f->capable ? why_unprivileged(f) : NULL;
    if (unprivileged)
        return say(what, f, err, unprivileged);
    if ((refused || f->code == ENOSYS) && f->filters)
        return say(what, f, err,
                   "the seccomp sandbox that spoor runs in forbids it (for a container: allow "
                   "ptrace, as by '--cap-add=SYS_PTRACE')");
    if (refused && f->policy == POLICY_DESCENDANTS && !f->capable && !f->descendant)
        return say(
            what, f, err,
            "spoor may trace only its own children here (kernel.yama.ptrace_scope is 1): run "
            "spoor as root (sudo), or 'sysctl kernel.yama.ptrace_scope=0'");
    if (refused && f->capable && f->inner)
        return say(
            what, f, err,
            "spoor is root only in a user namespace (container): run it in the user namespace "
            "of the process, or as the root of this machine");
    return err_set(err, f->code, "seize", "%s: cannot be traced: %s%s", what, strerror(f->code),
                   refused ? " (a security module may forbid it)" : "");
}

/* Undumpable processes' files belong to root (task_dump_owner() in fs/proc/base.c). */
static bool hides(pid_t tid) {
    AUTO_FREE char *name = mem_printf("/proc/%d/mem", tid);
    struct stat st;
    return stat(name, &st) == 0 && st.st_uid != getuid();
}

static bool in_inner_namespace(void) {
    static const char initial[] = "user:[4026531837]"; /* linux/proc_ns.h */
    char link[64] = {0};
    return readlink("/proc/self/ns/user", link, sizeof link - 1) > 0 && strcmp(link, initial) != 0;
}

/* True if PID's first argument is WORD. */
static bool has_argument(pid_t pid, const char *word) {
    char text[4096] = {0};
    AUTO_FREE char *name = mem_printf("/proc/%d/cmdline", pid);
    AUTO_FD int fd = open(name, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    size_t program = strlen(text) + 1;
    return size > (ssize_t)program && strcmp(text + program, word) == 0;
}

static void find_tracer(pid_t tid, struct refusal_facts *f) {
    f->tracer = status_tracer_of(tid);
    if (!f->tracer)
        return;
    status_name(f->tracer, f->tracer_name, sizeof f->tracer_name);
    if (strcmp(f->tracer_name, "spoor") != 0)
        return;
    f->attached = has_argument(f->tracer, "attach");
    f->records = !f->attached;
}

int refusal(pid_t tid, const char *what, int code, struct err *err) {
    struct status_credentials own, its;
    status_credentials(getpid(), &own);
    status_credentials(tid, &its);
    struct refusal_facts facts = {.code = code,
                                  .policy = read_policy(),
                                  .capable = own.permitted >> CAP_SYS_PTRACE & 1,
                                  .inner = in_inner_namespace(),
                                  .filters = status_seccomp_filters(getpid()),
                                  .descendant = status_descends(tid, getpid()),
                                  .has_more_capabilities = its.permitted & ~own.permitted,
                                  .hides = hides(tid)};
    facts.foreign = !status_ids_match(tid, &facts.user) && facts.user != getuid();
    find_tracer(tid, &facts);
    return refusal_explain(what, &facts, err);
}
