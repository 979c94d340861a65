/* Islands, which puns jump to. Private to plan_emit(). */
#pragma once

#include "plan/emit/planned.h"

struct pending { /* a pun that is not written yet */
    vaddr_t at;
    vaddr_t trampoline;
    uint32_t function; /* the site's function */
    uint32_t exits;    /* exits in its window */
    bool entry;
};
typedef ARRAY(struct pending) pending_array;
/* Writes the puns PENDING into the sorted patches of CODE, and makes their islands. If no island
 * can be mapped for a pun, its patch gets size 0, and its function goes into missed or inexact. */
void puns_write(const struct plan *plan, const struct plan_request *request, struct plan_code *code,
                const pending_array *pending);
/* Whether a pun that has no place in CODE could have one now. */
bool puns_have_places(const struct plan *plan, const struct plan_request *request,
                      const struct plan_code *code);
/* Whether CODE's islands can be mapped MOVED bytes (modulo 2^64) above, as REQUEST has it. */
bool puns_serve(const struct plan *plan, const struct plan_request *request,
                const struct plan_code *code, uint64_t moved);
