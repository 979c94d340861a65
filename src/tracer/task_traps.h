/* A task's SIGTRAP, while its space holds traps (traps.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/types.h"

/* The process's action at SIGTRAP, as the kernel has it (struct kernel_sigaction). */
struct trap_action {
    unsigned long handler, flags, restorer;
    uint32_t mask[2];
};

struct task_traps {
    struct trap_action action;
    bool blocked;         /* SIGTRAP is blocked while the task runs */
    bool must_ignore;     /* the action is to ignore, but a trap has made the kernel reset it */
    bool enters_handler;  /* it will stop at the first instruction of a handler */
    bool must_stop_again; /* it goes back to its group-stop when its trap is handled */
    bool sets_action;     /* its present call sets new_action, if it succeeds */
    struct trap_action new_action;
    long syscall;     /* number of its present system call; 0: none */
    taddr_t hit;      /* the trap that it has hit, not counted yet; else 0 */
    bool hit_in_step; /* the program was single-stepping */
};
