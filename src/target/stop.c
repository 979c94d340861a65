/* Decodes wait statuses. */
#include "target/stop.h"

#include <sys/ptrace.h>
#include <sys/wait.h>

static enum stop_kind kind_of_event(int event, int sig) {
    switch (event) {
    case PTRACE_EVENT_STOP:
        return is_stop_signal(sig) ? STOP_GROUP : STOP_INTERRUPT;
    case PTRACE_EVENT_EXEC:
        return STOP_EXEC;
    case PTRACE_EVENT_FORK:
        return STOP_FORK;
    case PTRACE_EVENT_VFORK:
        return STOP_VFORK;
    case PTRACE_EVENT_CLONE:
        return STOP_CLONE;
    case PTRACE_EVENT_EXIT:
        return STOP_EXIT;
    default:
        return STOP_OTHER;
    }
}

struct stop stop_of_status(int status) {
    enum { SYSCALL = SIGTRAP | 0x80 }; /* PTRACE_O_TRACESYSGOOD */
    if (!WIFSTOPPED(status))
        return (struct stop){.kind = WIFSIGNALED(status) ? STOP_KILLED : STOP_EXITED};
    int event = status >> 16, sig = WSTOPSIG(status);
    if (event)
        return (struct stop){kind_of_event(event, sig), sig};
    return (struct stop){sig == SYSCALL ? STOP_SYSCALL : STOP_SIGNAL, sig};
}
