/* How low rooms report to the user: only commands print. Either function may be NULL. */
#pragma once

#include <stddef.h>

struct report {
    void (*warn)(void *ctx, const char *text); /* one line about something that is not fatal */
    /* One line about a failure that does not end the recording, or about leftovers in a process. */
    void (*complain)(void *ctx, const char *text);
    void *ctx;
};

static inline void report_warn(const struct report *r, const char *text) {
    if (r->warn)
        r->warn(r->ctx, text);
}
static inline void report_complain(const struct report *r, const char *text) {
    if (r->complain)
        r->complain(r->ctx, text);
}
