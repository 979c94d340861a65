/* Finds a file's blocks: through the index, or by a walk from head to head. */
#include <errno.h>
#include <string.h>

#include "base/checksum.h"
#include "trace/file.h"

size_t file_read(int fd, void *to, size_t count, uint64_t offset) {
    size_t done = 0;
    while (done < count) {
        ssize_t n = pread(fd, (char *)to + done, count - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    return done;
}

static bool check_matches(const void *bytes, size_t count, uint64_t check) {
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    (void)bytes, (void)count, (void)check;
    return true;
#else
    return checksum(bytes, count) == check;
#endif
}

/* Whether HEAD is a block's head, apart from its place in the file. */
static bool head_valid(const struct disk_block *head) {
    return head->magic == DISK_BLOCK_MAGIC && head->raw <= DISK_RAW_MAX &&
           head->stored <= head->raw && head->items <= DISK_BLOCK_ITEMS &&
           head->entries <= head->items && head->exits <= head->items &&
           head->coding <= DISK_ZSTD &&
           check_matches(head, offsetof(struct disk_block, check), head->check);
}

static bool entry_inside(const struct trace_reader *r, const struct disk_index_entry *e) {
    return e->offset <= r->size && sizeof e->block + e->block.stored <= r->size - e->offset;
}

static bool read_head(const struct trace_reader *r, uint64_t offset, struct disk_index_entry *ret) {
    ret->offset = offset;
    return file_read(r->fd, &ret->block, sizeof ret->block, offset) == sizeof ret->block &&
           head_valid(&ret->block);
}

static uint64_t entry_end(const struct disk_index_entry *e) {
    return e->offset + sizeof e->block + e->block.stored;
}

static void add_block(struct trace_reader *r, const struct disk_index_entry *e) {
    if (e->block.type == DISK_EVENTS && e->block.stream >= file_blocks_max(r))
        r->damaged_blocks++;
    else
        ARRAY_PUSH(&r->blocks, *e);
}

/* Adds the blocks that one index block lists. False: it is damaged. */
static bool read_index_block(struct trace_reader *r, const struct disk_index_entry *where,
                             struct bytes *buffer) {
    if (where->block.type != DISK_INDEX || !entry_inside(r, where) || !unpack(r, where, buffer) ||
        buffer->count % sizeof(struct disk_index_entry))
        return false;
    for (size_t i = 0; i < buffer->count; i += sizeof(struct disk_index_entry)) {
        struct disk_index_entry e;
        memcpy(&e, buffer->at + i, sizeof e);
        if (!head_valid(&e.block) || !entry_inside(r, &e))
            return false;
        add_block(r, &e);
    }
    return true;
}

/* False: there is no trailer, or the index is damaged. */
static bool read_index(struct trace_reader *r) {
    struct disk_trailer t;
    if (r->size < sizeof t || file_read(r->fd, &t, sizeof t, r->size - sizeof t) != sizeof t ||
        memcmp(t.magic, DISK_END_MAGIC, sizeof t.magic) ||
        !check_matches(&t, offsetof(struct disk_trailer, check), t.check) ||
        t.index_blocks > file_blocks_max(r))
        return false;
    struct bytes buffer = {0};
    struct disk_index_entry where = {.offset = t.index_offset};
    bool ok = true;
    for (uint64_t i = 0; ok && i < t.index_blocks; i++) {
        ok = read_head(r, where.offset, &where) && read_index_block(r, &where, &buffer);
        where.offset = entry_end(&where);
    }
    free(buffer.at);
    if (!ok)
        r->blocks.count = r->damaged_blocks = 0;
    return ok;
}

/* The next offset from FROM on with a block's head, or the file's size. */
static uint64_t find_head(const struct trace_reader *r, uint64_t from) {
    enum { WINDOW = 64 * 1024 };
    static const uint32_t magic = DISK_BLOCK_MAGIC;
    AUTO_FREE uint8_t *window = mem_alloc(WINDOW);
    struct disk_index_entry e;
    while (from < r->size) {
        size_t n = file_read(r->fd, window, WINDOW, from);
        const uint8_t *hit = memmem(window, n, &magic, sizeof magic);
        if (hit) {
            from += (uint64_t)(hit - window);
            if (read_head(r, from, &e) && entry_inside(r, &e))
                return from;
            from++;
        } else if (n < WINDOW) {
            break;
        } else {
            from += n - (sizeof magic - 1);
        }
    }
    return r->size;
}

/* Adds the blocks from OFFSET on and skips damaged bytes between them. */
static void walk(struct trace_reader *r, uint64_t offset) {
    struct disk_index_entry e;
    while (offset < r->size) {
        if (!read_head(r, offset, &e) || !entry_inside(r, &e)) {
            uint64_t next = find_head(r, offset + 1);
            if (next != r->size) /* else the file ends inside a block */
                r->skipped_bytes += next - offset;
            offset = next;
            continue;
        }
        if (e.block.type != DISK_INDEX)
            add_block(r, &e);
        offset = entry_end(&e);
    }
}

static int check_header(struct trace_reader *r, struct disk_header *h, struct err *err) {
    if (!r->size)
        return err_set(err, ENODATA, "empty-trace", "%s: is empty: nothing was recorded", r->path);
    size_t n = file_read(r->fd, h, sizeof *h, 0);
    if (memcmp(h->magic, DISK_MAGIC, n < sizeof h->magic ? n : sizeof h->magic))
        return err_set(err, EINVAL, "not-a-trace", "%s: is not a spoor trace", r->path);
    if (n < sizeof *h)
        return err_set(err, ENODATA, "truncated-trace",
                       "%s: is cut off before anything was recorded", r->path);
    if (h->version > TRACE_FORMAT_VERSION)
        return err_set(err, ENOTSUP, "newer-format",
                       "%s: was written by a newer spoor (format %u; this one reads %d): "
                       "upgrade spoor",
                       r->path, h->version, TRACE_FORMAT_VERSION);
    if (!check_matches(h, offsetof(struct disk_header, check), h->check) || !h->version ||
        h->header_bytes < sizeof *h)
        return err_set(err, EILSEQ, "corrupt-trace", "%s: is damaged: its header is not valid",
                       r->path);
    return 0;
}

int scan_file(struct trace_reader *r, struct err *err) {
    struct disk_header header = {0};
    int rc = check_header(r, &header, err);
    if (rc)
        return rc;
    r->indexed = read_index(r);
    if (!r->indexed)
        walk(r, header.header_bytes);
    return 0;
}
