/*
 * Finds the files that processes have mapped. Such a file may have been removed or replaced on disk
 * since. It may lie under another root or in another mount namespace, or have no name (memfd).
 */
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include "elf/module.h"
#include "target/maps.h"

/* Opens the file that MAP maps into process TID. MAP has its name before removal
 * (maps_use_former_names()). Returns −1 if it cannot be opened. */
int mapped_open(pid_t tid, const struct map *map, struct stat *ret_stat);
/* Like mapped_open(), but only if the kernel identifies the file: contents are not compared. */
int mapped_open_identified(pid_t tid, const struct map *map);
/* The status of the file that MAP maps, if the kernel identifies it. The file is not opened. */
bool mapped_identify(pid_t tid, const struct map *map, struct stat *ret);
/* Loads the file that MAP maps from the memory of process TID. Errors: "replaced" (too little of
 * the file is in memory). */
int mapped_load(pid_t tid, const struct map *map, struct module **ret, struct err *err);

/* *RET: the load bias of MODULE. Returns false if MAP maps no executable segment of MODULE. */
bool mapped_bias(const struct map *map, const struct module *module, taddr_t *ret);
