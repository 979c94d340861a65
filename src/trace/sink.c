/* The queue of blocks, the thread that writes them, and the index that it collects. */
#include "trace/sink.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "base/checksum.h"
#include "base/clock.h"
#include "base/mem.h"
#include "trace/buffers.h"
#include "trace/output.h"
#include "trace/pack.h"
#include "trace/packers.h"
#include "trace/stash.h"

enum {
    PATIENT_BYTES = 64 * 1024 * 1024,
    LITTLE = 8 * 1024 * 1024,       /* less memory than this is not worth a word */
    BEHIND_BYTES = 16 * 1024 * 1024 /* packed blocks that may wait for the disk */
};
#define CLOSE_NS 1500000000ull /* how long blocks are packed after the last one was pushed */

struct sink {
    pthread_t thread;
    pthread_mutex_t lock; /* guards the fields up to `error`. Threads that pack do not take it */
    pthread_cond_t shrunk;
    struct block *first, **end; /* the queue: from the oldest to the newest block */
    struct block *unoffered;    /* the oldest block that no thread was asked to pack */
    uint64_t limit, held;       /* memory of the queue */
    uint64_t packed_bytes;      /* of the packed blocks in the queue */
    uint64_t wanted;            /* memory that sink_push() waits for */
    bool hurry;                 /* memory is short: blocks are written unpacked */
    uint64_t pushed, done;      /* blocks */
    uint64_t pushed_events;     /* entries and exits in them */
    uint64_t deadline_ns;       /* from then on nothing waits to be packed; 0: not closing */
    uint64_t close_ns;          /* sink_close_within() */
    bool complete, patient;
    struct packers *packers;
    struct stash_chunk *chunk; /* takes blocks that wait to be offered */
    struct err error;          /* the first write error */
    _Atomic bool failed;
    _Atomic bool late; /* the time for packing is over */
    _Atomic uint64_t entries, exits, lost, bytes, unpacked, peak;

    /* Only the writing thread uses these. */
    struct output output;
    struct packer *packer;
    struct bytes payload;
    void (*before)(void *ctx, uint64_t bytes); /* sink_announce() */
    void *before_ctx;
    unsigned hurried; /* blocks that nobody had packed when their turn came */
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
        .unpacked_bytes = atomic_load_explicit(&s->unpacked, memory_order_relaxed),
        .waiting_bytes = atomic_load_explicit(&s->peak, memory_order_relaxed),
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

/* ---- one block ---- */

static bool is_small(const struct block *block) { return block->head.raw <= DISK_SMALL; }

/* Whether BLOCK, which nobody has tried to pack, is packed here. Of large blocks, every other one
 * is while memory is short: the file grows half as fast, for little more time than writing takes.
 */
static bool pack_here(struct sink *s, const struct block *block) {
    return is_small(block) || packers_missing(s->packers) ||
           (!atomic_load_explicit(&s->late, memory_order_relaxed) && s->hurried++ % 2);
}

/* What is written of BLOCK: packed by a thread, packed here, or as it is. */
static struct bytes payload_of(struct sink *s, const struct block *block) {
    struct bytes *to = &s->payload;
    if (block->packed.count)
        return block->packed;
    to->count = 0;
    bytes_reserve(to, packer_room(block->head.raw));
    if (!block->tried && pack_here(s, block))
        to->count = packer_pack(s->packer, block, to->at);
    if (to->count)
        return *to;
    for (int i = 0; i < BLOCK_PARTS; i++)
        bytes_put(to, block->parts[i].at, block->parts[i].count);
    return *to;
}

static int write_block(struct sink *s, struct block *block, struct err *err) {
    struct disk_block *head = &block->head;
    struct bytes payload = payload_of(s, block);
    head->coding = payload.count < head->raw ? DISK_ZSTD : DISK_PLAIN;
    head->stored = (uint32_t)payload.count;
    head->payload_check = checksum(payload.at, payload.count);
    head->check = checksum(head, offsetof(struct disk_block, check));
    struct iovec parts[] = {{head, sizeof *head}, {payload.at, payload.count}};
    if (s->before)
        s->before(s->before_ctx, sizeof *head + payload.count);
    uint64_t offset = s->output.offset;
    if (output_write(&s->output, parts, 2, err))
        return -err->code;
    if (head->type != DISK_INDEX)
        ARRAY_PUSH(&s->index, ((struct disk_index_entry){offset, *head}));
    if (head->type == DISK_EVENTS && head->coding == DISK_PLAIN && !block->tried &&
        !is_small(block))
        atomic_fetch_add_explicit(&s->unpacked, head->stored, memory_order_relaxed);
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
        block->head.raw = (uint32_t)block_raw_bytes(block);
        int rc = write_block(s, block, err);
        block_free(block);
        if (rc)
            return rc;
        done += n;
    }
    trailer.check = checksum(&trailer, offsetof(struct disk_trailer, check));
    memcpy(trailer.magic, DISK_END_MAGIC, sizeof trailer.magic);
    struct iovec parts[] = {{&trailer, sizeof trailer}};
    if (s->before)
        s->before(s->before_ctx, sizeof trailer);
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

/* ---- the queue; its lock is held ---- */

static void recount(struct sink *s, struct block *block, size_t held) {
    s->held = s->held - block->held + held;
    block->held = held;
    if (s->held > s->peak && s->held >= LITTLE)
        atomic_store_explicit(&s->peak, s->held, memory_order_relaxed);
}

/* Takes what the threads have packed, and gives them work. */
static void dispatch(struct sink *s) {
    for (struct block *block; (block = packers_collect(s->packers));) {
        recount(s, block, block_held_bytes(block));
        s->packed_bytes += block->held;
    }
    while (s->unoffered && !sink_failed(s) &&
           (is_small(s->unoffered) || packers_offer(s->packers, s->unoffered)))
        s->unoffered = s->unoffered->next;
}

/* Whether the oldest block is written unpacked: memory is short, the time is over, or many packed
 * blocks stand behind it. Memory is given back in pieces of an eighth, since each withdrawal may
 * waste a thread's work. */
static bool in_hurry(struct sink *s) {
    if (s->held + s->wanted > s->limit / 8 * 7)
        s->hurry = true;
    else if (s->held + s->wanted <= s->limit / 4 * 3)
        s->hurry = false;
    if (s->deadline_ns && clock_monotonic_ns() >= s->deadline_ns)
        atomic_store_explicit(&s->late, true, memory_order_relaxed);
    bool may_hurry = s->hurry || s->late || s->packed_bytes > BEHIND_BYTES;
    return (may_hurry && !s->patient) || sink_failed(s) || packers_missing(s->packers);
}

static bool may_write(struct sink *s, const struct block *block) {
    return block->tried || is_small(block) || in_hurry(s);
}

/* Takes the oldest block out of the queue, as soon as it may be written. NULL: the sink is closing
 * and the queue is empty. */
static struct block *next_block(struct sink *s) {
    for (;;) {
        dispatch(s);
        struct block *block = s->first;
        if (block && may_write(s, block)) {
            s->first = block->next;
            if (!s->first)
                s->end = &s->first;
            if (s->unoffered == block)
                s->unoffered = block->next;
            packers_withdraw(block);
            return block;
        }
        if (!block && s->deadline_ns)
            return NULL;
        uint64_t deadline = s->patient ? 0 : s->deadline_ns;
        pthread_mutex_unlock(&s->lock);
        packers_wait(s->packers, deadline);
        pthread_mutex_lock(&s->lock);
    }
}

/* BLOCK is written. */
static void forget(struct sink *s, struct block *block) {
    if (block->tried)
        s->packed_bytes -= block->held;
    recount(s, block, 0);
    s->done++;
    packers_discard(block);
    pthread_cond_broadcast(&s->shrunk);
}

static void *sink_thread(void *arg) {
    struct sink *s = arg;
    pthread_mutex_lock(&s->lock);
    for (struct block *block; (block = next_block(s));) {
        pthread_mutex_unlock(&s->lock);
        write_or_discard(s, block);
        pthread_mutex_lock(&s->lock);
        forget(s, block);
    }
    pthread_mutex_unlock(&s->lock);
    write_end(s);
    return NULL;
}

/* ---- the interface ---- */

/* Waits until SIZE more bytes are allowed. After an error, the queue is soon empty. */
static void wait_for_room(struct sink *s, size_t size) {
    while (s->held) {
        size_t wanted = s->held + size > s->limit ? size : 0;
        if (!wanted && s->packed_bytes <= BEHIND_BYTES)
            return;
        s->wanted += wanted;
        packers_wake(s->packers);
        pthread_cond_wait(&s->shrunk, &s->lock);
        s->wanted -= wanted;
    }
}

void sink_push(struct sink *s, struct block *block) {
    size_t size = block_held_bytes(block);
    block->head.raw = (uint32_t)block_raw_bytes(block);
    pthread_mutex_lock(&s->lock);
    if (block->head.type == DISK_EVENTS)
        wait_for_room(s, size);
    recount(s, block, size);
    s->pushed++;
    s->pushed_events += (uint64_t)block->head.entries + block->head.exits;
    *s->end = block;
    s->end = &block->next;
    if (!s->unoffered)
        s->unoffered = block;
    dispatch(s);
    if (s->unoffered) {
        stash_put(&s->chunk, block);
        recount(s, block, block_held_bytes(block));
    }
    bool wake = may_write(s, s->first);
    pthread_mutex_unlock(&s->lock);
    if (wake)
        packers_wake(s->packers);
}

void sink_limit(struct sink *s, uint64_t bytes) {
    pthread_mutex_lock(&s->lock);
    s->limit = bytes;
    pthread_mutex_unlock(&s->lock);
}

/* The file's size, if blocks that wait are packed to an eighth. */
uint64_t sink_size(struct sink *s) {
    enum { EVENT_RAW_BYTES = 4, PACKED = 8 };
    pthread_mutex_lock(&s->lock);
    struct trace_totals totals = sink_totals(s);
    uint64_t events = totals.entries + totals.exits,
             rest = events > s->pushed_events ? events - s->pushed_events : 0;
    uint64_t waits = s->held - s->packed_bytes + rest * EVENT_RAW_BYTES;
    uint64_t bytes = totals.bytes + s->packed_bytes + waits / PACKED +
                     s->pushed * sizeof(struct disk_index_entry);
    pthread_mutex_unlock(&s->lock);
    return bytes;
}

void sink_announce(struct sink *s, void (*before)(void *ctx, uint64_t bytes), void *ctx) {
    pthread_mutex_lock(&s->lock);
    s->before = before;
    s->before_ctx = ctx;
    pthread_mutex_unlock(&s->lock);
    before(ctx, sizeof(struct disk_header)); /* which is written already */
}

int sink_exchange_names(struct sink *old, struct sink *new, struct err *err) {
    return output_exchange_names(&old->output, &new->output, err);
}

void sink_fail(struct sink *s, const struct err *error) { set_error(s, error); }

const char *sink_name(const struct sink *s) { return s->output.regular ? s->output.path : NULL; }

void sink_keep_old_now(struct sink *s) {
    output_keep_old(&s->output);
    s->output.keeps_old = false;
}

void sink_keep_old(struct sink *s) { s->output.keeps_old = true; }

void sink_be_patient(struct sink *s) {
    pthread_mutex_lock(&s->lock);
    s->patient = true;
    s->limit = PATIENT_BYTES;
    packers_hurry(s->packers, SIZE_MAX);
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

int sink_open(const char *path, bool is_private, struct sink **ret, struct err *err) {
    struct sink *s = mem_alloc(sizeof *s);
    s->output.is_private = is_private;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->shrunk, NULL);
    s->end = &s->first;
    s->limit = TRACE_MEMORY_BYTES;
    s->close_ns = CLOSE_NS;
    s->packers = packers_new();
    s->packer = packer_new();
    int rc = output_open(&s->output, path, err);
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

static size_t count_waiting(const struct sink *s) {
    size_t n = 0;
    for (const struct block *block = s->first; block; block = block->next)
        n += !block->tried && !is_small(block);
    return n;
}

void sink_close_within(struct sink *s, uint64_t ns) { s->close_ns = ns; }

int sink_close(struct sink *s, bool complete, struct err *err) {
    pthread_mutex_lock(&s->lock);
    s->complete = complete;
    s->deadline_ns = clock_monotonic_ns() + s->close_ns;
    if (!sink_failed(s) && !s->patient)
        packers_hurry(s->packers, count_waiting(s));
    pthread_mutex_unlock(&s->lock);
    packers_wake(s->packers);
    pthread_join(s->thread, NULL);
    return sink_error(s, err);
}

void sink_remove(const struct sink *s) { output_remove(&s->output); }

void sink_free(struct sink *s) {
    output_done(&s->output);
    packers_free(s->packers);
    stash_release(s->chunk);
    packer_free(s->packer);
    buffer_put(s->payload.at, s->payload.room);
    ARRAY_FREE(&s->index);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->shrunk);
    free(s);
}
