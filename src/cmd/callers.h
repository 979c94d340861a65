/* The text and the JSON by which views show recorded callers (record --stack). */
#pragma once

#include "analyze/places.h"
#include "cmd/labels.h"

/* "a < b < c": the callers of CHAIN, the nearest first, and why the chain ends if it is not whole.
 * To be freed. */
char *callers_text(struct places *p, uint32_t chain, struct labels *labels);
/* Members of a JSON object, each after a comma: "stack" and "stack_end". COMPACT: without spaces.
 * To be freed. */
char *callers_json(struct places *p, uint32_t chain, bool compact);
