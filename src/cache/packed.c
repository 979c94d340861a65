/* Each block is a head and its compressed bytes, filled up to FLAT_ALIGN. A head without sizes ends
 * them. */
#include "cache/packed.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/mem.h"
#include "base/search.h"
#include "base/workers.h"

enum { LEVEL = -1 };

struct head {
    uint64_t raw, packed; /* sizes */
};

struct packer {
    struct flat_writer *to;
    size_t room;
    uint8_t *packed;
};

static int put_block(void *ctx, const void *bytes, size_t count) {
    struct packer *p = ctx;
    const size_t size = ZSTD_compress(p->packed, p->room, bytes, count, LEVEL);
    if (ZSTD_isError(size))
        return -ENOMEM;
    const struct head head = {count, size};
    flat_put(p->to, &head, sizeof head);
    flat_put(p->to, p->packed, size);
    flat_align(p->to);
    return p->to->failed;
}

void packed_write(struct flat_writer *w, void (*write)(struct flat_writer *w, void *ctx),
                  void *ctx) {
    const size_t room = ZSTD_compressBound(FLAT_BUFFER);
    AUTO_FREE uint8_t *packed = mem_alloc(room);
    struct packer packer = {w, room, packed};
    struct flat_writer blocks;
    const struct head end = {0};
    flat_writer_init(&blocks, put_block, &packer);
    write(&blocks, ctx);
    const int failed = flat_writer_done(&blocks);
    flat_put(w, &end, sizeof end);
    w->failed = w->failed ? w->failed : failed;
}

/* ---- reading ---- */

struct block {
    struct head head;
    const uint8_t *packed;
    size_t at; /* of its raw bytes */
    bool done; /* they are in memory */
};

struct packed {
    struct code_source source; /* the first member */
    struct folder_file file;
    ARRAY(struct block) blocks; /* by `at` */
    uint8_t *raw;
    size_t size; /* of all raw bytes */
    ZSTD_DCtx *zstd;
    uint8_t *scratch; /* the raw bytes of the block `in_scratch` */
    size_t in_scratch;
};

/* Finds the blocks of R. False: they do not end. */
static bool find_blocks(struct flat_reader r, struct packed *p) {
    const struct head *head;
    while ((head = flat_take(&r, 1, sizeof *head)) && head->raw) {
        const uint8_t *packed = flat_take(&r, head->packed, 1);
        if (!packed || head->raw > FLAT_BUFFER)
            return false;
        ARRAY_PUSH(&p->blocks, ((struct block){*head, packed, p->size, false}));
        p->size += (size_t)head->raw;
    }
    return head && p->blocks.count;
}

/* ZSTD: NULL makes one. */
static bool unpack(const struct block *b, ZSTD_DCtx *zstd, uint8_t *ret) {
    const size_t raw = (size_t)b->head.raw, packed = (size_t)b->head.packed;
    return (zstd ? ZSTD_decompressDCtx(zstd, ret, raw, b->packed, packed)
                 : ZSTD_decompress(ret, raw, b->packed, packed)) == raw;
}

struct unpacking {
    struct packed *p;
    ARRAY(size_t) blocks;
    atomic_bool failed;
};

static void unpack_block(void *arg, size_t i) {
    struct unpacking *u = arg;
    struct block *b = &u->p->blocks.at[u->blocks.at[i]];
    b->done = unpack(b, NULL, u->p->raw + b->at);
    if (!b->done)
        atomic_store(&u->failed, true);
}

static bool is_within(const struct block *b, const struct span *spans, size_t count) {
    bool within = false;
    for (size_t i = 0; i < count && !within; i++)
        within = b->at >= spans[i].start && b->at + b->head.raw <= spans[i].end;
    return within;
}

bool packed_unpack(struct packed *p, const struct span *later, size_t count) {
    struct unpacking u = {.p = p};
    for (size_t i = 0; i < p->blocks.count; i++)
        if (!p->blocks.at[i].done && !is_within(&p->blocks.at[i], later, count))
            ARRAY_PUSH(&u.blocks, i);
    workers_run(u.blocks.count, unpack_block, &u);
    ARRAY_FREE(&u.blocks);
    return !atomic_load(&u.failed);
}

/* ---- single blocks ---- */

/* The first block with a byte at OFFSET or behind. */
static size_t block_at(const struct packed *p, size_t offset) {
    return SEARCH(i, p->blocks.count, p->blocks.at[i].at + p->blocks.at[i].head.raw <= offset);
}

static bool fill(struct code_source *source, const void *at, size_t size) {
    struct packed *p = (struct packed *)source;
    const size_t from = (size_t)((const uint8_t *)at - p->raw);
    bool good = true;
    for (size_t i = block_at(p, from);
         good && i < p->blocks.count && p->blocks.at[i].at < from + size; i++) {
        struct block *b = &p->blocks.at[i];
        good = b->done = b->done || unpack(b, p->zstd, p->raw + b->at);
    }
    return good;
}

/* The raw bytes of block I; NULL: it is damaged. */
static const uint8_t *bytes_of(struct packed *p, size_t i) {
    const struct block *b = &p->blocks.at[i];
    if (b->done)
        return p->raw + b->at;
    if (p->in_scratch != i)
        p->in_scratch = unpack(b, p->zstd, p->scratch) ? i : SIZE_MAX;
    return p->in_scratch == i ? p->scratch : NULL;
}

static bool copy(struct code_source *source, const void *at, size_t size, void *ret) {
    struct packed *p = (struct packed *)source;
    size_t from = (size_t)((const uint8_t *)at - p->raw), got = 0;
    for (size_t i = block_at(p, from); got < size && i < p->blocks.count; i++) {
        const struct block *b = &p->blocks.at[i];
        const size_t skipped = from + got - b->at, left = (size_t)b->head.raw - skipped;
        const size_t part = left < size - got ? left : size - got;
        const uint8_t *bytes = bytes_of(p, i);
        if (!bytes)
            return false;
        memcpy((uint8_t *)ret + got, bytes + skipped, part);
        got += part;
    }
    return got == size;
}

static void close_source(struct code_source *source) { packed_close((struct packed *)source); }

/* ---- all ---- */

struct packed *packed_open(struct folder_file *file) {
    struct packed *p = mem_alloc(sizeof *p);
    p->source = (struct code_source){fill, copy, close_source};
    p->in_scratch = SIZE_MAX;
    p->zstd = ZSTD_createDCtx();
    if (p->zstd && find_blocks(file->contents, p)) {
        p->scratch = mem_alloc(FLAT_BUFFER);
        p->raw = mem_map_whole(p->size);
        if (fill(&p->source, p->raw, 1)) {
            p->file = *file;
            file->pages = NULL;
            return p;
        }
    }
    packed_close(p);
    return NULL;
}

void packed_close(struct packed *p) {
    if (p->raw)
        mem_unmap(p->raw, p->size);
    if (p->file.pages)
        mem_unmap(p->file.pages, p->file.size);
    ARRAY_FREE(&p->blocks);
    ZSTD_freeDCtx(p->zstd);
    free(p->scratch);
    free(p);
}

struct flat_reader packed_contents(const struct packed *p) {
    return (struct flat_reader){p->raw, p->raw + p->size};
}

struct code_source *packed_source(struct packed *p) {
    return &p->source;
}
