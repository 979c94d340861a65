/* A task's system call that a stop of spoor has cut short, and its remainder (syscall_resume.h). */
#pragma once

#include "arch/remainder.h"

struct task_cut {
    bool is_cut; /* the stop has cut `call` short, and the task should make the remainder */
    struct remainder_call call;
    enum remainder_of of;
    enum {
        REMAINDER_NONE,
        REMAINDER_MADE, /* the space is being detached, and waits for the task to make the remainder
                         */
        REMAINDER_OVER  /* the remainder is made, and the task is about to stop */
    } remainder;
    uint64_t switches; /* status_switches() at the last look */
};
