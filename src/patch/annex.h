/*
 * The annex of a module: a second area, for functions that the first one has no room for or does
 * not reach, or not to all of their ends (struct plan_code's `beyond`). A64 branches reach 128 MB;
 * of longer text one area, below it, serves the lower part, and the other, above it, the upper. On
 * 32-bit Arm a large module's first area may be anywhere, and the annex, near it, serves what has
 * no room for a far jump.
 *
 * It is a struct patched by itself, with patches, trampolines and a log of its own, in the same
 * list. Each site is in one of them at most.
 */
#pragma once

#include "patch/patcher.h"

/* Prepares that of P, which is prepared or installed itself, as patcher_prepare() does. False: it
 * would serve nothing. */
bool annex_prepare(struct patched *p, const struct patch_request *request, struct patched *ret);
/* ANNEX is prepared or installed: P's code tells of what both serve. */
void annex_join(struct patched *p, const struct patched *annex);
/* The other way: it is not certain (any more) that ANNEX will be there. */
void annex_part(struct patched *p, const struct patched *annex);
