/* See support.h. */
#include "support.h"

#include "../trace/support.h"

struct lab lab;
struct machine machine;

int set_up(void **state) {
    (void)state;
    lab_init(&lab);
    lab.million_ns = 345678; /* so that times are rounded */
    machine = (struct machine){.writer = lab.writer, .dice = 7, .now = 1000};
    return 0;
}

int tear_down(void **state) {
    (void)state;
    lab_done(&lab);
    return 0;
}

void run_all(const struct program *p) { run_in_blocks(p, BLOCK); }

void run_in_blocks(const struct program *p, unsigned block) {
    for (uint32_t stream = 0; stream < STREAMS; stream++) {
        machine.now = 1000 + 777 * stream;
        machine_run(&machine, stream, EVENTS, block, p);
    }
}

struct summary *must_start(const struct summary_options *options) {
    struct summary_options o = options ? *options : (struct summary_options){0};
    o.path = lab.path;
    lab_open(&lab, "");
    return summary_start(lab.source.reader, &o);
}

static void on_close(void *ctx, const struct walk_call *call) {
    walk_call_list *list = ctx;
    if (!call->brief)
        ARRAY_PUSH(list, *call);
}

walk_call_list walked_calls(uint64_t since_ns, uint64_t until_ns) {
    walk_call_list list = {0};
    struct names *names = names_new(lab.source.reader);
    struct view_spec spec = {.since_ns = since_ns, .until_ns = until_ns};
    struct source source = {.reader = lab.source.reader, .names = names};
    source.stream_groups = stream_groups_new(source.reader);
    source.forks = forks_new(source.reader, source.stream_groups);
    assert_int_equal(view_filter_new(&spec, source.reader, names, &source.filter, NULL), 0);
    struct visitor visitor = {.ctx = &list, .close = on_close};
    walk_all(&source, &visitor);
    view_filter_free(source.filter);
    forks_free(source.forks);
    stream_groups_free(source.stream_groups);
    names_free(names);
    return list;
}

struct summary_range random_range(uint64_t *dice) {
    uint64_t length = trace_reader_duration_ns(lab.source.reader);
    uint64_t a = random_below(dice, (uint32_t)length), b = random_below(dice, (uint32_t)length);
    unsigned kind = random_below(dice, 10);
    if (kind == 0)
        a = 0;
    if (kind == 1)
        b = UINT64_MAX;
    if (kind > 5)
        b = a + b % 5000;
    if (kind == 5)
        b = a;
    return (struct summary_range){.since_ns = a < b ? a : b, .until_ns = a < b ? b : a};
}
