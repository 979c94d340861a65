/* Which modules of a space are patched: what is mapped, which of it is wanted, what is gone. */
#pragma once

#include "patch/space.h"

/* Prepares for space_update() the modules that are mapped now; CALLER may run. Errors: "read-maps".
 */
int space_prepare(const struct space_context *ctx, struct space *space, pid_t caller,
                  struct err *err);
/* The same for all modules, patched or not, by the functions that are selected now: for
 * space_replace(). The trace is told later, by space_tell_prepared(). */
int space_prepare_anew(const struct space_context *ctx, struct space *space, pid_t caller,
                       struct err *err);
void space_tell_prepared(const struct space_context *ctx, struct space *space);

/* SPACE has just been entered: maps what is prepared, as if its patches had been taken away.
 * space_repatch() makes up for what cannot be mapped now. */
void space_map_prepared(struct space *space, pid_t caller);
/* Writes the trampolines that are mapped so, and makes the pages that will be patched the process's
 * own. The process runs, and spoor traces all of its threads. */
void space_fill_areas(const struct space *space);

/* Patches modules that are new and wanted, and forgets those that are gone; does nothing while
 * patches are taken away. Errors: "sandboxed", "read-maps". */
int space_update(const struct space_context *ctx, struct space *space, pid_t caller,
                 struct err *err);

/* For unpatch.c. The maps of TID's process, by their former names. */
int modules_read_maps(pid_t tid, struct maps *ret, struct err *err);
/* Patches what is new in MAPS. */
void modules_follow(const struct space_context *ctx, struct space *space, pid_t caller,
                    struct maps *maps);
bool modules_still_mapped(const struct space *space, const struct maps *maps,
                          const struct patched *p);
/* Unmaps the areas of modules that the dynamic linker has unmapped, and forgets these. */
void modules_drop_gone(struct space *space, pid_t caller, const struct maps *maps);
/* Warns of ERR, but not if the process of CALLER has ended. CALLER stands still; 0: it runs. */
void modules_warn(const struct space_context *ctx, pid_t caller, const struct err *err);
