/* A task's ptrace calls: as a tracer of others, or to become a tracee (nested_tracer.h). */
#pragma once

#include "target/thread.h"

struct task_nested {
    enum {
        TRACEME_NONE,
        TRACEME_PENDING, /* the kernel refuses its present call, `call`; spoor makes it succeed */
        TRACEME_GRANTED  /* such a call has succeeded: later ones fail */
    } traceme;
    struct thread_syscall_stop call;
    bool reported; /* the user was told that it traces others */
};
