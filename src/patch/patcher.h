/*
 * Patches one module of one address space, and restores it. Text is compared with the file before
 * it is changed: functions that differ from what was planned are never written (held.h).
 */
#pragma once

#include "patch/patched.h"

struct pages;

/* Chooses an area and emits its trampolines. The target may run, and is not changed. Uses only
 * SPACE's modules, and CALLER as one of its threads. Notes the area in MAPS. Errors: "no-room" (no
 * room for an area within reach), those of plan_emit(). */
int patcher_prepare(struct patched *p, const struct patch_request *request, struct err *err);
/* Compares text with the file before the program is stopped. Text that changes later is found when
 * it is written. */
void patcher_check_early(struct patched *p, const struct space *space);
/* Maps the prepared area and islands; patcher_redo() does the rest. Errors: "no-room",
 * "remote-call", "memory"; then P's code is forgotten. */
int patcher_map(struct patched *p, struct space *space, pid_t caller, struct err *err);
/* Writes the trampolines, and makes private the pages that will be patched, so that patcher_redo()
 * has less to do. The program runs, and spoor traces all of its threads. */
void patcher_fill(struct patched *p, const struct space *space);
/* Maps and writes the prepared area and patches. Errors: "no-room" (something else is mapped there
 * now), "text-differs", "remote-call", "memory". On error the module is as before
 * patcher_prepare(). */
int patcher_install(struct patched *p, const struct patch_request *request, struct err *err);
/* patcher_prepare(), then patcher_install(). */
int patcher_apply(struct patched *p, const struct patch_request *request, struct err *err);
/* Restores the text: writes the original bytes or, where PAGES (may be NULL) allows it, drops
 * pages. The area stays mapped. Patches that the program has overwritten stay as they are. Errors:
 * "text-changed" (the program has overwritten some; the rest is restored), "memory". */
int patcher_undo(struct patched *p, int memory_fd, struct pages *pages, struct err *err);
/* Writes the patches again, or for the first time after patcher_map(). Errors: "text-differs",
 * "memory"; then the text is restored. */
int patcher_redo(struct patched *p, const struct space *space, struct err *err);
/* Unmaps the area and its islands; threads must have left them. */
int patcher_unmap(struct patched *p, const struct space *space, pid_t caller, struct err *err);
/* Restores the text of the site whose window holds run-time address ADDR. */
int patcher_withdraw(struct patched *p, int memory_fd, taddr_t addr, struct err *err);
