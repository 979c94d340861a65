/*
 * The files that processes have mapped, wherever those may be by now: removed or replaced on disk,
 * under another root, in another mount namespace, or never on any disk.
 */
#ifndef SPOOR_SELECT_MAPPED_H
#define SPOOR_SELECT_MAPPED_H

#include <sys/stat.h>
#include <sys/types.h>

#include "elf/module.h"
#include "target/maps.h"

/* Opens the file that MAP, by its former name (maps_use_former_names()), maps into process TID.
 * Returns −1 when we cannot. */
int mapped_open(pid_t tid, const struct map *map, struct stat *ret_stat);
/* The same where the kernel itself says that it is this file, without a look at what it holds. */
int mapped_open_surely(pid_t tid, const struct map *map);
/* What process TID has in its memory of that file, as a module. Errors: "replaced" (that is not
 * enough to make one of). */
int mapped_load(pid_t tid, const struct map *map, struct module **ret, struct err *err);

/* The load bias of MODULE, whose executable segment is mapped by MAP; false if it is not. */
bool mapped_bias(const struct map *map, const struct module *module, taddr_t *ret);

#endif
