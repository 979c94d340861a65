/* Facts about a process or thread for the trace: parent, command, name, stack. */
#pragma once

#include <sys/types.h>

#include "trace/format.h"
#include "tracer/task.h"

struct identity {
    pid_t parent;
    char command[256]; /* file name by which the executable was started: a link's, if it was one */
};
void identity_of_process(pid_t pid, struct identity *ret);

/* The stack that MAKER, in a call that creates a thread, gives to the thread; MEMORY_FD is MAKER's
 * memory. Empty: unknown. */
struct span identity_given_stack(pid_t maker, int memory_fd);

/* Fills all fields except `stream`, and the stack if TASK goes on with its maker's; the name is
 * valid until the next call. TASK is stopped before its first instruction. If its stack is unknown,
 * its stack pointer tells roughly where that is. */
void identity_of_thread(const struct task *task, struct trace_thread *ret);

/* The same for a thread anywhere in its program; MAPS are its process's. */
struct maps;
void identity_of_running(pid_t tid, pid_t pid, const struct maps *maps, struct trace_thread *ret);
