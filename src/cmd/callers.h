/* How views show who called (record --stack). */
#pragma once

#include "analyze/places.h"

/* "a < b < c", the nearest first, and how the chain ends unless that is the whole of it; "not
 * recorded". To be freed. */
char *callers_text(struct places *p, uint32_t chain);
/* Members of an object, after its others: ', "stack": [ … ], "stack_end": "…"'; COMPACT: without
 * spaces. To be freed. */
char *callers_json(struct places *p, uint32_t chain, bool compact);
