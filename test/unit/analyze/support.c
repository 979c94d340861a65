/* Writes the small trace event by event, and opens it with the options of a view. */
#include "support.h"

#include <string.h>

#include "../trace/support.h"

static const struct trace_function prog[] = {
    {.address = 0x1000, .size = 16, .name = "main", .instrumented = true},
    {.address = 0x1010, .size = 16, .name = "fib", .instrumented = true},
    {.address = 0x1020, .size = 16, .name = "leaf", .instrumented = true},
    {.address = 0x1030, .size = 16, .instrumented = true},
};
static const struct trace_function libdraw[] = {
    {.address = 0x2000, .size = 16, .name = "_ZN2ns4drawEi", .instrumented = true},
    {.address = 0x2010,
     .size = 16,
     .name = "_ZN2ns5ShapeC1Ei",
     .aliases = "_ZN2ns5ShapeC2Ei\nmake_shape\nmake_shape",
     .instrumented = true},
    {.address = 0x2020, .size = 16, .name = "skipped\x1b[2J"},
};

void lab_init(struct lab *lab) { lab_init_limited(lab, 0, 0); }

void lab_init_limited(struct lab *lab, uint32_t depth, uint64_t threshold_ns) {
    *lab = (struct lab){.path = scratch_new()};
    lab->writer = must_open_limited(lab->path, depth, threshold_ns);
    trace_writer_clock(lab->writer, &(struct trace_clock){0, 0});
    for (uint32_t i = 0; i < STREAMS; i++) {
        struct trace_thread t = {.stream = i,
                                 .pid = 100,
                                 .tid = 100 + i,
                                 .stack_low = 0x10000,
                                 .stack_high = TOP,
                                 .name = "thread"};
        trace_writer_thread(lab->writer, &t);
    }
    struct trace_module m = {.first_id = DRAW, .path = "/usr/lib/libdraw.so", .name = "libdraw.so"};
    m.functions = libdraw;
    m.function_count = FUNCTIONS - DRAW;
    trace_writer_module(lab->writer, &m);
    m = (struct trace_module){.first_id = MAIN, .path = "/bin/prog", .name = "prog"};
    m.functions = prog;
    m.function_count = DRAW - MAIN;
    trace_writer_module(lab->writer, &m);
}

static void close_source(struct lab *lab) {
    view_filter_free(lab->source.filter);
    names_free(lab->source.names);
    stream_groups_free(lab->source.stream_groups);
    trace_reader_free(lab->source.reader);
    lab->source = (struct source){0};
}

void lab_done(struct lab *lab) {
    close_source(lab);
    scratch_free(lab->path);
}

static void add(struct lab *lab, uint32_t stream, struct trace_event event) {
    trace_writer_events(lab->writer, stream, &event, 1);
    lab->last = event.ticks;
}

void lab_enter(struct lab *lab, uint32_t stream, uint64_t ns, uint32_t id, uint32_t sp) {
    add(lab, stream, (struct trace_event){ns, id << 2 | EVENT_ENTRY, sp});
}

void lab_return(struct lab *lab, uint32_t stream, uint64_t ns, uint32_t id, uint32_t sp) {
    add(lab, stream, (struct trace_event){ns, id << 2 | EVENT_RETURN, sp});
}

void lab_tail(struct lab *lab, uint32_t stream, uint64_t ns, uint32_t id, uint32_t sp) {
    add(lab, stream, (struct trace_event){ns, id << 2 | EVENT_TAIL, sp});
}

static void finish(struct lab *lab) {
    if (!lab->writer)
        return;
    trace_writer_clock(lab->writer,
                       &(struct trace_clock){1000000, lab->million_ns ? lab->million_ns : 1000000});
    must_finish(lab->writer);
    lab->writer = NULL;
}

static void on_damage(void *ctx, const struct err *err) {
    struct lab *lab = ctx;
    assert_string_equal(err->tag, "corrupt-block");
    lab->damages++;
}

/* The word after OPTION in LINE, or NULL; it lasts until the next call for the same option. */
static const char *value_of(const char *line, char option) {
    static char values[128][64];
    char mark[] = {'-', option, ' ', '\0'};
    const char *at = strstr(line, mark);
    if (!at)
        return NULL;
    char *value = values[(unsigned char)option];
    size_t length = strcspn(at + 3, " ");
    assert_true(length < sizeof *values);
    memcpy(value, at + 3, length);
    value[length] = '\0';
    return value;
}

static uint64_t number_of(const char *line, char option, uint64_t otherwise) {
    const char *value = value_of(line, option);
    return value ? strtoul(value, NULL, 10) : otherwise;
}

static void add_option(struct filter *f, const char *line, char option) {
    const char *value = value_of(line, option);
    if (value)
        assert_int_equal(filter_add(f, option, value, NULL), 0);
}

int lab_try(struct lab *lab, const char *line, struct err *err) {
    static struct filter filter; /* views borrow it */
    filter_done(&filter);
    add_option(&filter, line, 'F');
    add_option(&filter, line, 'N');
    add_option(&filter, line, 'M');
    struct view_spec spec = {.filter = filter,
                             .depth = (uint32_t)number_of(line, 'D', 0),
                             .threshold_ns = number_of(line, 't', 0),
                             .since_ns = number_of(line, 's', 0),
                             .until_ns = number_of(line, 'u', UINT64_MAX),
                             .tid = (uint32_t)number_of(line, 'T', 0)};
    finish(lab);
    close_source(lab);
    struct trace_reader *reader = must_open_reader(lab->path);
    struct names *names = names_new(reader);
    lab->source =
        (struct source){.reader = reader, .names = names, .ctx = lab, .on_damage = on_damage};
    lab->source.stream_groups = stream_groups_new(reader);
    return view_filter_new(&spec, reader, names, &lab->source.filter, err);
}

void lab_open(struct lab *lab, const char *line) {
    struct err err;
    if (lab_try(lab, line, &err) < 0)
        fail_msg("%s: %s", err.tag, err.text);
}
