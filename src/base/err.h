/*
 * Errors as values.
 *
 * A function that can fail returns 0 or a negative errno and, in a trailing `struct err *`, a
 * stable tag and one readable sentence. Only src/cmd prints. Callers that do not need the reason
 * pass NULL.
 */
#pragma once

#include <stdarg.h>

struct err {
    int code;       /* positive errno; 0: no error */
    char tag[32];   /* stable, lower-case, hyphenated: what tests and scripts match */
    char text[480]; /* "WHAT: WHY", one line, no trailing newline */
};

/* Fills *err (unless it is NULL) and returns -code. */
int err_set(struct err *err, int code, const char *tag, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Prefixes the text that is already in *err with "WHAT: ". */
void err_prefix(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
