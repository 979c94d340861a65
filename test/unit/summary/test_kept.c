/* src/summary: the file in which a summary is kept gives the same answers, or is not used. */
#include "support.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "../trace/support.h"
#include "base/checksum.h"
#include "summary/kept.h"
#include "summary/kept_file.h"

#define TESTS                                                                                      \
    TEST(answers_from_the_file)                                                                    \
    TEST(made_summaries_are_in_their_file)                                                         \
    TEST(file_is_private)                                                                          \
    TEST(damage_in_each_page)                                                                      \
    TEST(file_cut_short)                                                                           \
    TEST(cut_or_changed_with_good_checks)                                                          \
    TEST(file_of_another_version)                                                                  \
    TEST(file_of_another_trace)                                                                    \
    TEST(file_that_others_may_write)                                                               \
    TEST(file_of_another_user)                                                                     \
    TEST(link_in_place_of_the_file)                                                                \
    TEST(folder_that_is_read_only)                                                                 \
    TEST(traces_that_did_not_end)                                                                  \
    TEST(one_process_writes)

enum { COLUMNS = 300 };

static const struct program program = {.exceptions = 5, .oddities = 2};

static char *idx_path(void) { return mem_printf("%s.idx", lab.path); }

static struct summary *start_kept(void) {
    struct summary *s = must_start(&(struct summary_options){.keep = true, .most_spans = 2000});
    summary_wait(s);
    assert_true(summary_state(s).complete);
    return s;
}

/* Whether a summary is read from its file; then it is there from now on. */
static bool is_from_file(void) {
    struct summary *s = start_kept();
    bool from_file = summary_state(s).from_file;
    summary_free(s);
    return from_file;
}

/* What queries answer, as text. */
static char *describe(struct summary *s, const struct summary_range *range) {
    char *text = NULL;
    size_t size, count;
    FILE *out = open_memstream(&text, &size);
    summary_span_list spans;
    summary_mark_list marks;
    summary_call_list calls;
    struct stats *stats;
    bool more;
    summary_spans(s, range, COLUMNS, false, &spans);
    for (size_t i = 0; i < spans.count; i++) {
        const struct summary_span *b = &spans.at[i];
        fprintf(out, "%ju %ju %u %u %u %u %u\n", b->start_ns, b->end_ns, b->function, b->stream,
                b->calls, b->depth, b->flags);
    }
    ARRAY_FREE(&spans);
    summary_marks(s, range, &(struct summary_marks_query){.limit = 100}, &marks, &count);
    for (size_t i = 0; i < marks.count; i++)
        fprintf(out, "%d %u %ju %ju\n", marks.at[i].kind, marks.at[i].stream, marks.at[i].start_ns,
                marks.at[i].count);
    ARRAY_FREE(&marks);
    summary_functions(s, range, &stats);
    for (uint32_t i = 0; i < FUNCTIONS - MAIN; i++)
        fprintf(out, "%ju %ju %ju %ju\n", stats_of(stats, i)->calls, stats_of(stats, i)->total_ns,
                stats_of(stats, i)->self_ns, stats_percentile(stats_of(stats, i), 50));
    stats_free(stats);
    summary_calls(s, range,
                  &(struct summary_calls_query){.function = 1, .most_ns = UINT64_MAX, .limit = 50},
                  &calls, &more);
    for (size_t i = 0; i < calls.count; i++)
        fprintf(out, "%ju %ju %d\n", calls.at[i].start_ns, calls.at[i].duration_ns, more);
    ARRAY_FREE(&calls);
    fclose(out);
    return text;
}

static void answers_from_the_file(void **state) {
    (void)state;
    enum { RANGES = 30 };
    char *expected[RANGES];
    uint64_t dice = 17;
    run_all(&program);
    struct summary *s = start_kept();
    struct summary_range ranges[RANGES];
    assert_false(summary_state(s).from_file);
    for (int i = 0; i < RANGES; i++) {
        ranges[i] = random_range(&dice);
        expected[i] = describe(s, &ranges[i]);
    }
    struct summary_state before = summary_state(s);
    summary_free(s);
    s = start_kept();
    struct summary_state after = summary_state(s);
    assert_true(after.from_file);
    assert_int_equal(after.threshold_ns, before.threshold_ns);
    assert_int_equal(after.spans, before.spans);
    for (int i = 0; i < RANGES; i++) {
        AUTO_FREE char *text = describe(s, &ranges[i]);
        assert_string_equal(text, expected[i]);
        free(expected[i]);
    }
    summary_free(s);
}

/* Whether the summary's file is mapped in this process. */
static bool is_mapped(void) {
    AUTO_FREE char *path = idx_path();
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096];
    bool found = false;
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps))
        found |= strstr(line, path) != NULL;
    fclose(maps);
    return found;
}

/* Its memory is that of the file, even if this process has made it. */
static void made_summaries_are_in_their_file(void **state) {
    (void)state;
    run_all(&program);
    struct summary *s = start_kept();
    assert_false(summary_state(s).from_file);
    assert_true(is_mapped());
    summary_free(s);
    assert_false(is_mapped());
}

static void file_is_private(void **state) {
    (void)state;
    struct stat st;
    AUTO_FREE char *path = idx_path();
    AUTO_FREE char *part = mem_printf("%s.part", path);
    run_all(&program);
    mode_t old = umask(0);
    assert_false(is_from_file());
    umask(old);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(access(part, F_OK), -1);
}

/* The bytes of a valid file. */
static uint8_t *make_file(size_t *ret_size) {
    AUTO_FREE char *path = idx_path();
    run_all(&program);
    assert_false(is_from_file());
    assert_true(is_from_file());
    return must_load(path, ret_size);
}

static void store_file(const uint8_t *bytes, size_t size) {
    AUTO_FREE char *path = idx_path();
    unlink(path);
    must_store(path, bytes, size);
    chmod(path, 0600);
}

static void damage_in_each_page(void **state) {
    (void)state;
    size_t size, tests = 0;
    AUTO_FREE uint8_t *bytes = make_file(&size);
    for (size_t at = 7; at < size; at += 4096, tests++) {
        bytes[at] ^= (uint8_t)(1u << at / 4096 % 8);
        store_file(bytes, size);
        assert_false(is_from_file());
        bytes[at] ^= (uint8_t)(1u << at / 4096 % 8);
    }
    assert_true(tests > 20);
    assert_true(is_from_file());
}

static void file_cut_short(void **state) {
    (void)state;
    size_t size;
    AUTO_FREE uint8_t *bytes = make_file(&size);
    const size_t sizes[] = {0, 1, 100, 152, size / 2, size - 8, size - 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        store_file(bytes, sizes[i]);
        assert_false(is_from_file());
    }
    bytes = mem_resize(bytes, size + 8, 1);
    memset(bytes + size, 0, 8);
    store_file(bytes, size + 8);
    assert_false(is_from_file());
    assert_true(is_from_file());
}

/* kept.c's header, in words. */
enum {
    HEAD_KEY = 2,
    HEAD_SIZE = HEAD_KEY + sizeof(struct kept_key) / 8,
    HEAD_WORDS = HEAD_SIZE + 3
};

/* Makes the checks of a file good, whatever is in it. */
static void repair_checks(uint8_t *bytes, size_t size) {
    uint64_t *head = (uint64_t *)(void *)bytes, check[2] = {0};
    size_t at = HEAD_WORDS * 8;
    head[HEAD_SIZE] = size - at;
    for (; at < size; at += KEPT_PIECE) {
        check[1] = checksum(bytes + at, size - at < KEPT_PIECE ? size - at : KEPT_PIECE);
        check[0] = checksum(check, sizeof check);
    }
    head[HEAD_SIZE + 1] = check[0];
    head[HEAD_SIZE + 2] = checksum(head, (HEAD_SIZE + 2) * 8);
}

/* A file whose checks are good, but whose sizes are not, is read by nobody: cut at each of the
 * first numbers, and at others, and with other numbers there. Where numbers may be anything,
 * nothing is read beyond the file. */
static void cut_or_changed_with_good_checks(void **state) {
    (void)state;
    enum { FIRST = 40, OTHERS = 20 };
    size_t size;
    uint64_t dice = 3;
    AUTO_FREE uint8_t *bytes = make_file(&size);
    AUTO_FREE uint8_t *copy = mem_alloc(size);
    memcpy(copy, bytes, size);
    repair_checks(copy, size);
    assert_memory_equal(copy, bytes, size);
    for (unsigned i = 0; i < FIRST + OTHERS; i++) {
        size_t words = size / 8 - HEAD_WORDS;
        size_t word = HEAD_WORDS + (i < FIRST ? i : random_below(&dice, (uint32_t)words));
        memcpy(copy, bytes, size);
        repair_checks(copy, word * 8);
        store_file(copy, word * 8);
        assert_false(is_from_file());
        const uint64_t values[] = {0, 1, UINT32_MAX, UINT64_MAX, UINT64_MAX / 8, size};
        uint64_t *at = (uint64_t *)(void *)copy + word;
        memcpy(copy, bytes, size);
        *at = i % 2 ? *at + 1 : values[random_below(&dice, 6)];
        bool same = memcmp(copy, bytes, size) == 0;
        repair_checks(copy, size);
        store_file(copy, size);
        bool taken = is_from_file();
        assert_true(!same || taken);
    }
}

/* With valid checksums otherwise, only a program of another version writes such a file. */
static void file_of_another_version(void **state) {
    (void)state;
    size_t size;
    AUTO_FREE uint8_t *bytes = make_file(&size);
    bytes[7]++;
    store_file(bytes, size);
    assert_false(is_from_file());
    assert_true(is_from_file());
}

static void file_of_another_trace(void **state) {
    (void)state;
    size_t size, trace_size;
    AUTO_FREE uint8_t *bytes = make_file(&size);
    AUTO_FREE uint8_t *trace = must_load(lab.path, &trace_size);
    must_store(lab.path, trace, trace_size); /* the same bytes, written later */
    assert_false(is_from_file());
    assert_true(is_from_file());
    store_file(bytes, size);
    assert_false(is_from_file());
}

static void file_that_others_may_write(void **state) {
    (void)state;
    size_t size;
    AUTO_FREE char *path = idx_path();
    AUTO_FREE uint8_t *bytes = make_file(&size);
    chmod(path, 0620);
    assert_false(is_from_file());
    assert_true(is_from_file());
}

static void file_of_another_user(void **state) {
    (void)state;
    size_t size;
    AUTO_FREE char *path = idx_path();
    AUTO_FREE uint8_t *bytes = make_file(&size);
    if (geteuid() != 0)
        skip();
    assert_int_equal(chown(path, 1234, 1234), 0);
    assert_false(is_from_file());
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_uid, 0);
    assert_true(is_from_file());
}

static void link_in_place_of_the_file(void **state) {
    (void)state;
    size_t size;
    AUTO_FREE char *path = idx_path();
    AUTO_FREE char *other = mem_printf("%s.other", lab.path);
    AUTO_FREE char *part = mem_printf("%s.part", path);
    AUTO_FREE uint8_t *bytes = make_file(&size);
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(symlink(other, path), 0);
    assert_int_equal(symlink(other, part), 0);
    assert_false(is_from_file());
    size_t same;
    AUTO_FREE uint8_t *found = must_load(other, &same);
    assert_int_equal(same, size);
    assert_memory_equal(found, bytes, size);
    unlink(part);
    unlink(other);
}

/* Root may write everywhere; a folder in which the name is taken is like one that is read-only. */
static void folder_that_is_read_only(void **state) {
    (void)state;
    AUTO_FREE char *path = idx_path();
    AUTO_FREE char *part = mem_printf("%s.part", path);
    AUTO_FREE char *cache = mem_printf("%s.cache", lab.path);
    AUTO_FREE char *remove = mem_printf("rm -rf '%s'", cache);
    assert_int_equal(mkdir(cache, 0700), 0);
    assert_int_equal(mkdir(part, 0700), 0);
    setenv("XDG_CACHE_HOME", cache, 1);
    run_all(&program);
    assert_false(is_from_file());
    assert_true(is_from_file());
    assert_int_equal(access(path, F_OK), -1);
    AUTO_FREE char *folder = mem_printf("%s/spoor/views", cache);
    struct stat st;
    assert_int_equal(stat(folder, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    chmod(folder, 0777); /* not to be trusted any more */
    assert_false(is_from_file());
    assert_int_equal(system(remove), 0);
    assert_false(is_from_file()); /* nothing can be kept: it works without */
    assert_int_equal(system(remove), 0);
    unsetenv("XDG_CACHE_HOME");
    rmdir(part);
}

static void traces_that_did_not_end(void **state) {
    (void)state;
    size_t size;
    AUTO_FREE char *path = idx_path();
    run_all(&program);
    lab_open(&lab, "");
    AUTO_FREE uint8_t *bytes = must_load(lab.path, &size);
    must_store(lab.path, bytes, size / 2);
    assert_false(is_from_file());
    assert_false(is_from_file());
    assert_int_equal(access(path, F_OK), -1);
}

static void one_process_writes(void **state) {
    (void)state;
    run_all(&program);
    lab_open(&lab, "");
    for (int i = 0; i < 8; i++)
        if (fork() == 0) {
            struct summary *s = start_kept();
            summary_free(s);
            _exit(0);
        }
    for (int status; wait(&status) > 0;)
        assert_int_equal(status, 0);
    assert_true(is_from_file());
}

static int tear_down_files(void **state) {
    AUTO_FREE char *path = idx_path();
    unlink(path);
    return tear_down(state);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down_files),
    const struct CMUnitTest tests[] = {TESTS};
#undef TEST
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", "/nonexistent", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
