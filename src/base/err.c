/* Formats errors into struct err. */
#include "base/err.h"

#include <stdio.h>
#include <string.h>

int err_set(struct err *err, int code, const char *tag, const char *fmt, ...) {
    if (!err)
        return -code;
    va_list ap;
    va_start(ap, fmt);
    err->code = code;
    snprintf(err->tag, sizeof err->tag, "%s", tag);
    vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    return -code;
}

void err_prefix(struct err *err, const char *fmt, ...) {
    if (!err)
        return;
    char head[240], old[sizeof err->text];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(head, sizeof head, fmt, ap);
    va_end(ap);
    memcpy(old, err->text, sizeof old);
    int n = snprintf(err->text, sizeof err->text, "%s: ", head);
    if (n > 0 && (size_t)n < sizeof err->text)
        snprintf(err->text + n, sizeof err->text - (size_t)n, "%s", old);
}
