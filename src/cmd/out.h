/*
 * Output of views that print a line for each call: a buffer before standard output, or before a
 * file that gets its name when it is complete. Numbers are written without printf, so that writing
 * a line is as fast as reading its events.
 *
 * After a write error, o->error is set, and further output is discarded: the caller stops. If the
 * reader of a pipe has gone, spoor ends by SIGPIPE, even where that signal is ignored.
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
    const char *name;   /* of the output, in messages */
    bool is_file;       /* false: standard output */
    struct output file; /* if is_file */
};

/* Opens PATH; NULL: standard output. The file is removed if an error or a signal (SIGINT, SIGTERM,
 * SIGHUP) comes before it is complete. Only one file may be open. Errors: those of output_open().
 */
int out_open(struct out *o, const char *path, struct err *err);
/* Writes the rest, and gives a file its name. Prints errors. Returns spoor's exit status. */
int out_close(struct out *o);
/* In place of out_close(): discards the rest, and removes a file. */
void out_abandon(struct out *o);

/* Calls UNDO, which must be async-signal-safe, if one of these signals ends spoor. */
void out_undo_on_signal(void (*undo)(void));
void out_keep_on_signal(void);

void out_flush(struct out *o);
/* Writes TEXT of any length. */
void out_long(struct out *o, const char *text, size_t length);

/* Room in the buffer for LENGTH bytes, at most OUT_BYTES. */
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

/* Writes a string literal. */
#define out_words(o, literal) out_text(o, "" literal "", sizeof(literal) - 1)

static inline void out_char(struct out *o, char c) {
    *out_room(o, 1) = c;
    o->used++;
}

/* Writes VALUE in decimal, filled with FILL on the left to WIDTH columns. */
void out_padded(struct out *o, uint64_t value, unsigned width, char fill);
void out_number(struct out *o, uint64_t value);
/* Writes nanoseconds as microseconds: 1234 as 1.234. */
void out_micros(struct out *o, uint64_t ns);
/* As milliseconds: 1234567 as 1.234567, 2000000 as 2. */
void out_millis(struct out *o, uint64_t ns);
void out_spaces(struct out *o, size_t count);
