/*
 * The annex of a module: a second area. It serves functions that the first area has no room for, or
 * does not reach with all of their exits (struct plan_code's `beyond`). A64 branches reach 128 MB:
 * in longer text an area below serves the lower part, and the annex above it the upper part. On
 * 32-bit Arm a large module's first area may be anywhere; its annex is near and serves what has no
 * room for a far jump.
 *
 * The annex is a struct patched of its own in the same list, with its own patches, trampolines and
 * log. Each site is in one of the two at most.
 */
#pragma once

#include "patch/patcher.h"

/* Prepares the annex of P, as patcher_prepare() does. P is prepared or installed. False: the annex
 * would serve nothing. */
bool annex_prepare(struct patched *p, const struct patch_request *request, struct patched *ret);
/* ANNEX is prepared or installed: P's code describes from now on what both serve. */
void annex_join(struct patched *p, const struct patched *annex);
/* Undoes annex_join(): it is not certain any more that ANNEX will be installed. */
void annex_separate(struct patched *p, const struct patched *annex);
