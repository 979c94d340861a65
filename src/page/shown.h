/*
 * The trace that is shown. It is read as it was when it was opened, whatever is written to it
 * later. Requests are answered in several threads; each borrows a *desk*: what one thread needs to
 * read the trace and to name functions.
 */
#pragma once

#include "cmd/view.h"

enum { DESKS = 3 }; /* requests that read at the same time; others wait */

struct shown;

/* Errors: those of trace_reader_open(). */
int shown_open(const char *path, struct shown **ret, struct err *err);
void shown_free(struct shown *s);

const char *shown_path(const struct shown *s);
struct trace_reader *shown_reader(const struct shown *s);
/* NULL, or a sentence: what of the trace is missing, as trace_reader_warning(). */
const char *shown_warning(const struct shown *s);
/* -ESTALE "changed": the file is not any more what was opened, and its events cannot be read. */
int shown_check(const struct shown *s, struct err *err);

struct range {
    uint64_t since_ns, until_ns;
    const uint8_t *streams; /* by stream: 1 if it is shown; NULL: all are */
};

struct desk {
    struct view view; /* of the range */
    struct shown *shown;
    bool busy;
    void *ctx;                  /* of the request, for is_gone() */
    bool (*is_gone)(void *ctx); /* nobody waits for the answer any more */
    atomic_bool stop;           /* set after that: walks end */
    uint64_t looked_ns;         /* when is_gone() was asked */
};

/* Borrows a desk that shows RANGE. Waits for one as long as IS_GONE(CTX) says no; NULL: it did not.
 */
struct desk *shown_desk(struct shown *s, const struct range *range, bool (*is_gone)(void *ctx),
                        void *ctx);
void desk_return(struct desk *d);
