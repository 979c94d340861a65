/* Packed contents come back; damaged ones are refused. Code leaves a full folder before plans that
 * were used in the hour before, and after older ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "cache/packed.h"

enum { MOST = 1 << 20 };
static char home[] = "/tmp/packed-XXXXXX";
static const uint8_t key[DIGEST_BYTES] = "key";

struct numbers {
    size_t count;
    uint32_t *at;
};

static struct numbers make(size_t count) {
    struct numbers n = {count, mem_alloc(count * sizeof *n.at)};
    for (size_t i = 0; i < count; i++)
        n.at[i] = (uint32_t)(i / 5);
    return n;
}

static void put_numbers(struct flat_writer *w, void *ctx) {
    const struct numbers *n = ctx;
    flat_put(w, n->at, n->count * sizeof *n->at);
    flat_align(w);
}

static void put_packed(struct flat_writer *w, void *ctx) { packed_write(w, put_numbers, ctx); }

static void contents_come_back(void **state) {
    static const size_t counts[] = {1, FLAT_BUFFER / sizeof(uint32_t), 1000000};
    struct folder folder = folder_open(UINT64_MAX);
    struct folder_file file;
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct numbers n = make(counts[i]);
        folder_write(&folder, "code-a", key, put_packed, &n);
        assert_true(folder_read(&folder, "code-a", key, true, &file));
        const size_t packed = file.size;
        struct packed *p = packed_open(&file);
        assert_non_null(p);
        assert_true(packed_unpack(p, NULL, 0));
        assert_true(counts[i] < 1000 || packed < counts[i] * sizeof *n.at);
        struct flat_reader contents = packed_contents(p);
        const uint32_t *got = flat_take(&contents, n.count, sizeof *got);
        assert_memory_equal(got, n.at, n.count * sizeof *got);
        packed_close(p);
        free(n.at);
    }
    folder_close(&folder);
}

static void check_copy(struct packed *p, const struct numbers *n, size_t from, size_t count) {
    struct code_source *source = packed_source(p);
    const uint32_t *at = (const uint32_t *)packed_contents(p).at + from;
    uint32_t *got = mem_alloc(count * sizeof *got);
    assert_true(source->copy(source, at, count * sizeof *got, got));
    assert_memory_equal(got, n->at + from, count * sizeof *got);
    free(got);
}

/* Of a block; blocks begin at multiples of that. */
enum { NUMBERS = FLAT_BUFFER / sizeof(uint32_t) };

static void blocks_wait_until_they_are_used(void **state) {
    struct folder folder = folder_open(UINT64_MAX);
    struct numbers n = make(10 * NUMBERS + 7);
    const struct span later[] = {{1, 2}, {FLAT_BUFFER + 1, 8 * FLAT_BUFFER + 1}};
    struct folder_file file;
    (void)state;
    folder_write(&folder, "code-a", key, put_packed, &n);
    assert_true(folder_read(&folder, "code-a", key, true, &file));
    struct packed *p = packed_open(&file);
    assert_non_null(p);
    assert_true(packed_unpack(p, later, 2));
    const uint32_t *got = (const uint32_t *)packed_contents(p).at;
    const size_t first = 2 * NUMBERS, end = 8 * NUMBERS;
    assert_memory_equal(got, n.at, first * sizeof *got);
    assert_memory_equal(got + end, n.at + end, (n.count - end) * sizeof *got);
    check_copy(p, &n, first - 3, 2 * NUMBERS);
    check_copy(p, &n, 0, n.count);
    check_copy(p, &n, end - 1, 2);
    for (size_t i = first; i < end; i++)
        assert_int_equal(got[i], 0);
    struct code_source *source = packed_source(p);
    assert_true(source->fill(source, got + 4 * NUMBERS - 1, 2 * sizeof *got));
    assert_memory_equal(got + 3 * NUMBERS, n.at + 3 * NUMBERS, 2 * NUMBERS * sizeof *got);
    assert_int_equal(got[3 * NUMBERS - 1], 0);
    assert_int_equal(got[5 * NUMBERS], 0);
    check_copy(p, &n, first, end - first);
    source->close(source);
    free(n.at);
    folder_close(&folder);
}

static void damage_of_a_waiting_block_is_found(void **state) {
    struct folder folder = folder_open(UINT64_MAX);
    struct numbers n = make(3 * NUMBERS);
    const struct span later = {FLAT_BUFFER, 2 * FLAT_BUFFER};
    struct folder_file file;
    uint32_t got;
    (void)state;
    folder_write(&folder, "code-a", key, put_packed, &n);
    assert_true(folder_read(&folder, "code-a", key, true, &file));
    uint64_t *sizes = (uint64_t *)file.contents.at; /* raw and packed, of the first block */
    sizes += 2 + (sizes[1] + FLAT_ALIGN - 1) / FLAT_ALIGN * 2;
    assert_int_equal(sizes[0], FLAT_BUFFER);
    memset(&sizes[2], 0, 8); /* the second block's packed bytes */
    struct packed *p = packed_open(&file);
    assert_non_null(p);
    assert_true(packed_unpack(p, &later, 1));
    struct code_source *source = packed_source(p);
    const uint32_t *second = (const uint32_t *)packed_contents(p).at + NUMBERS;
    assert_false(source->copy(source, second, sizeof got, &got));
    assert_false(source->fill(source, second, sizeof got));
    assert_true(source->copy(source, second - 1, sizeof got, &got));
    assert_false(packed_unpack(p, NULL, 0));
    packed_close(p);
    free(n.at);
    folder_close(&folder);
}

static void damage_is_found(void **state) {
    struct folder folder = folder_open(UINT64_MAX);
    struct numbers n = make(200000);
    struct folder_file file;
    (void)state;
    folder_write(&folder, "code-a", key, put_packed, &n);
    assert_true(folder_read(&folder, "code-a", key, true, &file));
    struct folder_file cut = file;
    for (size_t left = (size_t)(file.contents.end - file.contents.at) - 1; left < SIZE_MAX / 2;
         left -= 1000) { /* what is left out is its end */
        cut.contents.end = file.contents.at + left;
        assert_null(packed_open(&cut));
    }
    uint64_t *sizes = (uint64_t *)file.contents.at; /* of the first block */
    sizes[0] -= 1;
    assert_null(packed_open(&file));
    sizes[0] = UINT64_MAX;
    assert_null(packed_open(&file));
    mem_unmap(file.pages, file.size);
    free(n.at);
    folder_close(&folder);
}

static bool is_there(const struct folder *folder, const char *name) {
    return faccessat(folder->fd, name, F_OK, 0) == 0;
}

static void code_leaves_before_plans(void **state) {
    struct folder folder = folder_open(MOST);
    struct numbers n = make(MOST / 3 / sizeof *n.at);
    (void)state;
    folder_write(&folder, "plan-a", key, put_numbers, &n);
    folder_write(&folder, "code-a", key, put_numbers, &n);
    folder_write(&folder, "code-b", key, put_numbers, &n);
    assert_true(is_there(&folder, "plan-a"));
    assert_false(is_there(&folder, "code-a"));
    assert_true(is_there(&folder, "code-b"));
    folder_write(&folder, "plan-b", key, put_numbers, &n);
    folder_write(&folder, "plan-c", key, put_numbers, &n);
    assert_false(is_there(&folder, "plan-a"));
    assert_false(is_there(&folder, "code-b"));
    assert_true(is_there(&folder, "plan-c"));
    free(n.at);
    folder_close(&folder);
}

/* NAME was last used so many minutes ago. */
static void set_used(const struct folder *folder, const char *name, int minutes) {
    const struct timespec used = {time(NULL) - 60 * minutes, 0}, times[2] = {used, used};
    assert_int_equal(utimensat(folder->fd, name, times, 0), 0);
}

static void old_plans_leave_before_code(void **state) {
    struct folder folder = folder_open(MOST);
    struct numbers n = make(MOST / 3 / sizeof *n.at);
    (void)state;
    folder_write(&folder, "plan-c", key, put_numbers, &n);
    folder_write(&folder, "plan-d", key, put_numbers, &n);
    set_used(&folder, "plan-c", 50);
    set_used(&folder, "plan-d", 70);
    folder_write(&folder, "code-c", key, put_numbers, &n);
    assert_false(is_there(&folder, "plan-d"));
    assert_true(is_there(&folder, "code-c"));
    folder_write(&folder, "plan-d", key, put_numbers, &n);
    assert_true(is_there(&folder, "plan-c"));
    assert_false(is_there(&folder, "code-c"));
    free(n.at);
    folder_close(&folder);
}

static int make_home(void **state) {
    (void)state;
    return mkdtemp(home) && setenv("XDG_CACHE_HOME", home, 1) == 0 ? 0 : -1;
}

static int remove_home(void **state) {
    AUTO_FREE char *command = mem_printf("rm -r %s", home);
    (void)state;
    return system(command); // NOLINT(cert-env33-c): a folder of this test
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contents_come_back),
        cmocka_unit_test(blocks_wait_until_they_are_used),
        cmocka_unit_test(damage_is_found),
        cmocka_unit_test(damage_of_a_waiting_block_is_found),
        cmocka_unit_test(code_leaves_before_plans),
        cmocka_unit_test(old_plans_leave_before_code),
    };
    return cmocka_run_group_tests(tests, make_home, remove_home);
}
