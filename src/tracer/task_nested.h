/* Of a task: what it does as the tracer of others, or to become a tracee (nested_tracer.h). */
#pragma once

#include "target/thread.h"

struct task_nested {
    enum {
        TRACEME_NONE,
        TRACEME_PENDING, /* its present call, `call`, succeeds though the kernel refuses it */
        TRACEME_GRANTED  /* such a call has succeeded: others are refused */
    } traceme;
    struct thread_syscall_stop call;
    bool reported; /* the user knows that it traces others */
};
