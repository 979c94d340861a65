/* What becomes of blocks behind the encoder: their order, the memory that they wait in, errors. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "support.h"
#include "trace/buffers.h"
#include "trace/encode.h"
#include "trace/pack.h"
#include "trace/records.h"
#include "trace/sink.h"
#include "trace/stash.h"

#define TESTS                                                                                      \
    TEST(blocks_keep_their_order)                                                                  \
    TEST(threads_push_at_once)                                                                     \
    TEST(memory_is_bounded)                                                                        \
    TEST(blocks_that_wait_are_packed_in_the_end)                                                   \
    TEST(unpacked_blocks_are_read_like_others)                                                     \
    TEST(trace_packed_anew)                                                                        \
    TEST(block_larger_than_the_limit)                                                              \
    TEST(full_disk_stops_nobody)                                                                   \
    TEST(disk_that_gets_full)                                                                      \
    TEST(slow_pipe_gets_all_in_order)                                                              \
    TEST(end_waits_for_no_starved_thread)                                                          \
    TEST(packer_that_is_ready_allocates_nothing)                                                   \
    TEST(end_record_tells_the_memory)                                                              \
    TEST(buffers_are_used_again)                                                                   \
    TEST(stash_keeps_payloads)

enum { MIB = 1024 * 1024, PUSHED = 50 };

static int setup(void **state) {
    *state = scratch_new();
    return 0;
}

static int teardown(void **state) {
    scratch_free(*state);
    return 0;
}

static struct sink *must_open_sink(const char *path, uint64_t limit) {
    struct sink *s = NULL;
    struct err err = {0};
    if (sink_open(path, true, &s, &err))
        fail_msg("%s: %s", err.tag, err.text);
    sink_limit(s, limit);
    return s;
}

/* A full block of events of STREAM. */
static struct block *event_block(enum shape shape, uint32_t stream) {
    enum { EVENTS = DISK_BLOCK_ITEMS };
    AUTO_FREE struct trace_event *events = generate(shape, EVENTS, stream + 1, 0);
    struct encoder *e = encoder_new(0, 0);
    encoder_events(e, events, EVENTS);
    struct block *block = encoder_take(e, stream);
    encoder_free(e);
    return block;
}

/* A copy of BLOCK as event block number I of stream I % STREAMS. */
static struct block *numbered(const struct block *block, uint32_t i, uint32_t streams) {
    struct block *copy = block_copy(block);
    copy->head.stream = i % streams;
    copy->head.first += i;
    return copy;
}

/* Reads the heads of all blocks of the file, in its order. */
static struct disk_block *read_heads(const char *path, size_t *ret_count) {
    size_t size, count = 0;
    AUTO_FREE uint8_t *bytes = must_load(path, &size);
    struct disk_block *heads = mem_alloc(size);
    for (size_t at = sizeof(struct disk_header); at + sizeof *heads <= size; count++) {
        memcpy(&heads[count], bytes + at, sizeof *heads);
        if (heads[count].magic != DISK_BLOCK_MAGIC)
            break;
        at += sizeof *heads + heads[count].stored;
    }
    *ret_count = count;
    return heads;
}

static uint64_t number_of(const struct disk_block *head, const struct block *first) {
    return head->first - first->head.first;
}

/* Large and small blocks, which take different times, on 16 streams. */
static void blocks_keep_their_order(void **state) {
    enum { BLOCKS = 150 };
    struct block *large = event_block(SHAPE_TREE, 0), *noise = event_block(SHAPE_NOISE, 0);
    struct sink *s = must_open_sink(*state, 64 * MIB);
    noise->head.first = large->head.first;
    for (uint32_t i = 0; i < BLOCKS; i++) {
        sink_push(s, numbered(i % 3 ? large : noise, i, 16));
        struct block *small = block_new(DISK_CLOCK);
        bytes_put_varint(&small->parts[0], i);
        sink_push(s, small);
    }
    assert_int_equal(sink_close(s, true, NULL), 0);
    sink_free(s);
    size_t count;
    AUTO_FREE struct disk_block *heads = read_heads(*state, &count);
    assert_true(count > 2 * BLOCKS);
    for (uint32_t i = 0; i < BLOCKS; i++) {
        assert_int_equal(heads[2 * i].type, DISK_EVENTS);
        assert_int_equal(number_of(&heads[2 * i], large), i);
        assert_int_equal(heads[2 * i + 1].type, DISK_CLOCK);
    }
    block_free(large);
    block_free(noise);
}

struct pusher {
    struct sink *sink;
    const struct block *block;
    uint32_t stream;
};

static void *push_blocks(void *arg) {
    const struct pusher *p = arg;
    for (uint32_t i = 0; i < PUSHED; i++) {
        struct block *copy = numbered(p->block, i, 1);
        copy->head.stream = p->stream;
        sink_push(p->sink, copy);
    }
    return NULL;
}

static void threads_push_at_once(void **state) {
    enum { THREADS = 4 };
    struct block *block = event_block(SHAPE_TREE, 0);
    struct sink *s = must_open_sink(*state, 2 * MIB);
    pthread_t threads[THREADS];
    struct pusher pushers[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        pushers[i] = (struct pusher){s, block, i};
        assert_int_equal(pthread_create(&threads[i], NULL, push_blocks, &pushers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(sink_close(s, true, NULL), 0);
    sink_free(s);
    size_t count;
    AUTO_FREE struct disk_block *heads = read_heads(*state, &count);
    uint64_t next[THREADS] = {0};
    for (size_t i = 0; i < count; i++)
        if (heads[i].type == DISK_EVENTS)
            assert_int_equal(number_of(&heads[i], block), next[heads[i].stream]++);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(next[i], PUSHED);
    block_free(block);
}

static double now_s(void) { return (double)clock_monotonic_ns() / 1e9; }

static double closing_s; /* how long the last sink_close() of push_many() took */

/* Pushes COUNT copies of one block, far faster than they can be packed. */
static struct trace_totals push_many(const char *path, uint64_t limit, uint32_t count) {
    struct block *block = event_block(SHAPE_TREE, 0);
    struct sink *s = must_open_sink(path, limit);
    sink_push(s, record_session(&(struct trace_session){.version = "1", .arch = "x86_64"}));
    for (uint32_t i = 0; i < count; i++)
        sink_push(s, numbered(block, 0, 1));
    sink_push(s, record_end(&(struct trace_end){0}));
    double start = now_s();
    assert_int_equal(sink_close(s, true, NULL), 0);
    closing_s = now_s() - start;
    struct trace_totals totals = sink_totals(s);
    sink_free(s);
    block_free(block);
    return totals;
}

static void memory_is_bounded(void **state) {
    struct trace_totals totals = push_many(*state, 12 * MIB, 200);
    assert_in_range(totals.waiting_bytes, 8 * MIB, 12 * MIB);
    assert_true(totals.unpacked_bytes > 0);
}

/* A loaded machine may need more than the 1.5 s that are given. */
static void blocks_that_wait_are_packed_in_the_end(void **state) {
    struct trace_totals totals = push_many(*state, 1024 * (uint64_t)MIB, 100);
    assert_true(totals.waiting_bytes > 8 * MIB);
    assert_true(totals.unpacked_bytes == 0 || closing_s >= 1.5);
    size_t count, packed = 0;
    AUTO_FREE struct disk_block *heads = read_heads(*state, &count);
    for (size_t i = 0; i < count; i++)
        packed += heads[i].type == DISK_EVENTS && heads[i].coding == DISK_ZSTD;
    assert_true(packed == 100 || closing_s >= 1.5);
    assert_true(packed > 0);
}

/* All 150 blocks have the same events; their times step back, which a reader allows. */
static void unpacked_blocks_are_read_like_others(void **state) {
    struct trace_totals totals = push_many(*state, MIB, 150);
    struct trace_reader *r = must_open_reader(*state);
    struct trace_counts counts = trace_reader_counts(r);
    assert_int_equal(counts.unpacked_bytes, totals.unpacked_bytes);
    assert_true(counts.unpacked_blocks > 0 && counts.unpacked_blocks < 150);
    assert_null(trace_reader_warning(r));
    trace_reader_free(r);
    assert_int_equal(walk_trace(*state), 150 * DISK_BLOCK_ITEMS);
}

/* A finished trace, one that was cut off in a block, and one with a damaged block. */
static void trace_packed_anew(void **state) {
    AUTO_FREE char *packed = mem_printf("%s.part", (char *)*state);
    uint64_t unpacked = push_many(*state, MIB, 100).unpacked_bytes, damaged = 9;
    size_t size, original;
    free(must_load(*state, &original));
    for (int i = 0; i < 3; i++) {
        AUTO_FREE uint8_t *bytes = must_load(*state, &size);
        if (i == 1)
            must_store(*state, bytes, size / 2);
        bytes[size / 8] ^= i == 2;
        if (i == 2)
            must_store(*state, bytes, size);
        size_t items = walk_trace(*state);
        struct trace_reader *r = must_open_reader(*state);
        assert_int_equal(trace_repack(r, packed, &damaged, NULL), 0);
        trace_reader_free(r);
        assert_int_equal(damaged, i == 2);
        assert_int_equal(walk_trace(packed), items);
        r = must_open_reader(packed);
        assert_int_equal(trace_reader_counts(r).unpacked_blocks, 0);
        assert_true(trace_reader_file_bytes(r) < original - unpacked / 8);
        trace_reader_free(r);
    }
}

static void block_larger_than_the_limit(void **state) {
    push_many(*state, 4096, 20);
    assert_int_equal(walk_trace(*state), 20 * DISK_BLOCK_ITEMS);
}

static void full_disk_stops_nobody(void **state) {
    (void)state;
    struct block *block = event_block(SHAPE_TREE, 0);
    struct sink *s = must_open_sink("/dev/full", MIB);
    for (uint32_t i = 0; i < 200; i++) {
        sink_count(s, block->head.entries, block->head.exits, 0);
        sink_push(s, numbered(block, i, 1));
    }
    struct err err;
    assert_int_equal(sink_close(s, true, &err), -ENOSPC);
    assert_string_equal(err.tag, "write");
    struct trace_totals totals = sink_totals(s);
    assert_int_equal(totals.entries + totals.exits, 0);
    assert_int_equal(totals.lost, 200 * (uint64_t)(block->head.entries + block->head.exits));
    sink_free(s);
    block_free(block);
}

/* The file may have 3 MB: what was written before the error stays readable, the rest is counted. */
static void disk_that_gets_full(void **state) {
    struct block *block = event_block(SHAPE_TREE, 0);
    uint64_t events = block->head.entries + block->head.exits;
    struct rlimit old;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    struct sink *s = must_open_sink(*state, 2 * MIB);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){3000000, old.rlim_max}), 0);
    for (uint32_t i = 0; i < 300; i++) {
        sink_count(s, block->head.entries, block->head.exits, 0);
        sink_push(s, numbered(block, i, 1));
    }
    assert_int_equal(sink_close(s, true, NULL), -EFBIG);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    struct trace_totals totals = sink_totals(s);
    sink_free(s);
    assert_int_equal(totals.entries + totals.exits + totals.lost, 300 * events);
    AUTO_FREE char *part = mem_printf("%s.part", (char *)*state);
    size_t count;
    AUTO_FREE struct disk_block *heads = read_heads(part, &count);
    assert_int_equal(count * events, totals.entries + totals.exits);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(number_of(&heads[i], block), i);
    block_free(block);
}

struct copier {
    int from, to;
};

/* Reads a pipe as a slow disk would. */
static void *copy_slowly(void *arg) {
    static uint8_t bytes[65536];
    const struct copier *c = arg;
    for (ssize_t n; (n = read(c->from, bytes, sizeof bytes)) > 0;) {
        assert_int_equal(write(c->to, bytes, (size_t)n), n);
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    return NULL;
}

/* 20 MB of blocks wait for a pipe that takes 32 MB a second. */
static void slow_pipe_gets_all_in_order(void **state) {
    enum { BLOCKS = 60 };
    struct block *block = event_block(SHAPE_NOISE, 0);
    AUTO_FREE char *copy = mem_printf("%s.part", (char *)*state);
    assert_int_equal(mkfifo(*state, 0600), 0);
    struct copier copier = {open(*state, O_RDONLY | O_NONBLOCK), creat(copy, 0600)};
    struct sink *s = must_open_sink(*state, 256 * MIB);
    assert_int_equal(fcntl(copier.from, F_SETFL, 0), 0);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, copy_slowly, &copier), 0);
    for (uint32_t i = 0; i < BLOCKS; i++)
        sink_push(s, numbered(block, i, 4));
    assert_int_equal(sink_close(s, true, NULL), 0);
    assert_int_equal(sink_totals(s).lost, 0);
    sink_free(s);
    pthread_join(thread, NULL);
    close(copier.from);
    close(copier.to);
    size_t count;
    AUTO_FREE struct disk_block *heads = read_heads(copy, &count);
    assert_true(count > BLOCKS);
    for (uint32_t i = 0; i < BLOCKS; i++)
        assert_int_equal(number_of(&heads[i], block), i);
    block_free(block);
}

static _Atomic bool busy;

static void *spin(void *arg) {
    while (busy)
        ;
    return arg;
}

/* Threads of normal priority take all processors while blocks are pushed: the threads that pack
 * get next to nothing. The end then packs with threads of normal priority. */
static void end_waits_for_no_starved_thread(void **state) {
    enum { SPINNERS = 4 };
    pthread_t threads[SPINNERS];
    struct block *block = event_block(SHAPE_TREE, 0);
    busy = true;
    for (int i = 0; i < SPINNERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, spin, NULL), 0);
    struct sink *s = must_open_sink(*state, 256 * MIB);
    for (uint32_t i = 0; i < 100; i++)
        sink_push(s, numbered(block, i, 1));
    double start = now_s();
    assert_int_equal(sink_close(s, true, NULL), 0);
    double took = now_s() - start;
    busy = false;
    for (int i = 0; i < SPINNERS; i++)
        pthread_join(threads[i], NULL);
    sink_free(s);
    size_t count;
    AUTO_FREE struct disk_block *heads = read_heads(*state, &count);
    assert_true(count > 100);
    assert_true(took < 30); /* 1.5 s, and what a loaded machine adds */
    block_free(block);
}

static size_t allocated(void) {
    const struct mallinfo2 all = mallinfo2();
    return all.uordblks + all.hblkhd;
}

static void packer_that_is_ready_allocates_nothing(void **state) {
    (void)state;
    enum { SIZE = 64 * 1024 };
    struct packer *p = packer_new();
    struct block *block = block_of(DISK_EVENTS, SIZE), *larger = block_of(DISK_EVENTS, SIZE + 1),
                 *other = block_of(DISK_FUNCTIONS, SIZE);
    uint8_t *out = mem_alloc(packer_room(SIZE));
    assert_false(packer_is_ready(p, block));
    const size_t before = allocated();
    packer_pack(p, block, out);
    const size_t after = allocated();
    assert_true(after > before);
    assert_true(packer_is_ready(p, block));
    assert_false(packer_is_ready(p, larger));
    assert_false(packer_is_ready(p, other));
    for (int i = 0; i < 20; i++)
        packer_pack(p, block, out);
    assert_int_equal(allocated(), after);
    free(out);
    block_free(block);
    block_free(larger);
    block_free(other);
    packer_free(p);
}

/* Files of earlier versions end before the field. */
static void end_record_tells_the_memory(void **state) {
    (void)state;
    struct trace_end end;
    struct block *block = record_end(&(struct trace_end){.ticks = 5, .waiting_bytes = 77});
    struct bytes *payload = &block->parts[0];
    bytes_reserve(payload, 16);
    struct fields f = {payload->at, payload->at + payload->count, false};
    assert_true(fields_end(&f, &end));
    assert_int_equal(end.waiting_bytes, 77);
    f = (struct fields){payload->at, payload->at + payload->count - 1, false};
    assert_true(fields_end(&f, &end));
    assert_int_equal(end.waiting_bytes, 0);
    assert_int_equal(end.ticks, 5);
    block_free(block);
}

static void buffers_are_used_again(void **state) {
    (void)state;
    size_t size, again;
    void *first = buffer_get(300000, &size);
    assert_int_equal(size, 512 * 1024);
    buffer_put(first, size);
    void *second = buffer_get(400000, &again);
    assert_ptr_equal(first, second);
    assert_int_equal(again, size);
    free(second);
    void *huge = buffer_get(5 * MIB, &size);
    assert_int_equal(size, 5 * MIB);
    buffer_put(huge, size);
    buffer_put(mem_alloc(40000), 40000); /* of no size that is kept */
    buffer_put(NULL, 0);
    struct bytes b = {0};
    bytes_put(&b, "abc", 3);
    bytes_reserve(&b, 100000);
    assert_memory_equal(b.at, "abc", 3);
    assert_true(b.room >= 100003);
    buffer_put(b.at, b.room);
}

static void stash_keeps_payloads(void **state) {
    enum { BLOCKS = 40 };
    (void)state;
    struct stash_chunk *current = NULL;
    struct block *original = event_block(SHAPE_TREE, 0), *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = block_copy(original);
        stash_put(&current, blocks[i]);
        assert_int_equal(block_held_bytes(blocks[i]), block_raw_bytes(original));
    }
    for (int i = 0; i < BLOCKS; i += 2)
        block_free(blocks[i]);
    for (int i = 1; i < BLOCKS; i += 2) {
        for (int k = 0; k < BLOCK_PARTS; k++)
            assert_memory_equal(blocks[i]->parts[k].at, original->parts[k].at,
                                original->parts[k].count);
        block_free(blocks[i]);
    }
    struct block *large = block_new(DISK_FUNCTIONS); /* more than a chunk has */
    bytes_reserve(&large->parts[0], 3 * MIB);
    memset(large->parts[0].at, 7, 3 * MIB);
    large->parts[0].count = 3 * MIB;
    stash_put(&current, large);
    assert_int_equal(large->parts[0].at[3 * MIB - 1], 7);
    block_free(large);
    stash_release(current);
    block_free(original);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown),
    const struct CMUnitTest tests[] = {TESTS};
    signal(SIGXFSZ, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
