/* Of a task: what is known of its SIGTRAP while its space holds traps (traps.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/types.h"

/* What a process does at SIGTRAP, as the kernel has it (struct kernel_sigaction). */
struct trap_action {
    unsigned long handler, flags, restorer;
    uint32_t mask[2];
};

struct task_traps {
    struct trap_action action;
    bool blocked;         /* SIGTRAP is, as the task runs now */
    bool must_ignore;     /* the action is to ignore, and a trap has made the kernel forget */
    bool enters_handler;  /* it stops at the first instruction of a handler */
    bool must_stop_again; /* it returns to its group-stop when its trap has been seen to */
    bool sets_action;     /* its present call sets new_action, if it succeeds */
    struct trap_action new_action;
    long syscall;     /* the number of its present call; 0: none */
    taddr_t hit;      /* the trap that it has come to, not counted yet; else 0 */
    bool hit_in_step; /* while it stepped itself */
};
