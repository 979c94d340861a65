/* Islands, which puns jump to. Private to plan_emit(). */
#pragma once

#include "plan/emit/planned.h"

/* Writes the COUNT puns at PUNS, ascending, into the sorted patches of CODE, and makes their
 * islands. If no island can be mapped for a pun, its patch gets size 0, and its function goes into
 * missed or inexact. Adds a round to the log. */
void puns_write(const struct plan *plan, const struct plan_request *request, struct plan_code *code,
                const struct pun_site *puns, size_t count);
void pun_log_done(struct pun_log *log);
/* CODE has the patches of a module whose area is now FARTHER bytes (modulo 2^64) above it. Decides
 * on all puns as for a new emission, and if the same ones are lost, corrects CODE's puns and ways,
 * and gives it their islands, of which it has none. False: others are lost. CODE may be NULL. */
bool puns_write_again(const struct plan *plan, const struct plan_request *request,
                      const struct pun_log *log, uint64_t farther, struct plan_code *code);
/* Whether a pun that has no place in CODE could have one now. */
bool puns_have_places(const struct plan *plan, const struct plan_request *request,
                      const struct plan_code *code);
/* Whether CODE's islands can be mapped MOVED bytes (modulo 2^64) above, as REQUEST has it. */
bool puns_serve(const struct plan *plan, const struct plan_request *request,
                const struct plan_code *code, uint64_t moved);
