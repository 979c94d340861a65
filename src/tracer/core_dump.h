/* Signals that end a process with a core dump. The loop calls these right before delivery. */
#pragma once

#include "tracer/tracer_state.h"

/* Signal SIG is about to be delivered to TASK, which is in the program's own code. If it ends the
 * process with a core dump, the other threads are moved out of trampolines and stay stopped. Calls
 * that are open end at TICKS, when the signal was reported. */
void core_dump_prepare(struct tracer *t, struct task *task, int sig, uint64_t ticks);
/* Whether SIG, whose default action ends a process, would end that of TASK. */
bool core_dump_is_deadly(const struct task *task, int sig);
/* Whether TASK must be detached to die of SIG. The first process of a pid namespace survives faults
 * that it does not handle, while it is traced. It repeats them for ever (force_sig_info_to_task()
 * in the kernel). */
bool core_dump_needs_detach(const struct task *task, int sig);
