/* Parses the value of --trigger: FUNC or FUNC>TIME. */
#pragma once

#include "select/options.h"

/* TEXT must outlive RET; the caller frees ret->filter. Names may hold '>' (operator>, templates):
 * the last '>' counts, if a time follows. Errors: EINVAL "bad-value", "bad-pattern". */
int trigger_parse(const char *text, struct trigger *ret, struct err *err);
