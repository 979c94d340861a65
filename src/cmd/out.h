/*
 * Where views that print a line a call write to: a buffer in front of standard output or of a file
 * that gets its name when it is complete. Numbers are written without printf: a line costs as
 * little as reading what it tells.
 *
 * After a write error everything further is discarded, and OUT->error says so: stop then. A reader
 * that has gone away ends spoor by SIGPIPE, quietly, also where that signal is ignored.
 */
#pragma once

#include <string.h>

#include "base/err.h"
#include "base/types.h"
#include "trace/output.h"

enum { OUT_BYTES = 64 * 1024 };

struct out {
    char *buffer; /* of OUT_BYTES */
    size_t used;
    int fd;
    int error;          /* errno; 0: none */
    const char *name;   /* of it, in messages */
    bool is_file;       /* and not standard output */
    struct output file; /* if is_file */
};

/* PATH NULL: standard output. A file that is not completed, for an error or because of a signal
 * (SIGINT, SIGTERM, SIGHUP), is removed. One such file at a time. Errors as output_open(). */
int out_open(struct out *o, const char *path, struct err *err);
/* Writes the rest and gives a file its name. Returns spoor's exit status; an error is said. */
int out_close(struct out *o);
/* Instead of out_close(): removes a file. */
void out_abandon(struct out *o);

void out_flush(struct out *o);
/* Text of any length. */
void out_long(struct out *o, const char *text, size_t length);

/* Room for LENGTH bytes, at most OUT_BYTES. */
static inline char *out_room(struct out *o, size_t length) {
    if (OUT_BYTES - o->used < length)
        out_flush(o);
    return o->buffer + o->used;
}

static inline void out_text(struct out *o, const char *text, size_t length) {
    if (OUT_BYTES - o->used < length) {
        out_long(o, text, length);
        return;
    }
    memcpy(o->buffer + o->used, text, length);
    o->used += length;
}

/* A string literal. */
#define out_words(o, literal) out_text(o, "" literal "", sizeof(literal) - 1)

static inline void out_char(struct out *o, char c) {
    *out_room(o, 1) = c;
    o->used++;
}

/* VALUE in decimal, right-aligned in WIDTH columns that are filled with FILL. */
void out_padded(struct out *o, uint64_t value, unsigned width, char fill);
void out_number(struct out *o, uint64_t value);
/* Nanoseconds as microseconds: 1234 is 1.234. */
void out_micros(struct out *o, uint64_t ns);
void out_spaces(struct out *o, size_t count);
