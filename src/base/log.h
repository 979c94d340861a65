/*
 * Diagnostics for people who debug spoor itself (-v): silent unless the level
 * is raised, always on standard error. Not for user-facing messages.
 */
#pragma once

extern int log_level; /* 0 silent, 1 -v, 2 -vv */

void log_print(int level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
