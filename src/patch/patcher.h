/*
 * Carries a plan out on one module of one address space, and takes it back.
 * Text is checked against the file before it is changed: a page that does not
 * hold what the plan was made from is never written.
 */
#pragma once

#include "patch/patched.h"

struct pages;

/* Chooses room for the trampolines and makes them: the target may run, and nothing in it changes.
 * Needs of SPACE its modules only, and CALLER as one of its threads. The room is noted in MAPS.
 * Errors: "no-room" (no trampoline area within reach), those of plan_emit(). */
int patcher_prepare(struct patched *p, const struct patch_request *request, struct err *err);
/* Compares text with the file before the program is stopped for patches; text that changes in
 * between is found while it is written. */
void patcher_check_early(struct patched *p, int memory_fd);
/* Maps what was prepared, islands too; patcher_redo() does the rest. Errors: "no-room",
 * "remote-call", "memory"; then it is forgotten. */
int patcher_map(struct patched *p, struct space *space, pid_t caller, struct err *err);
/* Writes the trampolines, and makes the pages that will be written private, while the program runs
 * and spoor traces all of its threads: patcher_redo() has less to do then. */
void patcher_fill(struct patched *p, const struct space *space);
/* Maps and writes what was prepared. Errors: "no-room" (something else has come there),
 * "text-differs", "remote-call", "memory". On error the module is as it was before it was prepared.
 */
int patcher_install(struct patched *p, const struct patch_request *request, struct err *err);
/* patcher_prepare(), then patcher_install(). */
int patcher_apply(struct patched *p, const struct patch_request *request, struct err *err);
/* Writes the original text back or, where PAGES (may be NULL) allows it, makes pages their file's
 * again; the area stays mapped. Bytes that others have written over it stay. Errors: "text-
 * changed" (there are such bytes; the rest is restored), "memory". */
int patcher_undo(struct patched *p, int memory_fd, struct pages *pages, struct err *err);
/* Writes the patches again, or for the first time after patcher_map(). Errors: "text-differs",
 * "memory"; the text is as it was then. */
int patcher_redo(struct patched *p, const struct space *space, struct err *err);
/* Unmaps the area and its islands; threads must have left them. */
int patcher_unmap(struct patched *p, const struct space *space, pid_t caller, struct err *err);
/* Restores the text of the site whose window holds run-time address ADDR. */
int patcher_withdraw(struct patched *p, int memory_fd, taddr_t addr, struct err *err);
