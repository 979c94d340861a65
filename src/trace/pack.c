/* Frames of zstd: one for each part that is long enough, or one for a small block. */
#include "trace/pack.h"

#include <string.h>
#include <zstd.h>

#include "base/mem.h"

enum {
    SMALL = 4 * 1024, /* a payload of this size or less is one frame */
    SPLIT = 1024,     /* a part of this size gets compression tables of its own */
    FRAME_BYTES = 64, /* head and end of a frame, at most */
    TIMES = 2,        /* the part of an event block that holds its times */
    TRIALS = 16
};

struct packer {
    ZSTD_CCtx *matches, *numbers; /* NULL: no memory */
    uint64_t blocks;
    bool repeats;   /* matches suit the times, as the last trial has shown */
    size_t most[2]; /* bytes of the largest block, without columns and with */
};

/* A level this low looks at one place in a block of 128 KB. Such levels leave literals as they are
 * unless told otherwise: experimentalParam5 is ZSTD_c_literalCompressionMode, and 1 is Huffman's
 * code (zstd.h). A library that knows neither finds matches, which is slower. */
static ZSTD_CCtx *new_numbers(void) {
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    if (!zstd)
        return NULL;
    size_t rc = ZSTD_CCtx_setParameter(zstd, ZSTD_c_experimentalParam5, 1);
    int level = ZSTD_isError(rc) ? 1 : ZSTD_minCLevel();
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, level);
    return zstd;
}

static ZSTD_CCtx *new_matches(void) {
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    if (!zstd)
        return NULL;
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, 1);
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_minMatch, 7);
    return zstd;
}

struct packer *packer_new(void) {
    struct packer *p = mem_alloc(sizeof *p);
    p->matches = new_matches();
    p->numbers = new_numbers();
    return p;
}

void packer_free(struct packer *p) {
    if (!p)
        return;
    ZSTD_freeCCtx(p->matches);
    ZSTD_freeCCtx(p->numbers);
    free(p);
}

size_t packer_room(size_t raw) {
    return ZSTD_compressBound(raw) + (size_t)FRAME_BYTES * BLOCK_PARTS;
}

/* Adds a frame of COUNT parts to OUT. False: no room, or no memory. */
static bool put_frame(ZSTD_CCtx *zstd, const struct bytes *parts, int count, ZSTD_outBuffer *out) {
    size_t raw = 0;
    for (int i = 0; i < count; i++)
        raw += parts[i].count;
    if (!raw)
        return true;
    if (!zstd)
        return false;
    ZSTD_CCtx_reset(zstd, ZSTD_reset_session_only);
    ZSTD_CCtx_setPledgedSrcSize(zstd, raw);
    for (int i = 0; i < count; i++) {
        ZSTD_inBuffer in = {parts[i].at, parts[i].count, 0};
        ZSTD_EndDirective how = i == count - 1            ? ZSTD_e_end
                                : parts[i].count >= SPLIT ? ZSTD_e_flush
                                                          : ZSTD_e_continue;
        size_t left = ZSTD_compressStream2(zstd, out, &in, how);
        if (ZSTD_isError(left) || in.pos < in.size || (how != ZSTD_e_continue && left))
            return false;
    }
    return true;
}

/* Adds the frame of the times. Huffman's code alone takes half the time. It is as small unless the
 * times repeat themselves, as those of tight loops on an idle machine do. Each 16th block tries
 * both ways; matches must save a sixteenth. */
static bool put_times(struct packer *p, const struct bytes *times, ZSTD_outBuffer *out) {
    size_t start = out->pos;
    bool both = p->blocks++ % TRIALS == 0;
    if (!put_frame(both || !p->repeats ? p->numbers : p->matches, times, 1, out))
        return false;
    size_t numbers = out->pos - start;
    if (!both)
        return true;
    bool ok = put_frame(p->matches, times, 1, out);
    size_t matches = out->pos - start - numbers;
    p->repeats = ok && matches < numbers - numbers / 16;
    if (p->repeats)
        memmove((char *)out->dst + start, (char *)out->dst + start + numbers, matches);
    out->pos = start + (p->repeats ? matches : numbers);
    return true;
}

static bool put_columns(struct packer *p, const struct block *block, ZSTD_outBuffer *out) {
    const struct bytes *parts = block->parts;
    return put_frame(p->matches, parts, TIMES, out) && put_times(p, parts + TIMES, out) &&
           put_frame(p->matches, parts + TIMES + 1, BLOCK_PARTS - TIMES - 1, out);
}

static bool has_columns(const struct block *block) {
    return block->head.type == DISK_EVENTS && block_raw_bytes(block) > SMALL;
}

bool packer_is_ready(const struct packer *p, const struct block *block) {
    return block_raw_bytes(block) <= p->most[has_columns(block)];
}

size_t packer_pack(struct packer *p, const struct block *block, uint8_t *out) {
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    return 0; /* mutations need no luck with zstd */
#endif
    size_t raw = block_raw_bytes(block);
    ZSTD_outBuffer to = {out, packer_room(raw), 0};
    const bool columns = has_columns(block);
    bool ok = columns ? put_columns(p, block, &to)
                      : put_frame(p->matches, block->parts, BLOCK_PARTS, &to);
    p->most[columns] = raw > p->most[columns] ? raw : p->most[columns];
    return ok && to.pos < raw ? to.pos : 0;
}
