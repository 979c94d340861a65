/* Removes the leftovers of a killed spoor from a process (leftovers.h). */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/report.h"

/*
 * Stops PID, restores its text, unmaps spoor's pages, and lets PID run on. *RET_FOUND: PID had
 * leftovers. Errors: those of candidate_check(), "busy", "foreign-version", "sandboxed", "memory",
 * "remote-call", "read-maps"; "returns-later" and "text-changed": spoor's pages stay, but all text
 * is restored that can be.
 */
int record_detach(const struct report *report, pid_t pid, bool *ret_found, struct err *err);
