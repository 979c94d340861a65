/*
 * Messages to the user: one line each on standard error, "spoor: WHAT: WHY". Nothing else in
 * src/cmd writes there, apart from the progress display and record's summary.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* After say_be_quiet(true), say_note() says nothing. Errors are always said. */
void say_be_quiet(bool quiet);
void say_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void say_err(const struct err *err);
void say_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
