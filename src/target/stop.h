/* A report of wait(), decoded once, in the words of ptrace(2). */
#pragma once

#include <signal.h>
#include <stdbool.h>

enum stop_kind {
    STOP_NONE,       /* no stop yet */
    STOP_SYSCALL,    /* syscall-stop */
    STOP_SIGNAL,     /* signal-delivery-stop */
    STOP_GROUP,      /* group-stop */
    STOP_INTERRUPT,  /* event-stop of PTRACE_INTERRUPT, or a task's first: nothing to deliver */
    STOP_EXEC,       /* PTRACE_EVENT_EXEC: at the start of a new program */
    STOP_FORK,       /* PTRACE_EVENT_FORK: right before it returns from the call */
    STOP_VFORK,      /* likewise; it will wait until the child execs or exits */
    STOP_CLONE,      /* likewise, for a thread, or a child without SIGCHLD */
    STOP_BIRTH_DONE, /* after a fork or clone event: spoor has let the call return */
    STOP_EXIT,       /* PTRACE_EVENT_EXIT: it ends, and still has its memory */
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
