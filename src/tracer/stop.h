/* What wait() has reported of a tracee, decoded once, in the words of ptrace(2). */
#pragma once

#include <signal.h>
#include <stdbool.h>

enum stop_kind {
    STOP_NONE,       /* none has been reported yet */
    STOP_SYSCALL,    /* syscall-stop */
    STOP_SIGNAL,     /* signal-delivery-stop */
    STOP_GROUP,      /* group-stop */
    STOP_INTERRUPT,  /* PTRACE_INTERRUPT's, or the first stop of a task: nothing to deliver */
    STOP_EXEC,       /* at the start of a new program */
    STOP_FORK,       /* right before it comes back from the call that has made a child */
    STOP_VFORK,      /* likewise: it will wait until the child execs or ends */
    STOP_CLONE,      /* likewise, for a thread, or a child that gives no SIGCHLD */
    STOP_BIRTH_DONE, /* a fork or clone event, and spoor has let it come back from the call */
    STOP_EXIT,       /* exit event: it ends, and has its memory still */
    STOP_OTHER,      /* an event that spoor has not asked for */
    STOP_EXITED,     /* it has ended; no stop */
    STOP_KILLED      /* likewise, by a signal */
};

struct stop {
    enum stop_kind kind;
    int signal; /* of STOP_SIGNAL and STOP_GROUP */
};

struct stop stop_of_status(int status);

/* Whether the tracee has ended. */
static inline bool stop_is_end(enum stop_kind kind) {
    return kind == STOP_EXITED || kind == STOP_KILLED;
}

static inline bool is_stop_signal(int sig) {
    return sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU;
}
