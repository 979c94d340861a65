/* See kept_file.h. */
#include "summary/kept_file.h"

#include <errno.h>

#include "base/checksum.h"
#include "base/workers.h"

static uint64_t join(uint64_t before, uint64_t of_piece) {
    uint64_t both[2] = {before, of_piece};
    return checksum(both, sizeof both);
}

void kept_writer_begin(struct kept_writer *w, int fd, size_t head) {
    *w = (struct kept_writer){.fd = fd, .written = head, .piece = mem_alloc(KEPT_PIECE)};
}

static bool write_at(int fd, const uint8_t *bytes, size_t size, uint64_t at) {
    while (size) {
        ssize_t n = pwrite(fd, bytes, size, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes += n;
        size -= (size_t)n;
        at += (uint64_t)n;
    }
    return true;
}

static void flush(struct kept_writer *w) {
    if (!w->filled)
        return;
    w->failed = w->failed || !write_at(w->fd, w->piece, w->filled, w->written);
    w->check = join(w->check, checksum(w->piece, w->filled));
    w->written += w->filled;
    w->filled = 0;
}

static void put(struct kept_writer *w, const uint8_t *from, size_t size) {
    while (size) {
        size_t n = KEPT_PIECE - w->filled < size ? KEPT_PIECE - w->filled : size;
        memcpy(w->piece + w->filled, from, n);
        w->filled += n;
        from += n;
        size -= n;
        if (w->filled == KEPT_PIECE)
            flush(w);
    }
}

void kept_put(struct kept_writer *w, const void *bytes, size_t size) {
    static const uint8_t zeros[8];
    put(w, bytes, size);
    put(w, zeros, -size & 7);
}

void kept_put_number(struct kept_writer *w, uint64_t value) { kept_put(w, &value, sizeof value); }

bool kept_writer_end(struct kept_writer *w) {
    flush(w);
    free(w->piece);
    return !w->failed;
}

/* ---- checking ---- */

struct checking {
    int fd;
    size_t head;
    uint64_t size;
    uint64_t *checks; /* by piece */
    bool *read;
};

/* Not through the mapping, whose pages would take memory. */
static void check_piece(void *arg, size_t i) {
    const struct checking *c = arg;
    uint64_t at = (uint64_t)i * KEPT_PIECE, left = c->size - at;
    size_t size = left < KEPT_PIECE ? (size_t)left : KEPT_PIECE, done = 0;
    AUTO_FREE uint8_t *bytes = mem_resize(NULL, size, 1);
    while (done < size) {
        ssize_t n = pread(c->fd, bytes + done, size - done, (off_t)(c->head + at + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        done += (size_t)n;
    }
    c->checks[i] = checksum(bytes, size);
    c->read[i] = true;
}

bool kept_check(int fd, size_t head, uint64_t size, uint64_t *ret) {
    size_t count = (size_t)((size + KEPT_PIECE - 1) / KEPT_PIECE);
    AUTO_FREE uint64_t *checks = mem_alloc(count * sizeof *checks + 1);
    AUTO_FREE bool *read = mem_alloc(count * sizeof *read + 1);
    bool all = true;
    workers_run(count, check_piece, &(struct checking){fd, head, size, checks, read});
    *ret = 0;
    for (size_t i = 0; i < count; i++) {
        all = all && read[i];
        *ret = join(*ret, checks[i]);
    }
    return all;
}

/* ---- reading ---- */

void *kept_get(struct kept_reader *r, uint64_t count, size_t size) {
    uint64_t left = (uint64_t)(r->end - r->at);
    if (r->failed || count > left / size) {
        r->failed = true;
        return NULL;
    }
    uint64_t bytes = (count * size + 7) & ~(uint64_t)7;
    void *at = r->at;
    r->failed = bytes > left;
    r->at += bytes < left ? bytes : left;
    return count && !r->failed ? at : NULL;
}

uint64_t kept_get_number(struct kept_reader *r) {
    const uint64_t *at = kept_get(r, 1, sizeof *at);
    return at ? *at : 0;
}
