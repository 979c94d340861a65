/* The queue of blocks, its thread, and the index that the thread collects. */
#include "trace/sink.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <zstd.h>

#include "base/mem.h"
#include "base/checksum.h"
#include "trace/output.h"

enum {
    QUEUE_BYTES = 8 * 1024 * 1024,
    LEVEL = 1,
    FLUSH_BYTES = 1024 /* a part of this size gets compression tables of its own */
};

struct sink {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t grown, shrunk; /* signalled when the queue has done so */
    struct block *queue, **queue_end;
    size_t queued_bytes;
    uint64_t pushed, done; /* blocks */
    bool closing, complete;
    struct err error; /* the first write error; guarded by the lock */
    _Atomic bool failed;
    _Atomic uint64_t entries, exits, lost, bytes;

    /* Only the thread uses these. */
    struct output output;
    ZSTD_CCtx *zstd;
    struct bytes packed;
    ARRAY(struct disk_index_entry) index;
};

void sink_count(struct sink *s, uint64_t entries, uint64_t exits, uint64_t lost) {
    atomic_fetch_add_explicit(&s->entries, entries, memory_order_relaxed);
    atomic_fetch_add_explicit(&s->exits, exits, memory_order_relaxed);
    atomic_fetch_add_explicit(&s->lost, lost, memory_order_relaxed);
}

struct trace_totals sink_totals(const struct sink *s) {
    return (struct trace_totals){
        .entries = atomic_load_explicit(&s->entries, memory_order_relaxed),
        .exits = atomic_load_explicit(&s->exits, memory_order_relaxed),
        .lost = atomic_load_explicit(&s->lost, memory_order_relaxed),
        .bytes = atomic_load_explicit(&s->bytes, memory_order_relaxed),
    };
}

bool sink_failed(const struct sink *s) {
    return atomic_load_explicit(&s->failed, memory_order_relaxed);
}

int sink_error(struct sink *s, struct err *err) {
    pthread_mutex_lock(&s->lock);
    int code = s->error.code;
    if (err)
        *err = s->error;
    pthread_mutex_unlock(&s->lock);
    return -code;
}

static void set_error(struct sink *s, const struct err *error) {
    pthread_mutex_lock(&s->lock);
    if (!s->error.code)
        s->error = *error;
    atomic_store_explicit(&s->failed, true, memory_order_relaxed);
    pthread_mutex_unlock(&s->lock);
}

/* Compresses BLOCK's parts into s->packed as one frame. False: it does not get smaller. */
static bool compress(struct sink *s, const struct block *block, size_t raw) {
    size_t room = ZSTD_compressBound(raw) + 64 * BLOCK_PARTS;
    s->packed.count = 0;
    bytes_reserve(&s->packed, room);
    ZSTD_outBuffer out = {s->packed.at, s->packed.room, 0};
    ZSTD_CCtx_reset(s->zstd, ZSTD_reset_session_only);
    ZSTD_CCtx_setParameter(s->zstd, ZSTD_c_compressionLevel, LEVEL);
    ZSTD_CCtx_setPledgedSrcSize(s->zstd, raw);
    for (int i = 0; i < BLOCK_PARTS; i++) {
        ZSTD_inBuffer in = {block->parts[i].at, block->parts[i].count, 0};
        bool last = i == BLOCK_PARTS - 1;
        ZSTD_EndDirective how = last                                   ? ZSTD_e_end
                                : block->parts[i].count >= FLUSH_BYTES ? ZSTD_e_flush
                                                                       : ZSTD_e_continue;
        size_t left = ZSTD_compressStream2(s->zstd, &out, &in, how);
        if (ZSTD_isError(left) || in.pos < in.size || (how != ZSTD_e_continue && left))
            return false;
    }
    s->packed.count = out.pos;
    return out.pos < raw;
}

/* Copies BLOCK's parts into s->packed. */
static void copy(struct sink *s, const struct block *block) {
    s->packed.count = 0;
    for (int i = 0; i < BLOCK_PARTS; i++)
        bytes_put(&s->packed, block->parts[i].at, block->parts[i].count);
}

static int write_block(struct sink *s, struct block *block, struct err *err) {
    struct disk_block *head = &block->head;
    size_t raw = block_raw_bytes(block);
    bool smaller = compress(s, block, raw);
    if (!smaller)
        copy(s, block);
    head->coding = smaller ? DISK_ZSTD : DISK_PLAIN;
    head->raw = (uint32_t)raw;
    head->stored = (uint32_t)s->packed.count;
    head->payload_check = checksum(s->packed.at, s->packed.count);
    head->check = checksum(head, offsetof(struct disk_block, check));
    struct iovec parts[] = {{head, sizeof *head}, {s->packed.at, s->packed.count}};
    uint64_t offset = s->output.offset;
    int rc = output_write(&s->output, parts, 2, err);
    if (rc)
        return rc;
    if (head->type != DISK_INDEX)
        ARRAY_PUSH(&s->index, ((struct disk_index_entry){offset, *head}));
    return 0;
}

/* Writes BLOCK. After an error, counts its events as lost instead. */
static void write_or_discard(struct sink *s, struct block *block) {
    struct err error;
    const struct disk_block *head = &block->head;
    if (!sink_failed(s) && write_block(s, block, &error))
        set_error(s, &error);
    if (sink_failed(s))
        sink_count(s, -(uint64_t)head->entries, -(uint64_t)head->exits,
                   (uint64_t)head->entries + head->exits);
    atomic_store_explicit(&s->bytes, s->output.offset, memory_order_relaxed);
}

static int write_index(struct sink *s, struct err *err) {
    struct disk_trailer trailer = {.index_offset = s->output.offset};
    for (size_t done = 0; done < s->index.count; trailer.index_blocks++) {
        size_t n = s->index.count - done;
        if (n > DISK_INDEX_ENTRIES)
            n = DISK_INDEX_ENTRIES;
        struct block *block = block_new(DISK_INDEX);
        bytes_put(&block->parts[0], s->index.at + done, n * sizeof *s->index.at);
        int rc = write_block(s, block, err);
        block_free(block);
        if (rc)
            return rc;
        done += n;
    }
    trailer.check = checksum(&trailer, offsetof(struct disk_trailer, check));
    memcpy(trailer.magic, DISK_END_MAGIC, sizeof trailer.magic);
    struct iovec parts[] = {{&trailer, sizeof trailer}};
    return output_write(&s->output, parts, 1, err);
}

static void write_end(struct sink *s) {
    struct err error;
    if (sink_failed(s) || !s->complete)
        return;
    if (write_index(s, &error) || output_commit(&s->output, &error))
        set_error(s, &error);
    atomic_store_explicit(&s->bytes, s->output.offset, memory_order_relaxed);
}

/* Waits for the next block. NULL: the sink is closing and the queue is empty. */
static struct block *next_block(struct sink *s) {
    pthread_mutex_lock(&s->lock);
    while (!s->queue && !s->closing)
        pthread_cond_wait(&s->grown, &s->lock);
    struct block *block = s->queue;
    if (block) {
        s->queue = block->next;
        if (!s->queue)
            s->queue_end = &s->queue;
    }
    pthread_mutex_unlock(&s->lock);
    return block;
}

static void *sink_thread(void *arg) {
    struct sink *s = arg;
    for (struct block *block; (block = next_block(s));) {
        size_t raw = block_raw_bytes(block);
        write_or_discard(s, block);
        block_free(block);
        pthread_mutex_lock(&s->lock);
        s->queued_bytes -= raw;
        s->done++;
        pthread_cond_broadcast(&s->shrunk);
        pthread_mutex_unlock(&s->lock);
    }
    write_end(s);
    return NULL;
}

void sink_push(struct sink *s, struct block *block) {
    pthread_mutex_lock(&s->lock);
    while (block->head.type == DISK_EVENTS && s->queued_bytes > QUEUE_BYTES)
        pthread_cond_wait(&s->shrunk, &s->lock);
    s->queued_bytes += block_raw_bytes(block);
    s->pushed++;
    *s->queue_end = block;
    s->queue_end = &block->next;
    pthread_cond_signal(&s->grown);
    pthread_mutex_unlock(&s->lock);
}

void sink_sync(struct sink *s) {
    pthread_mutex_lock(&s->lock);
    uint64_t target = s->pushed;
    while (s->done < target)
        pthread_cond_wait(&s->shrunk, &s->lock);
    pthread_mutex_unlock(&s->lock);
}

/* The thread blocks all signals: the recorder handles them, and a closed pipe must give EPIPE. */
static int start_thread(struct sink *s, struct err *err) {
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int code = pthread_create(&s->thread, NULL, sink_thread, s);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (code)
        return err_set(err, code, "open", "cannot start the trace's writing thread: %s",
                       strerror(code));
    return 0;
}

/* An error here is kept like a later write error: the program runs all the same. */
static void write_header(struct sink *s) {
    struct err error;
    struct disk_header header = {
        .magic = DISK_MAGIC, .version = TRACE_FORMAT_VERSION, .header_bytes = sizeof header};
    header.check = checksum(&header, offsetof(struct disk_header, check));
    struct iovec parts[] = {{&header, sizeof header}};
    if (output_write(&s->output, parts, 1, &error))
        set_error(s, &error);
    s->bytes = s->output.offset;
}

int sink_open(const char *path, struct sink **ret, struct err *err) {
    struct sink *s = mem_alloc(sizeof *s);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->grown, NULL);
    pthread_cond_init(&s->shrunk, NULL);
    s->queue_end = &s->queue;
    s->zstd = ZSTD_createCCtx();
    int rc = output_open(&s->output, path, err);
    if (!rc && !s->zstd)
        rc = err_set(err, ENOMEM, "open", "%s: no memory to compress the trace", path);
    if (!rc) {
        write_header(s);
        rc = start_thread(s, err);
    }
    if (rc) {
        sink_free(s);
        return rc;
    }
    *ret = s;
    return 0;
}

int sink_close(struct sink *s, bool complete, struct err *err) {
    pthread_mutex_lock(&s->lock);
    s->closing = true;
    s->complete = complete;
    pthread_cond_signal(&s->grown);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    return sink_error(s, err);
}

void sink_free(struct sink *s) {
    output_done(&s->output);
    ZSTD_freeCCtx(s->zstd);
    free(s->packed.at);
    ARRAY_FREE(&s->index);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->grown);
    pthread_cond_destroy(&s->shrunk);
    free(s);
}
