/*
 * Bytes and nanoseconds an event, for each shape of stream:
 *
 *     bench-trace [EVENTS [FILE]]
 *
 * encode: the caller's thread alone, without compression; write: through the whole writer, as the
 * clock on the wall sees it; batch: trace_cursor_batch() over all of it; calls: calls_event()
 * alone.
 */
#include <stdio.h>
#include <time.h>

#include "base/mem.h"
#include "generate.h"
#include "trace/calls.h"
#include "trace/encode.h"
#include "trace/reader.h"
#include "trace/writer.h"

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

enum { CHUNK = 4096 };

static double encode_ns(const struct trace_event *events, size_t count) {
    double start = now_ns();
    struct encoder *e = encoder_new(0, 0);
    for (size_t done = 0; done < count;) {
        size_t n = count - done < CHUNK ? count - done : CHUNK;
        done += encoder_events(e, events + done, n);
        if (encoder_full(e))
            block_free(encoder_take(e, 0));
    }
    encoder_free(e);
    return now_ns() - start;
}

static double write_ns(const char *path, const struct trace_event *events, size_t count,
                       struct trace_totals *totals) {
    double start = now_ns();
    struct err err;
    struct trace_writer *w;
    struct trace_session session = {.version = "1", .arch = "x86_64"};
    struct trace_end end = {0};
    if (trace_writer_open(path, &session, &w, &err)) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    for (size_t done = 0; done < count; done += CHUNK)
        trace_writer_events(w, 0, events + done, count - done < CHUNK ? count - done : CHUNK);
    if (trace_writer_finish(w, &end, totals, &err)) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    return now_ns() - start;
}

static double batch_ns(const char *path) {
    double start = now_ns();
    struct trace_reader *r;
    struct trace_cursor *c;
    const struct trace_item *items;
    uint64_t sum = 0;
    if (trace_reader_open(path, &r, NULL) || trace_cursor_open(r, 0, &c, NULL))
        exit(1);
    for (ptrdiff_t n; (n = trace_cursor_batch(c, &items, NULL)) > 0;)
        sum += items[n - 1].ticks;
    trace_cursor_free(c);
    trace_reader_free(r);
    return sum ? now_ns() - start : 0;
}

static void count_call(void *ctx, struct call *call, struct call *parent) {
    (void)call, (void)parent;
    ++*(uint64_t *)ctx;
}

static double calls_ns(const struct trace_event *events, size_t count) {
    static const struct calls_ops ops = {.on_open = count_call, .on_close = count_call};
    struct trace_thread thread = {.stack_low = 0xff000000, .stack_high = 0xfffff000};
    uint64_t sum = 0;
    struct calls *c = calls_new(&thread, &ops, &sum);
    double start = now_ns();
    for (size_t i = 0; i < count; i++)
        calls_event(c, events[i].ticks, events[i].site >> 2, events[i].site & 3, events[i].sp);
    double end = now_ns();
    calls_free(c);
    return end - start;
}

static double least(double a, double b) { return a < b ? a : b; }

int main(int argc, char **argv) {
    size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 4000000;
    const char *path = argc > 2 ? argv[2] : "/tmp/bench.trace";
    printf("%-12s %12s %12s %12s %12s %12s\n", "shape", "bytes/event", "encode ns", "write ns",
           "batch ns", "calls ns");
    for (enum shape shape = 0; shape < SHAPE_COUNT; shape++) {
        struct trace_event *events = generate(shape, count, 1, 0);
        double encode = 1e99, writing = 1e99, batch = 1e99, calls = 1e99;
        struct trace_totals totals = {0};
        for (int i = 0; i < 3; i++) {
            encode = least(encode, encode_ns(events, count));
            writing = least(writing, write_ns(path, events, count, &totals));
            batch = least(batch, batch_ns(path));
            calls = least(calls, calls_ns(events, count));
        }
        double n = (double)count;
        printf("%-12s %12.2f %12.1f %12.1f %12.1f %12.1f\n", shape_name(shape),
               (double)totals.bytes / n, encode / n, writing / n, batch / n, calls / n);
        free(events);
    }
    remove(path);
}
