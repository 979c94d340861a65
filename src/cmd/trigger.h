/* FUNC, or FUNC>TIME, as --trigger takes it. */
#pragma once

#include "select/options.h"

/* TEXT must stay; ret->filter is to be freed. Names may hold '>' (operator>, templates): what
 * follows the last one tells. Errors: EINVAL "bad-value", "bad-pattern". */
int trigger_parse(const char *text, struct trigger *ret, struct err *err);
