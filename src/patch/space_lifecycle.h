/* Makes spaces, copies them at a fork, and removes everything at the end. */
#pragma once

#include "patch/space.h"

/* For a process at its exec event: maps the agent and a slab. Errors: those of space_install(),
 * "foreign-program" (for another processor). */
int space_new(const struct space_context *ctx, pid_t tid, struct space **ret, struct err *err);
/* For a running process: loads, plans and prepares the modules to trace. Does not touch the
 * process; space_install() follows. Errors: "foreign-program", "unreadable", "read-maps". */
int space_new_prepared(const struct space_context *ctx, pid_t tid, struct space **ret,
                       struct err *err);
/* For a forked process. If its memory cannot be opened yet, the parent's descriptor is borrowed: it
 * reaches what both share, such as the frames of remote calls. */
struct space *space_fork(const struct space *parent, pid_t tid, struct err *err);
/* Another thread of the parent may have been served between a fork and its report. Forgets what was
 * mapped in between: the child does not have it. */
void space_forget_unmapped(struct space *space);

/* All text is restored and threads have left the trampolines (settle.h): unmaps everything. Errors:
 * "sandboxed", "returns-later" (some mappings stay), "memory", "remote-call", "read-maps". */
int space_uninstall(struct space *space, pid_t caller, struct err *err);
/* Restores all text, then calls space_uninstall(). Errors: those of space_uninstall() and
 * space_restore_for_good(). */
int space_undo(struct space *space, pid_t caller, struct err *err);
