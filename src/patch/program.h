/* With --libcalls: the executable of an address space, whose calls into libraries are traced. */
#pragma once

#include "patch/space.h"

/* With --libcalls: fills in SPACE's program, of which EXECUTABLE is any map, if that is not yet
 * known. */
void program_find(const struct space_context *ctx, struct space *space, pid_t caller,
                  const struct maps *maps, const struct map *executable);
