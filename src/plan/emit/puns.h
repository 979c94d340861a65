/* Islands, which puns jump to. Private to plan_emit(). */
#pragma once

#include "plan/emit/planned.h"

struct emitter;

/* Writes the COUNT puns at PUNS, ascending, into the sorted patches of CODE, and makes their
 * islands. If no island can be mapped for a pun, it is lost: its patch gets size 0, and its
 * function goes into missed or inexact. */
void puns_write(const struct plan *plan, const struct plan_request *request, struct plan_code *code,
                struct pun_site *puns, size_t count);
/* Adds a round to the log of the emitter's code, which has all patches, sorted, but no puns yet. */
void puns_note(const struct emitter *e);
void pun_log_done(struct pun_log *log);
/* CODE has the patches of a module whose area is now FARTHER bytes (modulo 2^64) above it. Decides
 * on the puns of the log's last round, corrects CODE's puns and ways, and gives it their islands.
 * Patches that are lost with a lost pun are left out. False: of a function whose entry is missed
 * there is more than that to be left out; CODE must be emitted without it. */
bool puns_settle(const struct plan *plan, const struct plan_request *request, uint64_t farther,
                 struct plan_code *code);
/* Whether a new emission would come to its last round as the log tells, and to an end there. */
bool puns_fit(const struct plan *plan, const struct plan_request *request,
              const struct pun_log *log, uint64_t farther);
/* Whether a pun that has no place in CODE could have one now. */
bool puns_have_places(const struct plan *plan, const struct plan_request *request,
                      const struct plan_code *code);
/* Whether CODE's islands can be mapped MOVED bytes (modulo 2^64) above, as REQUEST has it. */
bool puns_serve(const struct plan *plan, const struct plan_request *request,
                const struct plan_code *code, uint64_t moved);
