/*
 * The files that processes have mapped. They may have been removed or replaced on disk since, be
 * under another root or in another mount namespace, or have no name at all (memfd).
 */
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include "elf/module.h"
#include "target/maps.h"

/* Opens the file that MAP maps into process TID. MAP has its name before removal
 * (maps_use_former_names()). Returns −1 if it cannot be opened. */
int mapped_open(pid_t tid, const struct map *map, struct stat *ret_stat);
/* The same, but only if the kernel identifies the file: contents are not compared. */
int mapped_open_identified(pid_t tid, const struct map *map);
/* Loads that file as a module from the memory of process TID. Errors: "replaced" (too little of it
 * is there). */
int mapped_load(pid_t tid, const struct map *map, struct module **ret, struct err *err);

/* The load bias of MODULE, whose executable segment is mapped by MAP; false if it is not. */
bool mapped_bias(const struct map *map, const struct module *module, taddr_t *ret);
