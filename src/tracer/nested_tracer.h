/*
 * Programs that trace others themselves: debuggers, strace. A tracee has one tracer, so spoor
 * detaches what such a program is about to trace, right before the call that asks for it.
 *
 * To see these calls the program runs from one syscall-stop to the next (syscall_watch.h), which
 * costs as much as strace. So spoor watches only programs that use ptrace() by name, which execute
 * few other programs. It watches the children that they fork until these execute something else.
 * Programs that use the lanes' register (gs_conflict.h) are detached in the same way.
 */
#pragma once

#include "tracer/tracer_state.h"

/* TASK, watched, is at a syscall-stop. Returns false when it is gone. */
bool nested_tracer_at_syscall(struct tracer *t, struct task *task);
