/* The memory that reading takes does not depend on the length of the trace. */
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

#define TESTS TEST(one_block_per_stream_in_memory)

#ifdef __SANITIZE_ADDRESS__
size_t __sanitizer_get_current_allocated_bytes(void);
static size_t allocated(void) { return __sanitizer_get_current_allocated_bytes(); }
#else
static size_t allocated(void) {
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}
#endif

enum { STREAMS = 3, PIECE = 66000 };

static void write_trace(const char *path, unsigned pieces) {
    AUTO_FREE struct trace_event *events = generate(SHAPE_TREE, PIECE, 1, 0);
    struct trace_writer *w = must_open_writer(path);
    uint64_t lap = events[PIECE - 1].ticks;
    for (unsigned i = 0; i < pieces; i++) {
        for (uint32_t stream = 0; stream < STREAMS; stream++)
            trace_writer_events(w, stream, events, PIECE);
        for (size_t k = 0; k < PIECE; k++)
            events[k].ticks += lap;
    }
    must_finish(w);
}

/* In another process: the writer's threads give memory back whenever they come to it. */
static void must_write_trace(const char *path, unsigned pieces) {
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        write_trace(path, pieces);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* The most memory that a cursor or merge holds while it reads the trace. */
static size_t peak_of_cursor(struct trace_reader *r) {
    size_t before = allocated(), peak = 0;
    struct trace_cursor *c;
    const struct trace_item *items;
    assert_int_equal(trace_cursor_open(r, 0, &c, NULL), 0);
    while (trace_cursor_batch(c, &items, NULL) > 0)
        peak = allocated() - before > peak ? allocated() - before : peak;
    trace_cursor_free(c);
    return peak;
}

static size_t peak_of_merge(struct trace_reader *r) {
    size_t before = allocated(), peak = 0, n = 0;
    struct trace_merge *m;
    struct trace_item item;
    assert_int_equal(trace_merge_open(r, &m, NULL), 0);
    while (trace_merge_next(m, &item, NULL) > 0)
        if (n++ % 1000 == 0)
            peak = allocated() - before > peak ? allocated() - before : peak;
    trace_merge_free(m);
    return peak;
}

static void one_block_per_stream_in_memory(void **state) {
    (void)state;
    char *path = scratch_new();
    size_t cursor[2], merge[2];
    for (int i = 0; i < 2; i++) {
        must_write_trace(path, i ? 24 : 2);
        struct trace_reader *r = must_open_reader(path);
        cursor[i] = peak_of_cursor(r);
        merge[i] = peak_of_merge(r);
        trace_reader_free(r);
    }
    scratch_free(path);
    assert_in_range(cursor[0], 1, 1024 * 1024);
    assert_in_range(cursor[1], 1, cursor[0] * 5 / 4);
    assert_in_range(merge[0], 1, STREAMS * 1024 * 1024);
    assert_in_range(merge[1], 1, merge[0] * 5 / 4);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
