/*
 * Resumes system calls that a stop of spoor has cut short (arch/remainder.h).
 *
 * At each stop a task is outside of the remainder that it may have been making:
 * syscall_resume_end() has moved it behind the call in the program's own code, with the progress so
 * far as the result. So other files need not know of remainders. When the task is resumed, and
 * nothing else has stopped it, syscall_resume_remainder() lets it make the remainder. If spoor dies
 * meanwhile, the task comes back by itself.
 */
#pragma once

#include "tracer/task.h"

/* TASK has stopped, not at a syscall-stop: if it was making a remainder, moves it behind the
 * call. */
void syscall_resume_end(struct task *task);
/* TASK has stopped with REGS: notes whether the stop has cut a call short. */
void syscall_resume_note(struct task *task, const struct regs *regs);
/* TASK is about to be resumed without a signal: if its stop has cut a call short, TASK makes the
 * remainder. Returns whether it does. */
bool syscall_resume_remainder(struct task *task);
