/* Where puns lead to. Private to plan_emit(). */
#pragma once

#include "plan/emit/planned.h"

struct pending { /* a pun whose jump is not written yet */
    vaddr_t at;
    vaddr_t trampoline;
    uint32_t function; /* whose site it is */
    uint32_t exits;    /* how many its window holds */
    bool entry;
};
typedef ARRAY(struct pending) pending_array;
/* Writes the puns PENDING among the patches of CODE, which are sorted, and makes islands for them.
 * A pun that leads nowhere leaves its site as it was (the patch's size is 0), and its function goes
 * into missed or inexact. */
void puns_write(const struct plan *plan, const struct plan_request *request, struct plan_code *code,
                const pending_array *pending);
