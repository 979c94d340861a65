/*
 * System calls that a stop of spoor has cut short go on (arch/remainder.h).
 *
 * A task at a stop is outside of the remainder that it may have been making: syscall_resume_end()
 * has put it behind the call in the program's own code, with what was done by then as the result.
 * So other files need not know of remainders. When the task is resumed, and nothing else has
 * stopped it, syscall_resume_remainder() lets it make what is left. If spoor dies meanwhile, the
 * task comes back by itself.
 */
#pragma once

#include "tracer/task.h"

/* TASK has stopped, and not at its entry to a call: puts it behind the call whose remainder it
 * made, if it made one. */
void syscall_resume_end(struct task *task);
/* TASK has stopped with REGS: notes whether that has cut a call short. */
void syscall_resume_note(struct task *task, const struct regs *regs);
/* TASK is about to be resumed, with no signal: if its stop has cut a call short, it makes the
 * remainder. Returns whether so. */
bool syscall_resume_remainder(struct task *task);
