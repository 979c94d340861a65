/* Explains why the kernel does not let spoor trace a process, and what the user can do. */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "base/types.h"

struct refusal_facts {
    int code;                   /* errno of PTRACE_SEIZE */
    int policy;                 /* kernel.yama.ptrace_scope (ptrace(2)); -1: no such policy */
    bool capable;               /* spoor has CAP_SYS_PTRACE */
    bool inner;                 /* spoor is in a user namespace other than the initial one */
    unsigned filters;           /* number of spoor's seccomp filters */
    bool descendant;            /* the process descends from spoor */
    bool foreign;               /* the process belongs to another user */
    uid_t user;                 /* that user */
    bool has_more_capabilities; /* the process has capabilities that spoor lacks */
    bool hides;                 /* the process is not dumpable (PR_SET_DUMPABLE) */
    pid_t tracer;               /* tracer of the process; 0: none */
    bool attached;              /* the tracer is a `spoor attach` */
    bool records;               /* the tracer is a spoor that started the process */
    char tracer_name[32];
};
/* TID, which messages call WHAT, could not be seized, with errno CODE. Sets "seize" with the most
 * likely reason. Returns −CODE. */
int refusal(pid_t tid, const char *what, int code, struct err *err);
/* The same for given facts. */
int refusal_explain(const char *what, const struct refusal_facts *facts, struct err *err);
