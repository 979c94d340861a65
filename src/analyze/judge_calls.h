/* Judges calls by conditions on their values (call_conditions.h). */
#pragma once

#include "analyze/walk.h"

/* Reads the whole trace, and judges all calls by the conditions of SOURCE's filter, which has some.
 * Returns how many calls do not meet a condition because a value is not known. Progress and damage
 * are not told. */
uint64_t judge_calls(const struct source *source);
