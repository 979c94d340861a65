/*
 * A module's text in a process. Pages that the process has not written are the file's own. Spoor
 * has mapped them, too, so they need neither be read nor compared.
 */
#pragma once

#include "patch/space.h"

struct text_view {
    const struct patched *patched; /* the next two are borrowed */
    const struct writable_text *text;
    int memory_fd;
    pid_t tid;           /* for fast reads; 0: unknown */
    bool is_new;         /* the process has mapped it a moment ago, and hardly used it */
    int pagemap_fd;      /* −1: all text is read */
    vaddr_t known_below; /* text below is the file's; 0: not known */
};

/* SPACE: that of P. TEXT must be of now (writable_text_set()). */
void text_view_open(struct text_view *ret, const struct patched *p, const struct space *space);
/* The same, but reads all text. */
struct text_view text_view_by_reading(const struct patched *p, int memory_fd);
void text_view_close(struct text_view *view);
/* The process stands, and its text from AT to END is about to be written, from high to low
 * addresses: looks at all of it now. */
void text_view_look_below(struct text_view *view, vaddr_t at, vaddr_t end);
/* Text from AT on was written. */
void text_view_note_write(struct text_view *view, vaddr_t at);
/* True if SIZE bytes at AT, a link-time address, are those of the module's file. False: unknown. */
bool text_view_is_file(const struct text_view *view, vaddr_t at, size_t size);
/* Reads SIZE bytes at AT. Errors: "memory". */
int text_view_read(const struct text_view *view, vaddr_t at, uint8_t *out, size_t size,
                   struct err *err);
