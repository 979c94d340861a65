/* Removes from a process what a killed spoor has left in it (leftovers.h). */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/report.h"

/*
 * Stops PID, restores its text, unmaps spoor's pages, and lets it run on. *RET_FOUND: there was
 * something to remove. Errors: those of candidate_check(), "busy",
 * "foreign-version", "returns-later" and "text-changed" (spoor's pages stay, but all text that can
 * be restored is), "sandboxed", "memory", "remote-call", "read-maps".
 */
int record_detach(const struct report *report, pid_t pid, bool *ret_found, struct err *err);
