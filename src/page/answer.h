/* The answers of the interface (/api), whatever the way to the page: HTTP, or one file. */
#pragma once

#include <stdio.h>

#include "page/shown.h"

/* What a request gives. */
struct request {
    struct shown *shown;
    struct shown *other;                                   /* to compare with, or NULL */
    const char *(*parameter)(void *ctx, const char *name); /* NULL: not given */
    bool (*is_gone)(void *ctx);                            /* nobody waits any more; or NULL */
    void *ctx;
    const uint8_t *streams;   /* the only ones that count (shown.h); NULL: all */
    const uint8_t *functions; /* by function: 1 if its name is wanted; NULL: all names are */
    bool for_others;          /* the answer is for a file that leaves this machine */
    bool hides_values;        /* it must not have any */
};

struct answer {
    int status; /* of HTTP; 0: nobody waits for it any more, and there is no body */
    const char *type;
    char *body; /* to be freed */
    size_t size;
};

/* Answers the request for PATH, as "/api/functions". Errors are answers, too. */
void answer_request(const struct request *request, const char *path, struct answer *ret);
/* The answer for an error: TEXT is "WHAT: WHY". */
void answer_error(struct answer *ret, int status, const char *text);
