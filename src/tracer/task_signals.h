/* A task's signals that spoor itself causes (kept_signals.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum kept_signal { KEPT_TRAP, KEPT_SEGV, KEPT_BUS, KEPT_SIGNALS };

/* A process's action at a signal, as the kernel has it (struct kernel_sigaction). */
struct kept_action {
    unsigned long handler, flags, restorer;
    uint32_t mask[2];
};

struct task_signals {
    struct kept_action actions[KEPT_SIGNALS];
    uint64_t mask;       /* the signals that are blocked while the task runs */
    bool watched;        /* mask and actions are exact: it runs from syscall-stop to syscall-stop */
    bool must_ignore;    /* the action at SIGTRAP is to ignore, but a trap has made the kernel reset
                            it */
    bool enters_handler; /* it will stop at the first instruction of a handler */
    bool must_stop_again; /* it goes back to its group-stop when its trap or fault is handled */
    long syscall;         /* number of its present system call; 0: none */
    int sets; /* the signal whose action its present call sets to new_action, if it succeeds */
    struct kept_action new_action;
};
