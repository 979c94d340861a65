/*
 * The code agrees with doc/trace-format.md (the argument). Checksums and numbers agree with the
 * definitions of their algorithms.
 */
#include <stdio.h>
#include <string.h>

#include "base/checksum.h"
#include "support.h"
#include "trace/layout.h"
#include "trace/varint.h"

#define TESTS                                                                                      \
    TEST(documented_offsets)                                                                       \
    TEST(documented_block_types)                                                                   \
    TEST(documented_magics_and_version)                                                            \
    TEST(checksum_is_xxh64)                                                                        \
    TEST(numbers_of_every_length)                                                                  \
    TEST(documented_number_encoding)

struct field {
    const char *structure, *name;
    size_t offset, size;
};

#define FIELD(s, f)                                                                                \
    { #s, #f, offsetof(struct s, f), sizeof(((struct s *)0)->f) }

static const struct field fields[] = {
    FIELD(disk_header, magic),
    FIELD(disk_header, version),
    FIELD(disk_header, header_bytes),
    FIELD(disk_header, flags),
    FIELD(disk_header, check),
    FIELD(disk_block, magic),
    FIELD(disk_block, type),
    FIELD(disk_block, coding),
    FIELD(disk_block, stored),
    FIELD(disk_block, raw),
    FIELD(disk_block, payload_check),
    FIELD(disk_block, stream),
    FIELD(disk_block, items),
    FIELD(disk_block, first),
    FIELD(disk_block, last),
    FIELD(disk_block, entries),
    FIELD(disk_block, exits),
    FIELD(disk_block, lost),
    FIELD(disk_block, check),
    FIELD(disk_events, functions),
    FIELD(disk_events, dictionary_bytes),
    FIELD(disk_events, code_bytes),
    FIELD(disk_events, time_bytes),
    FIELD(disk_events, extra_bytes),
    FIELD(disk_index_entry, offset),
    FIELD(disk_index_entry, block),
    FIELD(disk_trailer, index_offset),
    FIELD(disk_trailer, index_blocks),
    FIELD(disk_trailer, check),
    FIELD(disk_trailer, magic),
};
enum { FIELDS = sizeof fields / sizeof *fields };

static char *document;

/* Calls LINE_OF with each line of the document. */
static size_t each_line(size_t (*line_of)(const char *line)) {
    AUTO_FREE char *text = mem_strdup(document);
    size_t sum = 0;
    for (char *rest = text, *line; (line = strsep(&rest, "\n"));)
        sum += line_of(line);
    return sum;
}

static size_t check_field(const char *line) {
    static char structure[64];
    char name[64];
    size_t offset, size;
    if (sscanf(line, "| offset | size | `%63[a-z_]`", structure) == 1)
        return 0;
    if (sscanf(line, "| %zu | %zu | %63[a-z_] |", &offset, &size, name) != 3)
        return 0;
    for (size_t i = 0; i < FIELDS; i++)
        if (!strcmp(fields[i].structure, structure) && !strcmp(fields[i].name, name)) {
            assert_int_equal(offset, fields[i].offset);
            assert_int_equal(size, fields[i].size);
            return 1;
        }
    fail_msg("%s.%s is not in the code", structure, name);
    return 0;
}

static void documented_offsets(void **state) {
    (void)state;
    assert_int_equal(each_line(check_field), FIELDS);
}

static size_t check_type(const char *line) {
    static const char *const types[] = {
        [DISK_SESSION] = "session",   [DISK_CLOCK] = "clock",
        [DISK_PROCESS] = "process",   [DISK_THREAD] = "thread",
        [DISK_MODULE] = "module",     [DISK_FUNCTIONS] = "functions",
        [DISK_MAP] = "map",           [DISK_END] = "end",
        [DISK_INDEX] = "index",       [DISK_FRAMES] = "frames",
        [DISK_CHANGE] = "change",     [DISK_EXTENTS] = "extents",
        [DISK_CHAINS] = "chains",     [DISK_CHECKPOINT] = "checkpoint",
        [DISK_TYPES] = "types",       [DISK_EVENTS] = "events",
        [DISK_CAPTURES] = "captures", [DISK_VALUES] = "values",
        [DISK_DEATH] = "death",       [DISK_PAUSES] = "pauses"};
    char name[64];
    unsigned type, rest = 0;
    if (sscanf(line, "| %u | %63[a-z] |%n", &type, name, &rest) != 2 || rest != strlen(line))
        return 0;
    assert_true(type <= DISK_PAUSES && types[type]);
    assert_string_equal(types[type], name);
    return 1;
}

static void documented_block_types(void **state) {
    (void)state;
    assert_int_equal(each_line(check_type), 20);
}

static void documented_magics_and_version(void **state) {
    (void)state;
    char version[64], magic[64];
    snprintf(version, sizeof version, "| 8 | 4 | version | %d |", TRACE_FORMAT_VERSION);
    snprintf(magic, sizeof magic, "0x%x, `\"%.4s\"`", DISK_BLOCK_MAGIC,
             (const char *)&(uint32_t){DISK_BLOCK_MAGIC});
    assert_non_null(strstr(document, version));
    assert_non_null(strstr(document, magic));
    assert_non_null(strstr(document, "`\"spoor\\r\\n\\x1a\"`"));
    assert_memory_equal(DISK_MAGIC, "spoor\r\n\x1a", 8);
    assert_non_null(strstr(document, "`\"" DISK_END_MAGIC "\"`"));
}

/* Vectors of xxHash's own test suite and of `xxhsum -H1`. */
static void checksum_is_xxh64(void **state) {
    (void)state;
    static const char text[] = "Nobody inspects the spammish repetition";
    assert_true(checksum("", 0) == 0xef46db3751d8e999u);
    assert_true(checksum("a", 1) == 0xd24ec4f1a98c6e5bu);
    assert_true(checksum("abc", 3) == 0x44bc2cf5ad770999u);
    assert_true(checksum(text, sizeof text - 1) == 0xfbcea83c8a378bf1u);
}

static void numbers_of_every_length(void **state) {
    (void)state;
    uint8_t bytes[32];
    size_t longest = 0;
    for (unsigned bit = 0; bit < 64; bit++)
        for (int off = -230; off <= 230; off++) {
            uint64_t value = ((uint64_t)1 << bit) + (uint64_t)off;
            const uint8_t *p = bytes;
            memset(bytes, 0xff, sizeof bytes);
            size_t size = (size_t)(varint_put(bytes, value) - bytes);
            assert_true(varint_get(&p) == value);
            assert_int_equal(p - bytes, size);
            assert_true(unzigzag(zigzag((int64_t)value)) == (int64_t)value);
            longest = size > longest ? size : longest;
        }
    assert_int_equal(longest, VARINT_MAX_BYTES);
}

static void documented_number_encoding(void **state) {
    (void)state;
    static const struct {
        uint64_t value;
        size_t size;
        uint8_t bytes[9];
    } cases[] = {
        {0, 1, {0}},
        {223, 1, {0xdf}},
        {224, 2, {0xe0, 0}},
        {6367, 2, {0xf7, 0xff}},
        {6368, 3, {0xf9, 0xe0, 0x18}},
        {0xffff, 3, {0xf9, 0xff, 0xff}},
        {0x10000, 4, {0xfa, 0, 0, 1}},
        {UINT64_MAX, 9, {0xff, 255, 255, 255, 255, 255, 255, 255, 255}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t bytes[32];
        assert_int_equal(varint_put(bytes, cases[i].value) - bytes, cases[i].size);
        assert_memory_equal(bytes, cases[i].bytes, cases[i].size);
    }
}

int main(int argc, char **argv) {
    size_t size;
    if (argc != 2) {
        fprintf(stderr, "usage: test_trace_format trace-format.md\n");
        return 2;
    }
    uint8_t *bytes = must_load(argv[1], &size);
    document = mem_printf("%.*s", (int)size, (char *)bytes);
    free(bytes);
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(document);
    return failed;
}
