/*
 * How far a thread's own stack can be read whenever its stack pointer lies there, by code that runs
 * in it and must never fault (slices of stacks: --stack). The tracer asks while the thread stands.
 */
#pragma once

#include <sys/types.h>

#include "base/types.h"

enum own_stack_of {
    OWN_STACK_OF_FIRST, /* its process's thread that began on the stack that the kernel has made */
    OWN_STACK_OF_NEWBORN, /* one that has run nothing yet */
    OWN_STACK_OF_RUNNING  /* where it stands may be on a stack of another kind */
};
/* GIVEN: what TID's maker gave it, if that is known. Empty: none is known. */
struct span own_stack(pid_t tid, enum own_stack_of which, const struct span *given);
