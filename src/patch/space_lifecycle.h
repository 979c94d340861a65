/* How spaces begin, are copied, and end. */
#pragma once

#include "patch/space.h"

/* For a process that stands at its exec event: maps the agent and a slab. Errors: those of
 * space_install(), "foreign-program" (not one of our processor). */
int space_new(const struct space_context *ctx, pid_t tid, struct space **ret, struct err *err);
/* For a process that runs: loads, plans and prepares the modules to be traced. The process is not
 * touched; space_install() follows. Errors: "foreign-program", "unreadable", "read-maps". */
int space_new_prepared(const struct space_context *ctx, pid_t tid, struct space **ret,
                       struct err *err);
/* The copy that a fork makes. If the copy's memory may not be opened yet, its parent's descriptor
 * is borrowed: what both share, such as the frames of remote calls, is reached by that. */
struct space *space_fork(const struct space *parent, pid_t tid, struct err *err);
/* Another thread of the parent may have been served between a fork and its report: forgets what was
 * mapped in between, which is not in the copy. */
void space_forget_unmapped(struct space *space);

/* All text is restored and threads have left the trampolines (settle.h): unmaps everything. Errors:
 * "sandboxed", "returns-later" (some is kept), "memory", "remote-call", "read-maps". */
int space_uninstall(struct space *space, pid_t caller, struct err *err);
/* Restores all text, then the same. Errors: those of space_uninstall() and
 * space_restore_for_good(). */
int space_undo(struct space *space, pid_t caller, struct err *err);
