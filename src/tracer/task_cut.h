/* Of a task: a system call that a stop of spoor has cut short, and its remainder
 * (syscall_resume.h). */
#pragma once

#include "arch/remainder.h"

struct task_cut {
    bool is_cut; /* the stop has cut `call` short, and the task shall make the remainder */
    struct remainder_call call;
    enum remainder_of of;
    enum {
        REMAINDER_NONE,
        REMAINDER_MADE, /* the space is left, and waits for the task to make the remainder */
        REMAINDER_OVER  /* it has come from that, and is about to stop */
    } remainder;
    uint64_t switches; /* how often it had waited in the kernel when last looked at */
};
