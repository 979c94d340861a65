/* Why the kernel does not let us trace, and what can be done about it. */
#ifndef SPOOR_TARGET_REFUSAL_H
#define SPOOR_TARGET_REFUSAL_H

#include <sys/types.h>

#include "base/err.h"
#include "base/types.h"

struct refusal_facts {
    int code;         /* errno of PTRACE_SEIZE */
    int policy;       /* kernel.yama.ptrace_scope (ptrace(2)); -1: there is no such policy */
    bool capable;     /* we have CAP_SYS_PTRACE */
    unsigned filters; /* seccomp filters around us */
    pid_t tracer;     /* who traces the process already; 0: nobody */
    char tracer_name[32];
};
/* TID, which messages call WHAT, could not be seized, with errno CODE: sets "seize", with the
 * reason that explains it best. Returns −CODE. */
int refusal(pid_t tid, const char *what, int code, struct err *err);
/* The same for given facts. */
int refusal_explain(const char *what, const struct refusal_facts *facts, struct err *err);

#endif
