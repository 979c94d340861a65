/* See gzip.h. */
#include "export/gzip.h"

#include <errno.h>

enum { GZIP_WINDOW = 15 + 16, MEMORY = 8 }; /* zlib.h, deflateInit2(): a gzip header; the default */

void gzip_begin(struct gzip *g, struct out *out) {
    *g = (struct gzip){.out = out};
    if (deflateInit2(&g->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, MEMORY,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        out->error = ENOMEM;
}

/* Takes all input, and with Z_FINISH writes all output. */
static void run(struct gzip *g, int flush) {
    bool goes_on = !g->out->error;
    while (goes_on) {
        g->stream.next_out = (Bytef *)out_room(g->out, OUT_BYTES);
        g->stream.avail_out = OUT_BYTES;
        deflate(&g->stream, flush);
        g->out->used += OUT_BYTES - g->stream.avail_out;
        goes_on = !g->stream.avail_out;
    }
}

void gzip_write(struct gzip *g, const void *bytes, size_t count) {
    for (size_t n; count; bytes = (const char *)bytes + n, count -= n) {
        n = count < UINT32_MAX ? count : UINT32_MAX;
        g->stream.next_in = bytes;
        g->stream.avail_in = (uInt)n;
        run(g, Z_NO_FLUSH);
    }
}

void gzip_end(struct gzip *g) {
    run(g, Z_FINISH);
    deflateEnd(&g->stream);
}
