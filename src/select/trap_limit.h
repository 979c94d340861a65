/* Counts how often the breakpoints of a function are hit, in all processes together. A function
 * that hits them too often loses them (--trap-limit). */
#pragma once

#include "select/options.h"
#include "select/traced_module.h"

/* True if function NUMBER of M has lost its breakpoints. */
bool trap_limit_passed(const struct traced_module *m, uint32_t number);
/* Counts one hit of function NUMBER of M. Returns true if the function loses its breakpoints now,
 * or has lost them before. */
bool trap_limit_count(const struct record_options *options, struct traced_module *m,
                      uint32_t number);
/* Tells the user which functions of M have lost their breakpoints. */
void trap_limit_report(const struct record_options *options, const struct traced_module *m);
