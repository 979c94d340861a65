/* How often the breakpoints of a function are hit, in all processes together, and which functions
 * lose theirs because they are hit too often (--trap-limit). */
#ifndef SPOOR_SELECT_TRAP_LIMIT_H
#define SPOOR_SELECT_TRAP_LIMIT_H

#include "select/options.h"
#include "select/traced_module.h"

/* True when function NUMBER of ENTRY has lost its breakpoints. */
bool trap_limit_passed(const struct entry *entry, uint32_t number);
/* Counts one hit of function NUMBER of ENTRY. Returns true when the function loses its
 * breakpoints, now or earlier. */
bool trap_limit_count(const struct session_options *options, struct entry *entry, uint32_t number);
/* Tells the user which functions of ENTRY have lost their breakpoints. */
void trap_limit_tell(const struct session_options *options, const struct entry *entry);

#endif
