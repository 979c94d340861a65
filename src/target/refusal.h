/* Why the kernel does not let us trace, and what can be done about it. */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "base/types.h"

struct refusal_facts {
    int code;         /* errno of PTRACE_SEIZE */
    int policy;       /* kernel.yama.ptrace_scope (ptrace(2)); -1: there is no such policy */
    bool capable;     /* we have CAP_SYS_PTRACE */
    bool inner;       /* but in a user namespace of our own only */
    unsigned filters; /* seccomp filters around us */
    bool descendant;  /* we have started the process, or who has */
    bool foreign;     /* it is another user's */
    uid_t user;       /* whose */
    bool stronger;    /* it has capabilities that we do not have */
    bool hides;       /* its user may not look at it (PR_SET_DUMPABLE) */
    pid_t tracer;     /* who traces the process already; 0: nobody */
    bool attached;    /* that is a spoor that has attached to it */
    bool records;     /* that is a spoor that has started it */
    char tracer_name[32];
};
/* TID, which messages call WHAT, could not be seized, with errno CODE: sets "seize", with the
 * reason that explains it best. Returns −CODE. */
int refusal(pid_t tid, const char *what, int code, struct err *err);
/* The same for given facts. */
int refusal_explain(const char *what, const struct refusal_facts *facts, struct err *err);
