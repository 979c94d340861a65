/* Tells the user and the trace of functions that are left out because of their text (held.h). */
#pragma once

#include "patch/space.h"

/* P is patched, and traced, in SPACE: warns once for each module of functions that differ, and
 * writes the module to the trace, unless the trace describes it as it is. */
void left_out_write(const struct space_context *ctx, const struct space *space,
                    const struct patched *p);
