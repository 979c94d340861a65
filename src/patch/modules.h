/* Finds the modules of a space: new ones to patch, and gone ones to forget. */
#pragma once

#include "patch/space.h"

/* Prepares the modules that are mapped now, for space_update(). CALLER may run. Errors:
 * "read-maps". */
int space_prepare(const struct space_context *ctx, struct space *space, pid_t caller,
                  struct err *err);
/* Prepares all modules, patched or not, by the functions that are selected now, for
 * space_replace(). Writes nothing to the trace: space_write_prepared() does. */
int space_prepare_anew(const struct space_context *ctx, struct space *space, pid_t caller,
                       struct err *err);
void space_write_prepared(const struct space_context *ctx, struct space *space);

/* The agent has just been installed in SPACE: maps the prepared areas and leaves the text
 * unpatched. space_repatch() makes up for areas that cannot be mapped now. */
void space_map_prepared(struct space *space, pid_t caller);
/* Writes the trampolines of the areas mapped by space_map_prepared(), and makes private the pages
 * that will be patched. The process runs, and spoor traces all of its threads. */
void space_fill_areas(struct space *space);

/* Patches new modules that are wanted, and forgets modules that are gone. Does nothing while the
 * space is unpatched. Errors: "sandboxed", "read-maps". */
int space_update(const struct space_context *ctx, struct space *space, pid_t caller,
                 struct err *err);

/* For unpatch.c. The maps of TID's process, by their former names (maps_use_former_names()). */
int modules_read_maps(pid_t tid, struct maps *ret, struct err *err);
/* Patches new modules in MAPS. */
void modules_follow(const struct space_context *ctx, struct space *space, pid_t caller,
                    struct maps *maps);
bool modules_still_mapped(const struct space *space, const struct maps *maps,
                          const struct patched *p);
/* Unmaps the areas of modules that the dynamic linker has unmapped, and forgets these modules. */
void modules_drop_gone(struct space *space, pid_t caller, const struct maps *maps);
/* Warns of ERR, unless the process of CALLER has ended. CALLER is stopped; 0: the process runs. */
void modules_warn(const struct space_context *ctx, pid_t caller, const struct err *err);
