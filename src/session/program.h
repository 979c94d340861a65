/* Where modules are loaded, and what is known of a space's executable. */
#ifndef SPOOR_SESSION_PROGRAM_H
#define SPOOR_SESSION_PROGRAM_H

#include "session/space.h"

/* Whether both are of one file. */
bool map_is_same_file(const struct map *a, const struct map *b);
/* The load bias of MODULE, whose executable segment is mapped by MAP; false if it is not. */
bool map_bias(const struct map *map, const struct module *module, taddr_t *ret);

/* With --libcalls: fills in SPACE's program, of which EXECUTABLE is any map, if that is not yet
 * known. */
void program_find(const struct space_context *ctx, struct space *space, pid_t caller,
                  const struct maps *maps, const struct map *executable);

#endif
