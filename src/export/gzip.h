/* Writes a gzip file (RFC 1952) to an output, piece by piece. */
#pragma once

#define ZLIB_CONST
#include <zlib.h>

#include "cmd/out.h"

struct gzip {
    struct out *out;
    z_stream stream;
};

/* OUT must outlive G; its error is set if there is no memory. Ends with gzip_end(). */
void gzip_begin(struct gzip *g, struct out *out);
void gzip_write(struct gzip *g, const void *bytes, size_t count);
void gzip_end(struct gzip *g);
