/* FUNC, or FUNC>TIME, as --trigger takes it. */
#ifndef SPOOR_CMD_TRIGGER_H
#define SPOOR_CMD_TRIGGER_H

#include "select/options.h"

/* TEXT must stay; ret->filter is to be freed. Names may hold '>' (operator>, templates): what
 * follows the last one tells. Errors: EINVAL "bad-value", "bad-pattern". */
int trigger_parse(const char *text, struct trigger *ret, struct err *err);

#endif
