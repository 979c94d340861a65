/*
 * Messages to the user: one line each on standard error, "spoor: WHAT: WHY". In src/cmd,
 * only the display of progress also writes there.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* QUIET: say_note() prints nothing. Errors are always printed. */
void say_set_quiet(bool quiet);
void say_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void say_err(const struct err *err);
void say_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
