/*
 * Drains a ring that is full of events into a trace, for cost.py, which counts the instructions:
 *
 *     drain SHAPE EVENTS TRACE
 *
 * SHAPE is a name of generate.h; EVENTS is a power of two. Counting begins when the ring is full.
 * SHAPE-values: each entry has values, so that there are as many slots as else events.
 */
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

#include "../unit/trace/generate.h"
#include "arch/clock.h"
#include "base/clock.h"
#include "base/mem.h"
#include "ring/drain.h"

enum { FUNCTIONS = 512, SECOND_NS = 1000000000, TEXT_WORDS = 2 };

static void fail(const struct err *err) {
    fprintf(stderr, "drain: %s\n", err->text);
    exit(1);
}

static struct trace_writer *open_trace(const char *path) {
    static const char *const command[] = {"generated", NULL};
    const struct trace_session session = {.version = "0", .arch = "x86_64", .command = command};
    struct trace_writer *w;
    struct err err = {0};
    if (trace_writer_open(path, &session, &w, &err))
        fail(&err);
    trace_writer_clock(w, &(struct trace_clock){clock_ticks(), clock_monotonic_ns()});
    return w;
}

/* One module with a function for each id that is generated. */
static void write_module(struct trace_writer *w, uint32_t pid) {
    static struct trace_function functions[FUNCTIONS];
    static char names[FUNCTIONS][16];
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        snprintf(names[i], sizeof names[i], "function_%u", i);
        functions[i] = (struct trace_function){.address = 0x1000 + i * 64,
                                               .size = 64,
                                               .name = names[i],
                                               .instrumented = true,
                                               .exact = true};
    }
    const struct trace_module m = {.path = "/generated",
                                   .name = "generated",
                                   .functions = functions,
                                   .function_count = FUNCTIONS,
                                   .seen = FUNCTIONS,
                                   .instrumented = FUNCTIONS,
                                   .exact_exit = FUNCTIONS};
    trace_writer_module(w, &m);
    trace_writer_map(w, &(struct trace_map){.pid = pid, .bias = 0x400000});
}

static struct slab *open_slab(uint32_t ring_bytes) {
    uint32_t lanes = slab_lane_count(ring_bytes, 1);
    size_t size = slab_bytes(ring_bytes, lanes);
    int fd = memfd_create("lanes", MFD_CLOEXEC);
    struct slab *slab = NULL;
    if (fd >= 0 && ftruncate(fd, (off_t)size) == 0)
        slab = slab_new(fd, 0x10000, ring_bytes, lanes);
    if (!slab) {
        perror("drain");
        exit(1);
    }
    close(fd);
    return slab;
}

/* Each entry has an integer, a pointer and a text. */
static struct captures *make_captures(void) {
    enum { NO_LENGTH = -1, TEXT_BYTES = 16 };
    struct captures *all = captures_new();
    struct capture_value values[] = {
        {.from = FROM_REGISTER, .bytes = 4, .name = "n", .length_of = NO_LENGTH},
        {.from = FROM_REGISTER, .bytes = 8, .name = "p", .length_of = NO_LENGTH},
        {.from = FROM_REGISTER,
         .string = true,
         .unit = 1,
         .most = TEXT_BYTES,
         .name = "s",
         .length_of = NO_LENGTH}};
    for (uint32_t id = 0; id < FUNCTIONS; id++)
        captures_add(all, id, &(struct capture){.function = id, .values = values, .count = 3},
                     NULL);
    return all;
}

/* Where a thread writes. */
struct pen {
    struct event *ring;
    size_t at, room; /* slots */
    uint64_t ticks;
};

static void put(struct pen *pen, uint32_t site, uint64_t value) {
    pen->ring[pen->at++ % pen->room] = event_make(pen->ticks, site, value);
}

static void put_word(struct pen *pen, uint32_t number, uint64_t word) {
    pen->ring[pen->at++ % pen->room] = event_of_word(pen->ticks, number, word);
}

static void put_values(struct pen *pen, uint32_t function, size_t number) {
    char text[TEXT_WORDS * CAPTURE_TEXT_BYTES] = {0};
    uint64_t word;
    snprintf(text, sizeof text, "text %zu", number % 1000);
    put(pen, (uint32_t)CAPTURE_BEGIN << 2 | EVENT_CONTROL, function);
    put_word(pen, 0, number);
    put_word(pen, 1, 0x7ffd12345000 + number % 64 * 8);
    for (uint32_t i = 0; i < TEXT_WORDS; i++) {
        memcpy(&word, text + (size_t)i * CAPTURE_TEXT_BYTES, sizeof word);
        put_word(pen, 2 + i, word);
    }
}

/* Fills the ring of COUNT slots, as its thread would. */
static void fill(struct lane_handle *handle, const struct trace_event *events, size_t count) {
    enum { MOST = TEXT_WORDS + 4 }; /* slots of an event */
    struct pen pen = {(struct event *)((uint8_t *)handle->lane + LANE_RING),
                      handle->lane->head / EVENT_BYTES, count, 0};
    const uint64_t begin = clock_ticks() - events[0].ticks;
    const size_t first = pen.at, most = handle->values.captures ? MOST : 1;
    for (size_t i = 0; i < count && pen.at - first + most <= count; i++) {
        pen.ticks = begin + events[i].ticks;
        if (handle->values.captures && (events[i].site & 3) == EVENT_ENTRY)
            put_values(&pen, events[i].site >> 2, i);
        put(&pen, events[i].site, events[i].sp);
    }
    handle->lane->head = pen.at * EVENT_BYTES;
}

static enum shape shape_named(const char *name, bool *ret_values) {
    const size_t length = strcspn(name, "-");
    *ret_values = strcmp(name + length, "-values") == 0;
    for (enum shape shape = 0; shape < SHAPE_COUNT; shape++)
        if (strlen(shape_name(shape)) == length && strncmp(name, shape_name(shape), length) == 0)
            return shape;
    fprintf(stderr, "drain: %s: no such shape\n", name);
    exit(2);
}

static void drain(struct trace_writer *w, struct lane_handle *handle) {
    const struct drain_options options = {
        .writer = w, .overflow = OVERFLOW_WAIT, .hook_event = eventfd(0, EFD_NONBLOCK)};
    struct trace_totals totals = {0};
    const struct trace_end end = {.ticks = clock_ticks()};
    struct drain *d;
    struct err err = {0};
    if (drain_start(&options, &d, &err))
        fail(&err);
    drain_add(d, handle);
    drain_close(d, handle, clock_ticks());
    drain_finish(d);
    if (trace_writer_finish(w, &end, &totals, &err))
        fail(&err);
    printf("%lu events, %lu lost, %lu bytes\n", totals.entries + totals.exits, totals.lost,
           totals.bytes);
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    bool has_values;
    enum shape shape = shape_named(argv[1], &has_values);
    size_t count = strtoul(argv[2], NULL, 10);
    AUTO_FREE struct trace_event *events = generate(shape, count, 1, 0);
    const struct trace_thread thread = {.pid = 1,
                                        .tid = 1,
                                        .start = clock_ticks(),
                                        .stack_low = 0x7ffd00000000,
                                        .stack_high = 0x7ffe00000000,
                                        .name = "generated"};
    struct trace_writer *w = open_trace(argv[3]);
    trace_writer_process(w, &(struct trace_process){.pid = 1, .command = "generated"});
    write_module(w, 1);
    trace_writer_thread(w, &thread);
    struct slab *slab = open_slab((uint32_t)(count * EVENT_BYTES));
    struct lane_handle *handle = slab_take(slab, 0, false);
    lane_handle_assign(handle, &thread);
    struct captures *captures = has_values ? make_captures() : NULL;
    handle->values.captures = captures;
    fill(handle, events, count);
    clock_sleep_ns(SECOND_NS / 2); /* the last event must have happened */
    CALLGRIND_ZERO_STATS;
    drain(w, handle);
    slab_unref(slab);
    slabs_reap();
    captures_free(captures);
    return 0;
}
