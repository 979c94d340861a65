/* Finds the part of a thread's own stack that stays readable as long as its stack pointer lies
 * there. Stubs that copy slices of the stack (--stack) rely on it, since they must never fault. The
 * tracer asks while the thread is stopped. */
#pragma once

#include <sys/types.h>

#include "base/types.h"

enum own_stack_of {
    OWN_STACK_OF_FIRST,   /* the process's first thread, on the stack that the kernel made */
    OWN_STACK_OF_NEWBORN, /* a new thread that has run no instruction yet */
    OWN_STACK_OF_RUNNING  /* any other thread: it may be on another stack now */
};
/* GIVEN: the stack that TID's creator passed to clone(), if known. Empty result: unknown. */
struct span own_stack(pid_t tid, enum own_stack_of which, const struct span *given);
