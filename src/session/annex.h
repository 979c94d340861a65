/*
 * The annex of a module: a second area, for functions that the first one has no room for or does
 * not reach (struct plan_code's `beyond`). A64 branches reach 128 MB; of longer text one area,
 * below it, serves the lower part, and the other, above it, the upper.
 *
 * It is a struct patched by itself, with patches, trampolines and a log of its own, in the same
 * list, behind the module's first. Each site is in one of them at most.
 */
#ifndef SPOOR_SESSION_ANNEX_H
#define SPOOR_SESSION_ANNEX_H

#include "session/space.h"

/* Whether there is something for it; P is prepared or installed, and no annex. */
bool annex_is_wanted(const struct patched *p);
/* That of P, to be prepared or applied; then it may be forgotten. */
struct patched annex_of(const struct patched *p);
/* ANNEX is prepared or applied: P's code tells of what both serve. */
void annex_join(struct patched *p, const struct patched *annex);
/* The other way: it is not certain (any more) that ANNEX will be there. */
void annex_part(struct patched *p, const struct patched *annex);

#endif
