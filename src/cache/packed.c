/* Each block is a head and its compressed bytes, filled up to FLAT_ALIGN. A head without sizes ends
 * them. */
#include "cache/packed.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/mem.h"
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
};
typedef ARRAY(struct block) block_list;

/* Finds the blocks of R, and their raw bytes' sum. False: they do not end. */
static bool find_blocks(struct flat_reader *r, block_list *ret, size_t *ret_size) {
    const struct head *head;
    *ret_size = 0;
    while ((head = flat_take(r, 1, sizeof *head)) && head->raw) {
        const uint8_t *packed = flat_take(r, head->packed, 1);
        if (!packed || head->raw > FLAT_BUFFER)
            return false;
        ARRAY_PUSH(ret, ((struct block){*head, packed, *ret_size}));
        *ret_size += (size_t)head->raw;
    }
    return head && ret->count;
}

struct unpacking {
    const struct block *blocks;
    uint8_t *raw;
    atomic_bool failed;
};

static void unpack_block(void *arg, size_t i) {
    struct unpacking *u = arg;
    const struct block *b = &u->blocks[i];
    const size_t raw = (size_t)b->head.raw;
    if (ZSTD_decompress(u->raw + b->at, raw, b->packed, (size_t)b->head.packed) != raw)
        atomic_store(&u->failed, true);
}

static void replace(struct folder_file *file, uint8_t *raw, size_t size, bool done) {
    if (!done) {
        mem_unmap(raw, size);
        return;
    }
    mem_unmap(file->pages, file->size);
    *file = (struct folder_file){raw, size, {raw, raw + size}};
}

bool packed_read(struct folder_file *file) {
    struct flat_reader reader = file->contents;
    block_list blocks = {0};
    size_t size = 0;
    bool done = find_blocks(&reader, &blocks, &size);
    if (done) {
        struct unpacking unpacking = {blocks.at, mem_map_whole(size), false};
        workers_run(blocks.count, unpack_block, &unpacking);
        done = !atomic_load(&unpacking.failed);
        replace(file, unpacking.raw, size, done);
    }
    ARRAY_FREE(&blocks);
    return done;
}
