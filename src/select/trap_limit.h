/* How often the breakpoints of a function are hit, in all processes together, and which functions
 * lose theirs because they are hit too often (--trap-limit). */
#pragma once

#include "select/options.h"
#include "select/traced_module.h"

/* True when function NUMBER of M has lost its breakpoints. */
bool trap_limit_passed(const struct traced_module *m, uint32_t number);
/* Counts one hit of function NUMBER of M. Returns true when the function loses its
 * breakpoints, now or earlier. */
bool trap_limit_count(const struct record_options *options, struct traced_module *m,
                      uint32_t number);
/* Tells the user which functions of M have lost their breakpoints. */
void trap_limit_report(const struct record_options *options, const struct traced_module *m);
