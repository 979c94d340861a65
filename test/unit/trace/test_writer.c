/* The output file: its place, its readers while it grows, and write errors. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "support.h"

#define TESTS                                                                                      \
    TEST(part_file_until_finished)                                                                 \
    TEST(abandoned_part_is_readable)                                                               \
    TEST(removed_part_is_gone)                                                                     \
    TEST(reader_of_a_growing_part)                                                                 \
    TEST(directories_sockets_and_missing_folders)                                                  \
    TEST(part_that_is_no_file)                                                                     \
    TEST(part_of_another_spoor)                                                                    \
    TEST(unnamed_trace_stays_as_part)                                                              \
    TEST(symbolic_link_stays)                                                                      \
    TEST(devices_written_directly)                                                                 \
    TEST(full_disk)                                                                                \
    TEST(file_size_limit)                                                                          \
    TEST(pipe_without_a_reader)                                                                    \
    TEST(pipe_gets_all_bytes)                                                                      \
    TEST(ten_thousand_short_streams)                                                               \
    TEST(concurrent_streams_and_flushes)                                                           \
    TEST(function_table_of_several_blocks)                                                         \
    TEST(repeated_module_replaces_itself)                                                          \
    TEST(long_texts_cut)

static int setup(void **state) {
    *state = scratch_new();
    return 0;
}

static int teardown(void **state) {
    scratch_free(*state);
    return 0;
}

static void expect_open_fails(const char *path, int code, const char *tag) {
    static const struct trace_session session = {.version = "1", .arch = "x86_64"};
    struct trace_writer *w = NULL;
    struct err err = {0};
    assert_int_equal(trace_writer_open(path, &session, &w, &err), -code);
    assert_string_equal(err.tag, tag);
    assert_non_null(strstr(err.text, path));
    assert_null(w);
}

static bool exists(const char *path, const char *suffix) {
    AUTO_FREE char *full = mem_printf("%s%s", path, suffix);
    return !access(full, F_OK);
}

static void part_file_until_finished(void **state) {
    must_store(*state, "old", 3);
    struct trace_writer *w = must_open_writer(*state);
    assert_true(exists(*state, ".part"));
    size_t size;
    free(must_load(*state, &size));
    assert_int_equal(size, 3);
    must_finish(w);
    assert_false(exists(*state, ".part"));
    trace_reader_free(must_open_reader(*state));
}

static void abandoned_part_is_readable(void **state) {
    AUTO_FREE char *part = mem_printf("%s.part", (char *)*state);
    AUTO_FREE struct trace_event *events = generate(SHAPE_TREE, 150000, 1, 0);
    struct trace_writer *w = must_open_writer(*state);
    feed(w, 0, events, 150000);
    trace_writer_abandon(w);
    assert_false(exists(*state, ""));
    struct trace_reader *r = must_open_reader(part);
    assert_false(trace_reader_complete(r));
    assert_null(trace_reader_end(r));
    assert_non_null(strstr(trace_reader_warning(r), "is incomplete"));
    struct trace_counts counts = trace_reader_counts(r); /* whole blocks of 65 536 */
    assert_int_equal(counts.entries + counts.exits, 131072);
    trace_reader_free(r);
}

static void removed_part_is_gone(void **state) {
    struct trace_writer *w = must_open_writer(*state);
    trace_writer_remove(w);
    assert_false(exists(*state, ""));
    assert_false(exists(*state, ".part"));
}

static void reader_of_a_growing_part(void **state) {
    AUTO_FREE char *part = mem_printf("%s.part", (char *)*state);
    AUTO_FREE struct trace_event *events = generate(SHAPE_TREE, 3000, 1, 0);
    struct trace_writer *w = must_open_writer(*state);
    for (uint64_t i = 1; i <= 3; i++) {
        feed(w, 0, events + (i - 1) * 1000, 500);
        feed(w, 1, events + (i - 1) * 1000 + 500, 500);
        trace_writer_flush(w);
        trace_writer_sync(w);
        struct trace_reader *r = must_open_reader(part);
        struct trace_counts counts = trace_reader_counts(r);
        assert_int_equal(counts.entries + counts.exits, i * 1000);
        assert_int_equal(trace_reader_stream_count(r), 2);
        assert_non_null(strstr(trace_reader_warning(r), "is incomplete"));
        trace_reader_free(r);
    }
    must_finish(w);
}

static void directories_sockets_and_missing_folders(void **state) {
    AUTO_FREE char *missing = mem_printf("%s/none/t", (char *)*state);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    expect_open_fails(missing, ENOENT, "open");
    expect_open_fails("/tmp", EISDIR, "not-a-file");
    strncpy(address.sun_path, *state, sizeof address.sun_path - 1);
    AUTO_FD int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    expect_open_fails(*state, EINVAL, "not-a-file");
}

static void part_that_is_no_file(void **state) {
    AUTO_FREE char *part = mem_printf("%s.part", (char *)*state);
    assert_int_equal(mkfifo(part, 0600), 0);
    expect_open_fails(*state, ENXIO, "open");
    AUTO_FD int reader = open(part, O_RDONLY | O_NONBLOCK);
    expect_open_fails(*state, EINVAL, "not-a-file");
}

static void part_of_another_spoor(void **state) {
    struct trace_writer *w = must_open_writer(*state);
    expect_open_fails(*state, EBUSY, "open");
    must_finish(w);
    must_finish(must_open_writer(*state));
}

static void unnamed_trace_stays_as_part(void **state) {
    AUTO_FREE char *part = mem_printf("%s.part", (char *)*state);
    struct trace_end end = {0};
    struct err err;
    struct trace_writer *w = must_open_writer(*state);
    assert_int_equal(mkdir(*state, 0700), 0);
    assert_int_equal(trace_writer_finish(w, &end, NULL, &err), -EISDIR);
    assert_string_equal(err.tag, "rename");
    assert_int_equal(rmdir(*state), 0);
    struct trace_reader *r = must_open_reader(part);
    assert_true(trace_reader_complete(r));
    trace_reader_free(r);
}

static void symbolic_link_stays(void **state) {
    AUTO_FREE char *link = mem_printf("%s.link", (char *)*state);
    must_store(*state, "old", 3);
    assert_int_equal(symlink(*state, link), 0);
    must_finish(must_open_writer(link));
    struct stat st;
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    trace_reader_free(must_open_reader(*state));
    unlink(link);
}

static void devices_written_directly(void **state) {
    (void)state;
    struct trace_writer *w = must_open_writer("/dev/null");
    must_finish(w);
    assert_false(access("/dev/null.part", F_OK) == 0);
    assert_int_equal(access("/dev/null", F_OK), 0);
}

/* Feeds a failing W until the failure is known, and checks that the failure stays known. */
static void expect_failure(struct trace_writer *w, int code, uint64_t *ret_written) {
    enum { EVENTS = 200000 };
    AUTO_FREE struct trace_event *events = generate(SHAPE_NOISE, EVENTS, 3, 0);
    struct err err = {0};
    struct trace_totals totals;
    for (int i = 0; i < 6; i++)
        feed(w, 0, events, EVENTS);
    trace_writer_sync(w);
    assert_int_equal(trace_writer_error(w, &err), -code);
    assert_string_equal(err.tag, "write");
    feed(w, 1, events, EVENTS); /* does not block, and is dropped */
    trace_writer_lost(w, 1, 0, 5);
    trace_writer_thread_end(w, 1, 0);
    struct trace_end end = {0};
    assert_int_equal(trace_writer_finish(w, &end, &totals, &err), -code);
    assert_string_equal(err.tag, "write");
    assert_int_equal(totals.entries + totals.exits + totals.lost, 7 * EVENTS + 5);
    assert_true(totals.lost > EVENTS);
    *ret_written = totals.entries + totals.exits;
}

static void full_disk(void **state) {
    (void)state;
    uint64_t written;
    expect_failure(must_open_writer("/dev/full"), ENOSPC, &written);
    assert_int_equal(written, 0);
}

static void file_size_limit(void **state) {
    AUTO_FREE char *part = mem_printf("%s.part", (char *)*state);
    struct rlimit old, limit;
    uint64_t written;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    limit = (struct rlimit){2000000, old.rlim_max};
    struct trace_writer *w = must_open_writer(*state);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    expect_failure(w, EFBIG, &written);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_false(exists(*state, ""));
    struct trace_reader *r = must_open_reader(part);
    struct trace_counts counts = trace_reader_counts(r);
    assert_int_equal(counts.entries + counts.exits, written);
    assert_true(written > 65536);
    trace_reader_free(r);
    assert_true(walk_trace(part) == written);
}

static void pipe_without_a_reader(void **state) {
    assert_int_equal(mkfifo(*state, 0600), 0);
    int reader = open(*state, O_RDONLY | O_NONBLOCK);
    struct trace_writer *w = must_open_writer(*state);
    close(reader);
    uint64_t written;
    expect_failure(w, EPIPE, &written);
    assert_int_equal(written, 0);
}

static void *drain(void *arg) {
    static uint8_t buffer[65536];
    size_t *total = arg;
    int fd = (int)*total;
    *total = 0;
    for (ssize_t n; (n = read(fd, buffer, 4096)) > 0;)
        *total += (size_t)n;
    return NULL;
}

static void pipe_gets_all_bytes(void **state) {
    enum { EVENTS = 300000 };
    AUTO_FREE struct trace_event *events = generate(SHAPE_TREE, EVENTS, 3, 0);
    struct trace_totals totals;
    struct trace_end end = {0};
    pthread_t thread;
    assert_int_equal(mkfifo(*state, 0600), 0);
    AUTO_FD int fd = open(*state, O_RDONLY | O_NONBLOCK);
    size_t read_bytes = (size_t)fd;
    struct trace_writer *w = must_open_writer(*state);
    assert_int_equal(fcntl(fd, F_SETFL, 0), 0);
    assert_int_equal(pthread_create(&thread, NULL, drain, &read_bytes), 0);
    feed(w, 0, events, EVENTS);
    assert_int_equal(trace_writer_finish(w, &end, &totals, NULL), 0);
    pthread_join(thread, NULL);
    assert_int_equal(read_bytes, totals.bytes);
    assert_int_equal(totals.lost, 0);
}

static void ten_thousand_short_streams(void **state) {
    enum { STREAMS = 10000 };
    AUTO_FREE struct trace_event *events = generate(SHAPE_TREE, 40, 3, 0);
    struct trace_writer *w = must_open_writer(*state);
    for (uint32_t i = 0; i < STREAMS; i++) {
        trace_writer_thread(w, &(struct trace_thread){.stream = i, .pid = 1, .tid = i});
        trace_writer_events(w, i, events, 40);
        trace_writer_thread_end(w, i, events[39].ticks);
    }
    must_finish(w);
    struct trace_reader *r = must_open_reader(*state);
    assert_int_equal(trace_reader_stream_count(r), STREAMS);
    assert_int_equal(trace_reader_thread(r, 9999)->tid, 9999);
    assert_in_range(trace_reader_file_bytes(r), STREAMS, STREAMS * 512);
    trace_reader_free(r);
    assert_int_equal(walk_trace(*state), STREAMS * 41);
}

struct feeder {
    struct trace_writer *w;
    uint32_t stream;
};

static void *feed_stream(void *arg) {
    const struct feeder *f = arg;
    AUTO_FREE struct trace_event *events = generate(SHAPE_TREE, 20000, f->stream, 0);
    for (size_t i = 0; i < 20000; i += 1000) {
        trace_writer_events(f->w, f->stream, events + i, 1000);
        trace_writer_clock(f->w, &(struct trace_clock){i, i});
        if (f->stream == 2)
            trace_writer_flush(f->w);
    }
    return NULL;
}

static void concurrent_streams_and_flushes(void **state) {
    pthread_t threads[4];
    struct feeder feeders[4];
    struct trace_writer *w = must_open_writer(*state);
    for (uint32_t i = 0; i < 4; i++) {
        feeders[i] = (struct feeder){w, i};
        assert_int_equal(pthread_create(&threads[i], NULL, feed_stream, &feeders[i]), 0);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    struct trace_totals totals = trace_writer_totals(w);
    assert_int_equal(totals.entries + totals.exits, 80000);
    must_finish(w);
    assert_int_equal(walk_trace(*state), 80000);
}

static void function_table_of_several_blocks(void **state) {
    enum { FUNCTIONS = 60000 };
    AUTO_FREE struct trace_function *functions = mem_alloc(FUNCTIONS * sizeof *functions);
    AUTO_FREE char *names = mem_alloc(FUNCTIONS * 64);
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        snprintf(names + i * 64, 64, "_ZN5spoor4test8functionILi%uEEEvv.constprop.0", i);
        functions[i] =
            (struct trace_function){.address = i * 48, .size = 40, .name = names + i * 64};
    }
    struct trace_module m = {.first_id = 5, .functions = functions, .function_count = FUNCTIONS};
    const struct trace_module *module;
    const struct trace_function *f;
    struct trace_writer *w = must_open_writer(*state);
    trace_writer_module(w, &m);
    must_finish(w);
    struct trace_reader *r = must_open_reader(*state);
    assert_null(trace_reader_warning(r));
    for (uint32_t i = 0; i < FUNCTIONS; i += 7) {
        assert_true(trace_reader_function(r, 5 + i, &module, &f));
        assert_string_equal(f->name, functions[i].name);
        assert_int_equal(f->address, functions[i].address);
    }
    trace_reader_free(r);
}

static void repeated_module_replaces_itself(void **state) {
    struct trace_function functions[] = {{.address = 16, .size = 8, .name = "f"},
                                         {.address = 32, .size = 8, .name = "g"}};
    struct trace_refused refused = {"short-window", 3};
    struct trace_module m = {.first_id = 5,
                             .name = "m",
                             .seen = 2,
                             .instrumented = 1,
                             .functions = functions,
                             .function_count = 2,
                             .refused = &refused,
                             .refused_count = 1};
    const struct trace_module *module;
    const struct trace_function *f;
    struct trace_writer *w = must_open_writer(*state);
    trace_writer_module(w, &m);
    trace_writer_module(w, &(struct trace_module){.first_id = 7, .name = "empty"});
    m.instrumented = 2;
    functions[1].instrumented = true;
    functions[1].name = "h";
    trace_writer_module(w, &m);
    must_finish(w);
    struct trace_reader *r = must_open_reader(*state);
    assert_null(trace_reader_warning(r));
    assert_int_equal(trace_reader_module_count(r), 2);
    assert_int_equal(trace_reader_module(r, 0)->instrumented, 2);
    assert_int_equal(trace_reader_module(r, 0)->function_count, 2);
    assert_true(trace_reader_function(r, 6, &module, &f));
    assert_string_equal(f->name, "h");
    assert_true(f->instrumented);
    trace_reader_free(r);
}

static void long_texts_cut(void **state) {
    enum { LONG = 3 * 1024 * 1024 };
    AUTO_FREE char *text = mem_alloc(LONG + 1);
    memset(text, 'x', LONG);
    const char *command[] = {text, text, text, text, text, NULL};
    struct trace_session session = {.version = text, .arch = text, .command = command};
    struct trace_function functions[8];
    for (int i = 0; i < 8; i++)
        functions[i] = (struct trace_function){.name = text, .aliases = text};
    struct trace_module module = {
        .path = text, .name = text, .functions = functions, .function_count = 8};
    struct trace_writer *w;
    assert_int_equal(trace_writer_open(*state, &session, &w, NULL), 0);
    trace_writer_module(w, &module);
    must_finish(w);
    struct trace_reader *r = must_open_reader(*state);
    assert_null(trace_reader_warning(r));
    assert_int_equal(trace_reader_module(r, 0)->function_count, 8);
    assert_int_equal(strlen(trace_reader_module(r, 0)->functions[7].name), 512 * 1024);
    trace_reader_free(r);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
