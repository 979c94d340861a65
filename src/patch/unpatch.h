/* Patches are taken away, for a while or for good, and written again. */
#pragma once

#include "patch/space.h"

/* Restores all text for a while; the areas stay mapped. Errors: as space_restore(). */
int space_unpatch(struct space *space, pid_t tid, struct err *err);
/* The same for good, as a sandbox forbids to replace the patches: the process is left untraced. */
int space_give_up(struct space *space, pid_t tid, struct err *err);
/* The same for good, as space_restore_for_good(); the process will be left. */
int space_unpatch_for_good(struct space *space, pid_t caller, struct err *err);
/* SPACE's patches have been taken away: writes them again, as far as the modules are still mapped,
 * and patches modules that are new. Errors: as space_update(). */
int space_repatch(const struct space_context *ctx, struct space *space, pid_t caller,
                  struct err *err);
/* Takes away all patches, whose trampolines threads must have left (settle.h), and installs what
 * space_prepare_anew() has prepared. Errors: as space_undo() and space_update(). */
int space_replace(const struct space_context *ctx, struct space *space, pid_t caller,
                  struct err *err);

/* Restores all text, which no thread may be about to leave by a patch. Errors: "text-changed",
 * "memory", "read-maps". */
int space_restore(struct space *space, pid_t tid, struct err *err);
/* The same for good: pages become their file's again, as far as CALLER may ask the kernel for it.
 */
int space_restore_for_good(struct space *space, pid_t caller, struct err *err);
