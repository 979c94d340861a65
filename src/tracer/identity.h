/* Facts about a process or thread for the trace: parent, command, name, stack. */
#pragma once

#include <sys/types.h>

#include "trace/format.h"

struct identity {
    pid_t parent;
    char command[256]; /* file name of the executable */
};
void identity_of_process(pid_t pid, struct identity *ret);

/* The stack that MAKER, which stands in a call that makes a thread, gives to that; MEMORY_FD is of
 * its memory. Empty: that is not known. */
struct span identity_given_stack(pid_t maker, int memory_fd);

/* Fills all but `stream`; the name lives until the next call. TID is stopped before its first
 * instruction: where it was not given STACK, its stack pointer tells about where its native stack
 * is. */
void identity_of_thread(pid_t tid, pid_t pid, const struct span *stack, struct trace_thread *ret);

/* The same for a thread that stands anywhere; MAPS are its process's. */
struct maps;
void identity_of_running(pid_t tid, pid_t pid, const struct maps *maps, struct trace_thread *ret);
