/*
 * Checks a plan for Arm: code is planned in the state in which it runs, no data is planned as
 * code, and no window of one function holds the entry of another. The check uses sources that the
 * planner has not seen: the symbols of the debug file, and, where mapping symbols are missing, the
 * look of 32-bit Arm code.
 */
#pragma once

#include "elf/module.h"
#include "plan/plan.h"

struct checked_states {
    const struct module *module;
    const struct plan *plan;
    const struct plan_view *view;
    void (*wrong)(void *ctx, const char *what, vaddr_t at);
    void *ctx;
    size_t mapped, inferred; /* numbers of functions whose states mapping symbols tell, or the look
                                of their code */
};

/* DIRECTORY: debug files by build-id, as /usr/lib/debug, or one debug file; NULL: none. */
void check_states(struct checked_states *c, const char *directory);
