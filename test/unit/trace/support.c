/* Opens, writes, reads and walks scratch traces; each failure fails the test. */
#include "support.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *scratch_new(void) {
    const char *top = getenv("TMPDIR");
    AUTO_FREE char *dir = mem_printf("%s/spoor-trace-XXXXXX", top ? top : "/tmp");
    assert_non_null(mkdtemp(dir));
    return mem_printf("%s/t", dir);
}

void scratch_free(char *path) {
    AUTO_FREE char *part = mem_printf("%s.part", path);
    unlink(path);
    unlink(part);
    *strrchr(path, '/') = 0;
    rmdir(path);
    free(path);
}

struct trace_writer *must_open_writer(const char *path) {
    return must_open_limited(path, 0, 0);
}

struct trace_writer *must_open_limited(const char *path, uint32_t depth, uint64_t threshold_ns) {
    static const char *const command[] = {"prog", "--flag", "ünï", NULL};
    struct trace_session session = {.version = "1.2",
                                    .arch = "x86_64",
                                    .command = command,
                                    .start_unix_ns = 1234567890123,
                                    .depth = depth,
                                    .threshold_ns = threshold_ns};
    struct trace_writer *w = NULL;
    struct err err = {0};
    if (trace_writer_open(path, &session, &w, &err))
        fail_msg("%s: %s", err.tag, err.text);
    return w;
}

void must_finish(struct trace_writer *w) {
    struct trace_end end = {
        .status = 3, .ticks = 99, .lost = 7, .withdrawn_reads = 300, .withdrawn_functions = 2};
    struct err err = {0};
    if (trace_writer_finish(w, &end, NULL, &err))
        fail_msg("%s: %s", err.tag, err.text);
}

struct trace_reader *must_open_reader(const char *path) {
    struct trace_reader *r = NULL;
    struct err err = {0};
    if (trace_reader_open(path, &r, &err))
        fail_msg("%s: %s", err.tag, err.text);
    return r;
}

uint8_t *must_load(const char *path, size_t *ret_size) {
    FILE *f = fopen(path, "rb");
    struct stat st;
    assert_non_null(f);
    assert_int_equal(fstat(fileno(f), &st), 0);
    uint8_t *bytes = mem_alloc((size_t)st.st_size);
    assert_int_equal(fread(bytes, 1, (size_t)st.st_size, f), st.st_size);
    fclose(f);
    *ret_size = (size_t)st.st_size;
    return bytes;
}

void must_store(const char *path, const void *bytes, size_t size) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

void feed(struct trace_writer *w, uint32_t stream, const struct trace_event *events, size_t count) {
    uint64_t random = count + 1;
    while (count) {
        size_t n = 1 + random_below(&random, 2000);
        if (n > count)
            n = count;
        trace_writer_events(w, stream, events, n);
        events += n;
        count -= n;
    }
}

static void write_modules(struct trace_writer *w) {
    static const struct trace_function functions[] = {
        {.address = 0x1000, .size = 16, .name = "main", .entry_tier = 2, .instrumented = true},
        {.address = 0x1010, .size = 99, .name = "_Zed", .aliases = "a\nb", .exact = true},
        {.address = 0xfff, .size = 1, .entry_tier = 5},
    };
    static const struct trace_refused refused[] = {{"short-window", 2}, {"own-convention", 1}};
    struct trace_module m = {.first_id = 10,
                             .path = "/usr/bin/prog",
                             .name = "prog",
                             .build_id = {1, 2, 3, 255},
                             .build_id_size = 4,
                             .functions = functions,
                             .function_count = 3,
                             .seen = 3,
                             .instrumented = 2,
                             .exact_exit = 1,
                             .tiers = {1, 2, 3, 4, 5, 6},
                             .exit_tiers = {6, 5, 4, 3, 2, 1},
                             .refused = refused,
                             .refused_count = 2};
    trace_writer_module(w, &m);
    m.first_id = 13;
    m.function_count = 0;
    m.name = "empty.so";
    trace_writer_module(w, &m);
    m.function_count = 1;
    m.name = "lib.so";
    trace_writer_module(w, &m);
    trace_writer_map(w, &(struct trace_map){5, 10, 0x555500000000, 40});
    trace_writer_map(w, &(struct trace_map){5, 13, (uint64_t)-4096, 41});
}

void write_small_trace(const char *path) {
    struct trace_writer *w = must_open_writer(path);
    trace_writer_clock(w, &(struct trace_clock){1000000, 5000});
    trace_writer_process(w, &(struct trace_process){5, 0, 30, "prog"});
    trace_writer_process(w, &(struct trace_process){6, 5, 35, "child"});
    write_modules(w);
    for (uint32_t i = 0; i < 3; i++) {
        struct trace_thread t = {.stream = i,
                                 .pid = 5,
                                 .tid = 5 + i,
                                 .start = 50,
                                 .stack_low = 0x7fff0000,
                                 .stack_high = 0x7fff8000,
                                 .name = i ? "worker" : "main"};
        AUTO_FREE struct trace_event *events = generate((enum shape)i, 300, i, 10);
        trace_writer_thread(w, &t);
        feed(w, i, events, 200);
        trace_writer_flush(w);
        trace_writer_lost(w, i, 0, 17 + i);
        feed(w, i, events + 200, 100);
    }
    trace_writer_thread_end(w, 1, 20000000);
    trace_writer_clock(w, &(struct trace_clock){3000000, 1005000});
    must_finish(w);
}

static size_t walk_cursor(struct trace_reader *r, uint32_t stream) {
    struct trace_cursor *c;
    struct trace_item item;
    struct err err;
    size_t n = 0;
    assert_int_equal(trace_cursor_open(r, stream, &c, &err), 0);
    for (int rc; (rc = trace_cursor_next(c, &item, &err));) {
        if (rc < 0)
            assert_string_equal(err.tag, "corrupt-block");
        else
            assert_int_equal(item.stream, stream);
        n += rc > 0;
    }
    trace_cursor_free(c);
    return n;
}

static size_t walk_merge(struct trace_reader *r) {
    struct trace_merge *m;
    struct trace_item item;
    const struct trace_module *module;
    const struct trace_function *function;
    size_t n = 0;
    assert_int_equal(trace_merge_open(r, &m, NULL), 0);
    for (int rc; (rc = trace_merge_next(m, &item, NULL));) {
        if (rc > 0 && trace_reader_function(r, item.id, &module, &function) && function->name)
            n += strlen(function->name) == SIZE_MAX;
        n += rc > 0;
    }
    trace_merge_free(m);
    return n;
}

size_t walk_trace(const char *path) {
    struct trace_reader *r;
    struct err err = {0};
    if (trace_reader_open(path, &r, &err)) {
        assert_true(err.tag[0] && err.text[0]);
        return 0;
    }
    size_t n = 0, texts = 0;
    for (size_t i = 0; i < trace_reader_process_count(r); i++)
        texts += strlen(trace_reader_process(r, i)->command);
    for (size_t i = 0; i < trace_reader_module_count(r); i++)
        texts += strlen(trace_reader_module(r, i)->name);
    for (const char *const *arg = trace_reader_session(r)->command; *arg; arg++)
        texts += strlen(*arg);
    for (uint32_t i = 0; i < trace_reader_stream_count(r); i++) {
        texts += strlen(trace_reader_thread(r, i)->name);
        n += walk_cursor(r, i);
    }
    assert_true(trace_reader_ns(r, trace_reader_duration_ns(r)) + texts != SIZE_MAX);
    assert_int_equal(walk_merge(r), n);
    trace_reader_free(r);
    return n;
}

struct block *block_of(enum disk_type type, size_t size) {
    struct block *block = block_new(type);
    for (size_t i = 0; i < size; i++) {
        const uint8_t byte = (uint8_t)(i >> 6);
        bytes_put(&block->parts[i % BLOCK_PARTS], &byte, 1);
    }
    return block;
}
