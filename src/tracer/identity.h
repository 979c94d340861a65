/* Facts about a process or thread for the trace: parent, command, name, stack. */
#pragma once

#include <sys/types.h>

#include "trace/format.h"

struct identity {
    pid_t parent;
    char command[256]; /* file name of the executable */
};
void identity_of_process(pid_t pid, struct identity *ret);

/* The stack that MAKER, in a call that creates a thread, gives to the thread; MEMORY_FD is MAKER's
 * memory. Empty: unknown. */
struct span identity_given_stack(pid_t maker, int memory_fd);

/* Fills all fields except `stream`; the name is valid until the next call. TID is stopped before
 * its first instruction. If STACK is empty, its stack pointer tells roughly where its stack is. */
void identity_of_thread(pid_t tid, pid_t pid, const struct span *stack, struct trace_thread *ret);

/* The same for a thread anywhere in its program; MAPS are its process's. */
struct maps;
void identity_of_running(pid_t tid, pid_t pid, const struct maps *maps, struct trace_thread *ret);
