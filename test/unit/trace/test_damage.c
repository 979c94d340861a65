/* Files that spoor did not write: no crash, always a message, and all readable data is read. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checksum.h"
#include "support.h"
#include "trace/layout.h"

#define TESTS                                                                                      \
    TEST(missing_file)                                                                             \
    TEST(empty_file)                                                                               \
    TEST(foreign_files)                                                                            \
    TEST(trace_of_a_newer_spoor)                                                                   \
    TEST(damaged_header)                                                                           \
    TEST(trace_without_its_session)                                                                \
    TEST(trace_cut_at_any_byte)                                                                    \
    TEST(any_flipped_byte)                                                                         \
    TEST(damaged_events_become_a_loss)                                                             \
    TEST(malicious_payloads)                                                                       \
    TEST(unknown_blocks_and_longer_records)                                                        \
    TEST(hole_without_an_index)                                                                    \
    TEST(file_cut_while_read)                                                                      \
    TEST(missing_stream)

enum { SMALL_ITEMS = 3 * 300 + 3 + 1 };

static int setup(void **state) {
    *state = scratch_new();
    return 0;
}

static int teardown(void **state) {
    scratch_free(*state);
    return 0;
}

static void expect_refused(const char *path, const char *tag, const char *text) {
    struct trace_reader *r = NULL;
    struct err err = {0};
    AUTO_FREE char *whole = mem_printf("%s%s", path, text);
    assert_true(trace_reader_open(path, &r, &err) < 0);
    assert_string_equal(err.tag, tag);
    assert_string_equal(err.text, whole);
    assert_null(r);
}

static void missing_file(void **state) {
    expect_refused(*state, "open", ": cannot open: No such file or directory");
}

static void empty_file(void **state) {
    must_store(*state, "", 0);
    expect_refused(*state, "empty-trace", ": is empty: nothing was recorded");
}

static void foreign_files(void **state) {
    must_store(*state, "Record of a famous voyage, in plain text", 40);
    expect_refused(*state, "not-a-trace", ": is not a spoor trace");
    must_store(*state, "s", 1); /* this could begin a trace */
    expect_refused(*state, "truncated-trace", ": is cut off before anything was recorded");
    must_store(*state, "x", 1);
    expect_refused(*state, "not-a-trace", ": is not a spoor trace");
    expect_refused("/tmp", "not-a-trace", ": is not a spoor trace, but a directory");
    expect_refused("/dev/null", "not-a-trace", ": is not a spoor trace, but a device or pipe");
}

static void trace_of_a_newer_spoor(void **state) {
    struct disk_header header = {.magic = DISK_MAGIC, .version = 2, .header_bytes = 4096};
    must_store(*state, &header, sizeof header);
    expect_refused(*state, "newer-format",
                   ": was written by a newer spoor (format 2; this one reads 1): upgrade spoor");
}

static void damaged_header(void **state) {
    size_t size;
    write_small_trace(*state);
    AUTO_FREE uint8_t *bytes = must_load(*state, &size);
    bytes[offsetof(struct disk_header, flags)] ^= 1;
    must_store(*state, bytes, size);
    expect_refused(*state, "corrupt-trace", ": is damaged: its header is not valid");
}

static void trace_without_its_session(void **state) {
    size_t size;
    write_small_trace(*state);
    AUTO_FREE uint8_t *bytes = must_load(*state, &size);
    bytes[sizeof(struct disk_header) + sizeof(struct disk_block)] ^= 1;
    must_store(*state, bytes, size);
    expect_refused(*state, "corrupt-trace", ": is damaged: its session record cannot be read");
}

static void trace_cut_at_any_byte(void **state) {
    size_t size, before = 0;
    write_small_trace(*state);
    AUTO_FREE uint8_t *bytes = must_load(*state, &size);
    for (size_t length = 0; length < size; length += 1 + length / 100) {
        must_store(*state, bytes, length);
        size_t n = walk_trace(*state);
        assert_true(n >= before);
        before = n;
        struct trace_reader *r;
        struct err err;
        if (!trace_reader_open(*state, &r, &err)) {
            assert_non_null(trace_reader_warning(r));
            trace_reader_free(r);
        } else if (length) {
            assert_string_equal(err.tag, "truncated-trace");
        }
    }
    assert_int_equal(before, SMALL_ITEMS);
}

static void any_flipped_byte(void **state) {
    size_t size, refused = 0;
    write_small_trace(*state);
    AUTO_FREE uint8_t *bytes = must_load(*state, &size);
    for (size_t i = 0; i < size; i += 1 + i % 3) {
        bytes[i] ^= (uint8_t)(1 + i % 255);
        must_store(*state, bytes, size);
        struct trace_reader *r;
        struct err err;
        size_t n = walk_trace(*state);
        if (trace_reader_open(*state, &r, &err)) {
            refused++;
        } else { /* at most one block and its replacement */
            assert_true(n >= SMALL_ITEMS - 200);
            trace_reader_free(r);
        }
        bytes[i] ^= (uint8_t)(1 + i % 255);
    }
    assert_in_range(refused, 1, 32 + 2 * 72 + 64); /* the header and the session */
}

/* Blocks are unaligned. */
typedef struct disk_block __attribute__((aligned(1))) block_head;

/* The N-th block of TYPE. */
static block_head *find_block(uint8_t *bytes, size_t size, unsigned type, unsigned n) {
    size_t at = sizeof(struct disk_header);
    while (at + sizeof(struct disk_block) <= size) {
        block_head *head = (block_head *)(bytes + at);
        assert_int_equal(head->magic, DISK_BLOCK_MAGIC);
        if (head->type == type && !n--)
            return head;
        at += sizeof *head + head->stored;
    }
    fail_msg("no block of type %u", type);
    return NULL;
}

static void seal(block_head *head) {
    head->payload_check = checksum(head + 1, head->stored);
    head->check = checksum(head, offsetof(struct disk_block, check));
}

static void damaged_events_become_a_loss(void **state) {
    size_t size;
    write_small_trace(*state);
    AUTO_FREE uint8_t *bytes = must_load(*state, &size);
    block_head *head = find_block(bytes, size, DISK_EVENTS, 0);
    uint32_t items = head->items;
    ((uint8_t *)(head + 1))[5] ^= 1;
    must_store(*state, bytes, size);
    struct trace_reader *r = must_open_reader(*state);
    struct trace_cursor *c;
    struct trace_item item;
    struct err err;
    assert_int_equal(trace_cursor_open(r, 0, &c, NULL), 0);
    assert_true(trace_cursor_next(c, &item, &err) < 0);
    assert_string_equal(err.tag, "corrupt-block");
    assert_non_null(strstr(err.text, "is damaged at byte"));
    assert_int_equal(trace_cursor_next(c, &item, &err), 1);
    assert_int_equal(item.kind, TRACE_LOST);
    assert_int_equal(item.lost, items);
    assert_int_equal(trace_cursor_next(c, &item, &err), 1);
    trace_cursor_free(c);
    trace_reader_free(r);
}

/* Random payloads with valid checksums, as an attacker would make them. */
static void malicious_payloads(void **state) {
    uint64_t random = 99;
    size_t size;
    write_small_trace(*state);
    AUTO_FREE uint8_t *bytes = must_load(*state, &size);
    for (int round = 0; round < 2000; round++) {
        AUTO_FREE uint8_t *copy = mem_alloc(size);
        /* Without the trailer the reader walks the blocks. */
        memcpy(copy, bytes, size - sizeof(struct disk_trailer));
        static const uint8_t types[] = {DISK_EVENTS, DISK_EVENTS,    DISK_SESSION, DISK_MODULE,
                                        DISK_THREAD, DISK_FUNCTIONS, DISK_END,     DISK_MAP};
        block_head *head = find_block(copy, size, types[random_below(&random, 8)], 0);
        for (uint32_t i = 1 + random_below(&random, 4); i; i--)
            ((uint8_t *)(head + 1))[random_below(&random, head->stored)] =
                (uint8_t)random_next(&random);
        if (random_below(&random, 2))
            head->coding = DISK_PLAIN, head->raw = head->stored;
        if (!random_below(&random, 4))
            head->items = random_below(&random, 70000);
        if (!random_below(&random, 4))
            head->stream = random_below(&random, 1000);
        seal(head);
        must_store(*state, copy, size);
        walk_trace(*state);
    }
}

static void unknown_blocks_and_longer_records(void **state) {
    size_t size;
    write_small_trace(*state);
    AUTO_FREE uint8_t *bytes = must_load(*state, &size);
    block_head *head = find_block(bytes, size, DISK_MAP, 0);
    head->type = 4711;
    seal(head);
    block_head *end = find_block(bytes, size, DISK_END, 0);
    assert_int_equal(end->coding, DISK_PLAIN);
    size_t cut = (size_t)((uint8_t *)(end + 1) - bytes) + end->stored;
    AUTO_FREE uint8_t *copy = mem_alloc(size + 100);
    memcpy(copy, bytes, cut);
    end = (block_head *)(copy + ((uint8_t *)end - bytes));
    memset(copy + cut, 0x55, 9); /* fields of a later version */
    end->stored += 9;
    end->raw += 9;
    seal(end);
    must_store(*state, copy, cut + 9);
    struct trace_reader *r = must_open_reader(*state);
    assert_int_equal(trace_reader_map_count(r), 1);
    assert_int_equal(trace_reader_end(r)->lost, 7);
    assert_non_null(strstr(trace_reader_warning(r), "its index is missing"));
    trace_reader_free(r);
    assert_int_equal(walk_trace(*state), SMALL_ITEMS);
}

static void hole_without_an_index(void **state) {
    size_t size;
    write_small_trace(*state);
    AUTO_FREE uint8_t *bytes = must_load(*state, &size);
    block_head *head = find_block(bytes, size, DISK_EVENTS, 1);
    uint32_t items = head->items;
    memset(head, 0, sizeof *head + head->stored / 2);
    must_store(*state, bytes, size - 7); /* the trailer is missing, too */
    struct trace_reader *r = must_open_reader(*state);
    assert_non_null(strstr(trace_reader_warning(r), "is damaged: unreadable parts are left out"));
    uint64_t damaged = 0;
    AUTO_FREE char *packed = mem_printf("%s.part", (char *)*state);
    assert_int_equal(trace_repack(r, packed, &damaged, NULL), 0);
    assert_int_equal(damaged, 1);
    trace_reader_free(r);
    assert_int_equal(walk_trace(*state), SMALL_ITEMS - items);
    assert_int_equal(walk_trace(packed), SMALL_ITEMS - items);
}

static void file_cut_while_read(void **state) {
    AUTO_FREE struct trace_event *events = generate(SHAPE_TREE, 200000, 1, 0);
    struct trace_writer *w = must_open_writer(*state);
    feed(w, 0, events, 200000);
    must_finish(w);
    struct trace_reader *r = must_open_reader(*state);
    struct trace_cursor *c;
    const struct trace_item *items;
    struct err err;
    assert_int_equal(trace_cursor_open(r, 0, &c, NULL), 0);
    assert_true(trace_cursor_batch(c, &items, &err) > 0);
    assert_int_equal(truncate(*state, 1000), 0);
    ptrdiff_t n;
    while ((n = trace_cursor_batch(c, &items, &err)) > 0)
        continue;
    assert_true(n < 0);
    assert_string_equal(err.tag, "corrupt-block");
    trace_cursor_free(c);
    trace_reader_free(r);
}

static void missing_stream(void **state) {
    struct trace_cursor *c = NULL;
    struct err err;
    write_small_trace(*state);
    struct trace_reader *r = must_open_reader(*state);
    assert_true(trace_cursor_open(r, 3, &c, &err) < 0);
    assert_string_equal(err.tag, "no-stream");
    trace_reader_free(r);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
