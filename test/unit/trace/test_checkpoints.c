/*
 * A checkpoint has the calls that are open where its block begins, as they are after reading the
 * stream from its beginning: of random calls with exceptions, jumps, missing exits, tail calls,
 * pauses, chains and records of frames.
 */
#include "support.h"

#include "random_calls.h"
#include "trace/calls.h"

enum { BLOCKS = 40 };

static void write_trace(const char *path, struct random_calls *threads, uint32_t count) {
    struct trace_writer *w = must_open_writer(path);
    for (uint32_t i = 0; i < count; i++) {
        struct trace_thread thread = {.stream = i,
                                      .pid = 1,
                                      .tid = i,
                                      .stack_low = RANDOM_STACK_LOW,
                                      .stack_high = RANDOM_STACK_HIGH,
                                      .name = "t"};
        threads[i].w = w;
        trace_writer_thread(w, &thread);
    }
    for (int block = 0; block < BLOCKS; block++) {
        for (uint32_t i = 0; i < count; i++)
            for (uint32_t n = 2000 + random_below(&threads[i].random, 40000); n; n--)
                random_calls_step(&threads[i]);
        trace_writer_flush(w);
    }
    must_finish(w);
}

/* ---- comparing ---- */

struct compared {
    struct trace_checkpoint at;
    uint32_t next;
};

static void compare(void *ctx, struct call *call, struct call *parent, uint64_t paused) {
    struct compared *c = ctx;
    (void)parent;
    (void)paused;
    assert_true(c->next < c->at.count);
    const struct trace_open_call *open = &c->at.calls[c->next++];
    assert_int_equal(open->sp, call->sp);
    assert_int_equal(open->id, call->id);
    assert_int_equal(open->start, call->start);
    assert_int_equal(open->chain, call->chain);
    assert_int_equal(open->before, call->before);
    assert_int_equal(open->child_ticks, call->child_ticks);
}

/* Of frames whose time lies between two blocks. */
static void take(struct calls *calls, const struct trace_item *item) {
    if (item->kind == TRACE_FRAMES)
        calls_frames(calls, item->ticks, item->frames);
    else if (item->event == EVENT_CONTROL && is_pause_event(item->id) && item->id & PAUSE_IN_CALL)
        return;
    else if (item->event == EVENT_CONTROL && is_pause_event(item->id))
        calls_pause(calls, item->ticks, item->sp);
    else
        calls_event(calls, item->ticks, item->id, item->event, item->sp);
}

/* Returns how many blocks have checkpoints. */
static size_t check_stream(struct trace_reader *r, uint32_t stream) {
    struct compared c = {0};
    struct calls *calls = calls_new(trace_reader_thread(r, stream), &(struct calls_ops){0}, &c);
    struct trace_seeker *s = trace_seeker_new(r);
    struct trace_cursor *cursor;
    const struct trace_item *items;
    struct err err;
    size_t found = 0, block = trace_reader_first_block(r, stream);
    size_t end = trace_reader_end_block(r, stream);
    uint32_t left = 0; /* items of the block */
    bool compared = false;
    assert_int_equal(trace_cursor_open(r, stream, &cursor, &err), 0);
    for (ptrdiff_t n; (n = trace_cursor_batch(cursor, &items, &err)) > 0;)
        for (ptrdiff_t i = 0; i < n; i++) {
            c.next = 0;
            if (!left && !compared && block < end && trace_seeker_at(s, stream, block, &c.at)) {
                found++;
                calls_each_open(calls, compare);
                assert_int_equal(c.next, c.at.count);
            }
            compared = items[i].kind == TRACE_FRAMES; /* these may come before the block */
            if (items[i].kind != TRACE_FRAMES && !left)
                left = trace_reader_block(r, block++).items;
            left -= items[i].kind != TRACE_FRAMES;
            take(calls, &items[i]);
        }
    assert_int_equal(block, end);
    trace_cursor_free(cursor);
    trace_seeker_free(s);
    calls_free(calls);
    return found;
}

static void checkpoints_have_what_is_open(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        char *path = scratch_new();
        struct random_calls *threads = mem_alloc(4 * sizeof *threads);
        for (uint32_t i = 0; i < 4; i++)
            threads[i] = (struct random_calls){.stream = i,
                                               .random = seed * 64 + i + 1,
                                               .ticks = 1000,
                                               .enters = 60000,
                                               .shallow = 100,
                                               .chains = i == 1,
                                               .pauses = i != 0,
                                               .frames = i == 2,
                                               .large = i == 3};
        write_trace(path, threads, 4);
        struct trace_reader *r = must_open_reader(path);
        for (uint32_t i = 0; i < 4; i++) {
            assert_true(check_stream(r, i) >= (i < 3 ? 10 : 1)); /* large frames: inner stacks */
        }
        trace_reader_free(r);
        scratch_free(path);
        free(threads);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(checkpoints_have_what_is_open)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
