/* Prints debugging messages to standard error. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

int log_level;

void log_print(int level, const char *fmt, ...) {
    if (level > log_level)
        return;
    va_list ap;
    va_start(ap, fmt);
    fputs("spoor: debug: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
}
