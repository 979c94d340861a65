/* The last tasks of a space that is left: those that still make the remainder of a system call. */
#ifndef SPOOR_TRACER_AWAIT_REMAINDERS_H
#define SPOOR_TRACER_AWAIT_REMAINDERS_H

#include "tracer/core.h"

/* All other tasks of SPACE, which is stopped and about to be left, are detached: those whose calls
 * were cut short make the remainder, and are detached as they come from it, but for the last, which
 * stands. For as long as they get on, unless the user asks spoor once more to end. */
void await_remainders(struct tracer *t, const struct space *space);

#endif
