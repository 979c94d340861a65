/* With --libcalls: finds the executable of an address space, whose calls into libraries are
 * traced. */
#pragma once

#include "patch/space.h"

/* With --libcalls: fills in SPACE's program, if it is not known yet. EXECUTABLE is any map of
 * it. */
void program_find(const struct space_context *ctx, struct space *space, pid_t caller,
                  const struct maps *maps, const struct map *executable);
