/* Takes patches away, for a while or for good, and writes them again. */
#pragma once

#include "patch/space.h"

/* Restores all text for a while; the areas stay mapped. Errors: as space_restore(). */
int space_unpatch(struct space *space, pid_t tid, struct err *err);
/* The same for good, because a sandbox forbids to replace the patches: the process stays
 * untraced. */
int space_give_up(struct space *space, pid_t tid, struct err *err);
/* Restores all text as space_restore_for_good() does; the process will be detached. */
int space_unpatch_for_good(struct space *space, pid_t caller, struct err *err);
/* SPACE is unpatched: writes the patches of modules that are still mapped again, and patches new
 * modules. Errors: as space_update(). */
int space_repatch(const struct space_context *ctx, struct space *space, pid_t caller,
                  struct err *err);
/* Takes away all patches, whose trampolines no thread is in (settle.h), and installs what
 * space_prepare_anew() has prepared. Errors: as space_undo() and space_update(). */
int space_replace(const struct space_context *ctx, struct space *space, pid_t caller,
                  struct err *err);

/* Restores all text. No thread may be between a site and its trampoline. Errors: "text-changed",
 * "memory", "read-maps". */
int space_restore(struct space *space, pid_t tid, struct err *err);
/* The same for good: drops written pages, if CALLER's sandbox allows it. */
int space_restore_for_good(struct space *space, pid_t caller, struct err *err);
