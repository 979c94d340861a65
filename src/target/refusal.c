#include "target/refusal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "target/status.h"

enum { POLICY_NONE = -1, POLICY_ADMINISTRATORS = 2, POLICY_NOBODY = 3 };

static int read_policy(void) {
    char text[8] = {0};
    AUTO_FD int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
        return POLICY_NONE;
    return (int)strtol(text, NULL, 10);
}

int refusal_explain(const char *what, const struct refusal_facts *f, struct err *err) {
    bool refused = f->code == EPERM || f->code == EACCES;
    if (refused && f->tracer)
        return err_set(err, f->code, "seize",
                       "%s: cannot be traced: process %d (%s) traces it already", what, f->tracer,
                       f->tracer_name);
    if (refused && f->policy == POLICY_NOBODY)
        return err_set(err, f->code, "seize",
                       "%s: cannot be traced: nothing can on this machine until it is restarted "
                       "(kernel.yama.ptrace_scope is 3)",
                       what);
    if (refused && f->policy == POLICY_ADMINISTRATORS && !f->capable)
        return err_set(err, f->code, "seize",
                       "%s: cannot be traced: only root may here (kernel.yama.ptrace_scope is 2): "
                       "run spoor as root, or 'sysctl kernel.yama.ptrace_scope=1'",
                       what);
    if ((refused || f->code == ENOSYS) && f->filters)
        return err_set(err, f->code, "seize",
                       "%s: cannot be traced: the seccomp sandbox that spoor runs in forbids it "
                       "(for a container: allow ptrace, as by '--cap-add=SYS_PTRACE')",
                       what);
    return err_set(err, f->code, "seize", "%s: cannot be traced: %s%s", what, strerror(f->code),
                   refused ? " (a security module may forbid it)" : "");
}

int refusal(pid_t tid, const char *what, int code, struct err *err) {
    struct status_rights ours;
    status_rights(getpid(), &ours);
    struct refusal_facts facts = {.code = code,
                                  .policy = read_policy(),
                                  .capable = ours.permitted >> CAP_SYS_PTRACE & 1,
                                  .filters = status_seccomp_filters(getpid()),
                                  .tracer = status_tracer_of(tid)};
    if (facts.tracer)
        status_name(facts.tracer, facts.tracer_name, sizeof facts.tracer_name);
    return refusal_explain(what, &facts, err);
}
