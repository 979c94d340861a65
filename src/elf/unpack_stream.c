/* gABI, "Compressed Sections"; .zdebug_* of older GNU tools: "ZLIB", the size as 8 bytes, the
 * highest first, then a zlib stream. */
#include "elf/unpack_stream.h"

#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/mem.h"

enum {
    PIECE = 256 << 10,
    RATIO_ZLIB = 1032,     /* the best that deflate can do */
    RATIO_ZSTD = 32 << 10, /* of one block that repeats one byte, about */
    ZSTD = 2,              /* ELFCOMPRESS_ZSTD, younger than this <elf.h> */
    GNU_HEAD = 4 + sizeof(uint64_t)
};

struct packed {
    const uint8_t *bytes; /* the stream */
    size_t size;
    uint64_t unpacked;
    uint32_t type; /* ELFCOMPRESS_*; 0: it is not packed */
};

static bool read_gnu_head(const uint8_t *bytes, struct packed *p) {
    if (p->size < GNU_HEAD || memcmp(bytes, "ZLIB", 4) != 0)
        return false;
    p->unpacked = 0;
    for (size_t i = 4; i < GNU_HEAD; i++)
        p->unpacked = p->unpacked << 8 | bytes[i];
    p->bytes = bytes + GNU_HEAD;
    p->size -= GNU_HEAD;
    p->type = ELFCOMPRESS_ZLIB;
    return true;
}

static bool read_head(const struct image *image, uint32_t index, struct packed *ret) {
    Elf64_Shdr sh = image_section(image, index);
    const uint8_t *bytes = image_section_bytes(image, &sh);
    const char *name = image_section_name(image, &sh);
    const size_t head = image->sizes->compression;
    if (!bytes)
        return false;
    *ret = (struct packed){bytes, sh.sh_size, sh.sh_size, 0};
    if (name && strncmp(name, ".zdebug_", 8) == 0)
        return read_gnu_head(bytes, ret);
    if (!(sh.sh_flags & SHF_COMPRESSED))
        return true;
    if (sh.sh_size < head)
        return false;
    Elf64_Chdr header = image_compression(image, bytes);
    *ret = (struct packed){bytes + head, sh.sh_size - head, header.ch_size, header.ch_type};
    return ret->type != 0;
}

bool unpack_size(const struct image *image, uint32_t index, uint64_t *ret, bool *ret_packed) {
    struct packed p;
    if (!read_head(image, index, &p))
        return false;
    *ret = p.unpacked;
    *ret_packed = p.type != 0;
    return !p.type || p.unpacked / (p.type == ZSTD ? RATIO_ZSTD : RATIO_ZLIB) <= p.size;
}

struct output {
    void (*put)(void *ctx, const void *bytes, size_t count);
    void *ctx;
    uint64_t left;
    uint8_t *buffer; /* PIECE bytes */
};

static void give(struct output *out, size_t count) {
    size_t part = count < out->left ? count : (size_t)out->left;
    out->put(out->ctx, out->buffer, part);
    out->left -= part;
}

static bool stream_zlib(const struct packed *p, struct output *out) {
    enum { MOST = 1 << 30 }; /* zlib counts in 32 bits */
    z_stream z = {.next_in = (Bytef *)p->bytes};
    size_t rest = p->size;
    int rc = inflateInit(&z);
    while (rc == Z_OK && out->left) {
        if (!z.avail_in) {
            z.avail_in = rest < MOST ? (uInt)rest : MOST;
            rest -= z.avail_in;
        }
        z.next_out = out->buffer;
        z.avail_out = PIECE;
        rc = inflate(&z, Z_NO_FLUSH);
        if (rc == Z_OK || rc == Z_STREAM_END)
            give(out, PIECE - z.avail_out);
    }
    inflateEnd(&z);
    return !out->left;
}

static bool stream_zstd(const struct packed *p, struct output *out) {
    ZSTD_DStream *z = ZSTD_createDStream();
    ZSTD_inBuffer in = {p->bytes, p->size, 0};
    size_t before, rc = 1;
    do {
        ZSTD_outBuffer piece = {out->buffer, PIECE, 0};
        before = in.pos;
        rc = z ? ZSTD_decompressStream(z, &piece, &in) : 0;
        if (ZSTD_isError(rc))
            break;
        give(out, piece.pos);
        if (!piece.pos && in.pos == before)
            break;
    } while (rc && out->left);
    ZSTD_freeDStream(z);
    return !out->left;
}

bool unpack_stream(const struct image *image, uint32_t index,
                   void (*put)(void *ctx, const void *bytes, size_t count), void *ctx) {
    struct packed p;
    if (!read_head(image, index, &p))
        return false;
    if (!p.type) {
        put(ctx, p.bytes, p.size);
        return true;
    }
    AUTO_FREE uint8_t *buffer = mem_alloc(PIECE);
    struct output out = {put, ctx, p.unpacked, buffer};
    if (p.type == ELFCOMPRESS_ZLIB)
        return stream_zlib(&p, &out);
    return p.type == ZSTD && stream_zstd(&p, &out);
}
