/* Bytes of a summary's file (kept.h), one after the other. Arrays are aligned to 8 bytes. */
#pragma once

#include "base/mem.h"
#include "base/types.h"

enum { KEPT_PIECE = 1 << 20 }; /* of a checksum */

struct kept_writer {
    int fd;
    uint8_t *piece; /* KEPT_PIECE bytes */
    size_t filled;
    uint64_t written, check; /* of all pieces so far */
    bool failed;
};

/* Writes behind HEAD bytes, which are left free. */
void kept_writer_begin(struct kept_writer *w, int fd, size_t head);
void kept_put(struct kept_writer *w, const void *bytes, size_t size);
void kept_put_number(struct kept_writer *w, uint64_t value);
/* Writes the rest. False: something could not be written. */
bool kept_writer_end(struct kept_writer *w);

/* The check of SIZE bytes of FD from HEAD on, as the writer has it. */
bool kept_check(int fd, size_t head, uint64_t size, uint64_t *ret);

struct kept_reader {
    uint8_t *at, *end;
    bool failed; /* the file is too short */
};
/* COUNT elements of SIZE bytes. NULL: none, or too many. */
void *kept_get(struct kept_reader *r, uint64_t count, size_t size);
uint64_t kept_get_number(struct kept_reader *r);
