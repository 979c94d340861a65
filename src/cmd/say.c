/* Prints messages without control characters. */
#include "cmd/say.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

static bool quiet;

void say_set_quiet(bool now_quiet) { quiet = now_quiet; }

/* Prints one line. Control characters become '?': foreign files choose names. */
static void say(const char *fmt, va_list ap) {
    char line[1024] = "spoor: ";
    enum { HEAD = sizeof "spoor: " - 1 };
    vsnprintf(line + HEAD, sizeof line - HEAD - 1, fmt, ap);
    char *p = line;
    for (; *p; p++)
        if (iscntrl((unsigned char)*p))
            *p = '?';
    *p++ = '\n';
    fwrite(line, 1, (size_t)(p - line), stderr);
}

void say_error(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    say(fmt, ap);
    va_end(ap);
}

void say_err(const struct err *err) { say_error("%s", err->text); }

void say_note(const char *fmt, ...) {
    if (quiet)
        return;
    va_list ap;
    va_start(ap, fmt);
    say(fmt, ap);
    va_end(ap);
}
