/* src/summary: statistics of ranges are those of the views, to the last digit. */
#include "support.h"

#include <errno.h>
#include <stdio.h>

#include "../trace/support.h"
#include "trace/layout.h"

#define TESTS                                                                                      \
    TEST(ranges_of_plain_threads)                                                                  \
    TEST(ranges_of_many_blocks)                                                                    \
    TEST(ranges_with_exceptions_gaps_and_pauses)                                                   \
    TEST(ranges_with_signal_stacks)                                                                \
    TEST(ranges_with_some_signal_stacks)                                                           \
    TEST(ranges_of_forks)                                                                          \
    TEST(ranges_of_a_damaged_trace)                                                                \
    TEST(ranges_behind_damage_without_checkpoints)                                                 \
    TEST(ranges_of_a_recording_with_limits)                                                        \
    TEST(ranges_of_some_threads)                                                                   \
    TEST(calls_of_a_function)                                                                      \
    TEST(next_call)                                                                                \
    TEST(cancelled_queries)

enum { RANGES = 40 };

static void print_stats(FILE *out, const struct stats *stats, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        const struct function_stats *f = stats_of(stats, i);
        fprintf(out, "%u: %ju %ju %ju %ju %ju %ju %ju %ju %ju %ju %ju %ju %ju", i, f->calls,
                f->total_ns, f->self_ns, f->paused_ns, f->min_ns, f->max_ns, f->unwound,
                f->inferred, f->cut, f->clipped, f->before, stats_average(f), stats_deviation(f));
        for (unsigned percent = 1; percent <= 100; percent++)
            fprintf(out, " %ju", stats_percentile(f, percent));
        fprintf(out, "\n");
    }
}

static void print_tree(FILE *out, struct tree *tree, struct names *names) {
    tree_sort(tree, names);
    for (uint32_t node = 0, depth = 0; node != TREE_NONE; node = tree_next(tree, node, &depth)) {
        const struct tree_node *n = &tree->nodes[node];
        fprintf(out, "%u %u: %ju %ju %ju %ju %ju %ju %ju %ju\n", depth, n->function, n->calls,
                n->total_ns, n->self_ns, n->paused_ns, n->inferred, n->cut, n->before, n->clipped);
    }
}

/* For views: no block is left out. */
static bool reads_all;

/* What report and graph show of RANGE. */
static char *viewed(const struct summary_range *range) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    struct names *names = names_new(lab.source.reader);
    struct view_spec spec = {.since_ns = range->since_ns, .until_ns = range->until_ns};
    struct source source = {.reader = lab.source.reader, .names = names, .reads_all = reads_all};
    source.stream_groups = stream_groups_new(source.reader);
    source.forks = forks_new(source.reader, source.stream_groups);
    assert_int_equal(view_filter_new(&spec, source.reader, names, &source.filter, NULL), 0);
    if (range->streams) {
        source.filter->streams = mem_alloc(STREAMS);
        memcpy(source.filter->streams, range->streams, STREAMS);
    }
    struct stats *stats = stats_new(&source, NULL);
    stats_want_spreads(stats);
    stats_add_all(stats);
    print_stats(out, stats, names_count(names));
    stats_free(stats);
    struct tree tree;
    tree_init(&tree);
    tree_read(&tree, &source);
    print_tree(out, &tree, names);
    tree_done(&tree);
    view_filter_free(source.filter);
    forks_free(source.forks);
    stream_groups_free(source.stream_groups);
    names_free(names);
    fclose(out);
    return text;
}

static char *summarized(struct summary *s, const struct summary_range *range) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    struct names *names = names_new(lab.source.reader);
    struct stats *stats;
    struct tree tree;
    assert_int_equal(summary_functions(s, range, &stats), 0);
    print_stats(out, stats, names_count(names));
    stats_free(stats);
    assert_int_equal(summary_graph(s, range, &tree), 0);
    print_tree(out, &tree, names);
    tree_done(&tree);
    names_free(names);
    fclose(out);
    return text;
}

/* The line of TEXT in which it differs from OTHER; to be freed. */
static char *differing(const char *text, const char *other) {
    size_t at = 0;
    while (text[at] && text[at] == other[at])
        at++;
    while (at && text[at - 1] != '\n')
        at--;
    return mem_printf("%.*s", (int)strcspn(text + at, "\n"), text + at);
}

static void expect_range(struct summary *s, const struct summary_range *range) {
    AUTO_FREE char *expected = viewed(range);
    AUTO_FREE char *text = summarized(s, range);
    if (strcmp(text, expected) == 0)
        return;
    AUTO_FREE char *have = differing(text, expected);
    AUTO_FREE char *want = differing(expected, text);
    fail_msg("range %ju … %ju:\n%.200s\ninstead of\n%.200s", range->since_ns, range->until_ns, have,
             want);
}

/* WORKERS: threads that read. */
static void expect_ranges(unsigned workers, const uint8_t *streams) {
    struct summary *s = must_start(&(struct summary_options){.workers = workers, .leaf_blocks = 1});
    uint64_t dice = 99;
    struct summary_range all = {.until_ns = UINT64_MAX, .streams = streams};
    expect_range(s, &all); /* most likely before the pass has ended */
    summary_wait(s);
    assert_true(summary_state(s).complete);
    assert_int_equal(summary_state(s).items, summary_state(s).all_items);
    expect_range(s, &all);
    for (int i = 0; i < RANGES; i++) {
        struct summary_range range = random_range(&dice);
        range.streams = streams;
        expect_range(s, &range);
    }
    summary_free(s);
}

static void ranges_of_plain_threads(void **state) {
    (void)state;
    run_all(&(struct program){0});
    expect_ranges(1, NULL);
    expect_ranges(8, NULL);
}

static void ranges_of_many_blocks(void **state) {
    (void)state;
    run_in_blocks(&(struct program){.exceptions = 1}, 70);
    expect_ranges(2, NULL);
}

static void ranges_with_exceptions_gaps_and_pauses(void **state) {
    (void)state;
    run_all(&(struct program){.exceptions = 5, .oddities = 2});
    expect_ranges(2, NULL);
}

static void ranges_with_signal_stacks(void **state) {
    (void)state;
    run_all(&(struct program){.exceptions = 2, .signals = 10});
    expect_ranges(2, NULL);
}

static void ranges_with_some_signal_stacks(void **state) {
    (void)state;
    for (uint32_t stream = 0; stream < STREAMS; stream++) {
        machine.now = 1000;
        machine_run(&machine, stream, EVENTS, BLOCK,
                    &(struct program){.exceptions = 2, .signals = stream == 1 ? 10 : 0});
    }
    expect_ranges(2, NULL);
}

/* Stream 2 is a process that stream 1 has made. */
static void ranges_of_forks(void **state) {
    (void)state;
    run_all(&(struct program){0});
    uint64_t length = machine.now;
    struct trace_thread child = {.stream = STREAMS,
                                 .pid = 200,
                                 .tid = 200,
                                 .start = length / 2,
                                 .maker = 2,
                                 .stack_low = 0x10000,
                                 .stack_high = TOP,
                                 .name = "child"};
    trace_writer_thread(lab.writer, &child);
    machine.now = length / 2 + 1;
    machine_run(&machine, STREAMS, EVENTS / 2, BLOCK, &(struct program){.exceptions = 2});
    expect_ranges(2, NULL);
}

static void ranges_of_a_damaged_trace(void **state) {
    (void)state;
    run_all(&(struct program){.exceptions = 2});
    lab_open(&lab, "");
    damage_blocks(lab.path);
    expect_ranges(2, NULL);
    reads_all = true;
    expect_ranges(2, NULL);
    reads_all = false;
}

/* Calls that stay open for many blocks. */
static void run_slowly(uint32_t stream) {
    enum { DEEPEST = 32, STEP = 8, ROUNDS = 40, LEAVES = 1500 };
    for (unsigned round = 0, depth = 0; round < ROUNDS; round++) {
        bool up = depth == DEEPEST;
        for (int i = 0; i < (up ? 2 * STEP : STEP); i++) {
            depth -= up;
            machine_emit(&machine, stream, MAIN + depth % 5, up ? EVENT_RETURN : EVENT_ENTRY,
                         TOP - 16 * (depth + 1));
            depth += !up;
        }
        for (int i = 0; i < LEAVES; i++) {
            machine_emit(&machine, stream, LEAF, EVENT_ENTRY, TOP - 16 * (depth + 1));
            machine_emit(&machine, stream, LEAF, EVENT_RETURN, TOP - 16 * (depth + 1));
            if (i % (BLOCK / 2) == 0)
                trace_writer_flush(machine.writer);
        }
    }
    trace_writer_thread_end(machine.writer, stream, machine.now);
}

/* A checkpoint takes more bytes here than a block may spend: so most damaged blocks have none
 * behind them, and views that begin later, at one, know more. The other stream is intact. */
static void ranges_behind_damage_without_checkpoints(void **state) {
    (void)state;
    machine.now = 1000;
    run_slowly(0);
    machine.now = 1777;
    machine_run(&machine, 1, BLOCK / 2, BLOCK, &(struct program){0});
    lab_open(&lab, "");
    damage_blocks_of(lab.path, DISK_EVENTS, 20);
    expect_ranges(1, NULL);
    expect_ranges(8, NULL);
}

/* Calls that are left out by views are no callers of digests. */
static void ranges_of_a_recording_with_limits(void **state) {
    (void)state;
    lab_done(&lab);
    lab_init_limited(&lab, 12, 40);
    lab.million_ns = 345678;
    machine.writer = lab.writer;
    run_all(&(struct program){.exceptions = 2});
    expect_ranges(2, NULL);
}

static void ranges_of_some_threads(void **state) {
    (void)state;
    static const uint8_t streams[STREAMS] = {1, 0, 1};
    run_all(&(struct program){.exceptions = 2});
    expect_ranges(2, streams);
}

/* ---- single calls ---- */

static int slower(const void *a, const void *b) {
    const struct walk_call *x = a, *y = b;
    if (x->duration_ns != y->duration_ns)
        return x->duration_ns > y->duration_ns ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    return (x->depth > y->depth) - (x->depth < y->depth);
}

static void expect_slowest(struct summary *s, const struct summary_range *range,
                           const struct summary_calls_query *query) {
    walk_call_list all = walked_calls(range->since_ns, range->until_ns);
    summary_call_list list;
    bool more;
    size_t count = 0;
    qsort(all.at, all.count, sizeof *all.at, slower);
    assert_int_equal(summary_calls(s, range, query, &list, &more), 0);
    for (size_t i = 0, at = 0; i < all.count; i++) {
        const struct walk_call *c = &all.at[i];
        if (c->function != query->function || c->how == CALL_CUT || c->before ||
            c->duration_ns < query->least_ns || c->duration_ns > query->most_ns)
            continue;
        if (count++ < query->first || at == list.count)
            continue;
        const struct summary_call *found = &list.at[at++];
        assert_int_equal(found->duration_ns, c->duration_ns);
        assert_int_equal(found->self_ns, c->self_ns);
        assert_int_equal(found->start_ns, c->start_ns);
        assert_int_equal(found->end_ns, c->end_ns);
        assert_int_equal(found->stream, c->stream);
        assert_int_equal(found->depth, c->depth);
        assert_int_equal(found->how, c->how);
        assert_int_equal(found->caller == WALK_NONE, c->caller_id == UINT32_MAX);
    }
    size_t wanted = count > query->first ? count - query->first : 0;
    assert_int_equal(list.count, wanted < query->limit ? wanted : query->limit);
    assert_int_equal(more, wanted > query->limit);
    ARRAY_FREE(&list);
    ARRAY_FREE(&all);
}

static void calls_of_a_function(void **state) {
    (void)state;
    run_all(&(struct program){.exceptions = 5, .oddities = 2});
    struct summary *s = must_start(NULL);
    summary_wait(s);
    uint64_t dice = 5;
    for (int i = 0; i < RANGES; i++) {
        struct summary_range range = random_range(&dice);
        struct summary_calls_query query = {.function = random_below(&dice, FUNCTIONS - MAIN),
                                            .most_ns = UINT64_MAX,
                                            .limit = 1 + random_below(&dice, 100)};
        if (i % 3 == 0)
            query.first = random_below(&dice, 50);
        if (i % 4 == 0)
            query.least_ns = random_below(&dice, 2000), query.most_ns = query.least_ns + 500;
        if (i % 5 == 0)
            range = (struct summary_range){.until_ns = UINT64_MAX};
        expect_slowest(s, &range, &query);
    }
    summary_free(s);
}

static void next_call(void **state) {
    (void)state;
    run_all(&(struct program){.exceptions = 5});
    struct summary *s = must_start(NULL);
    walk_call_list all = walked_calls(0, UINT64_MAX);
    struct summary_range range = {.until_ns = UINT64_MAX};
    uint64_t dice = 6, length = trace_reader_duration_ns(lab.source.reader);
    summary_wait(s);
    for (int i = 0; i < RANGES; i++) {
        uint64_t at = random_below(&dice, (uint32_t)length), best = 0;
        uint32_t function = random_below(&dice, FUNCTIONS - MAIN);
        bool forward = i % 2, found = false;
        for (size_t k = 0; k < all.count; k++) {
            uint64_t start = all.at[k].start_ns;
            if (all.at[k].function != function || (forward ? start <= at : start >= at))
                continue;
            if (!found || (forward ? start < best : start > best))
                best = start;
            found = true;
        }
        struct summary_call call;
        assert_int_equal(
            (forward ? summary_next : summary_previous)(s, &range, function, at, &call), found);
        if (found)
            assert_int_equal(call.start_ns, best);
    }
    ARRAY_FREE(&all);
    summary_free(s);
}

static void cancelled_queries(void **state) {
    (void)state;
    run_all(&(struct program){0});
    struct summary *s = must_start(NULL);
    atomic_bool cancel = true;
    struct summary_range range = {.since_ns = 5, .until_ns = 90000, .cancel = &cancel};
    struct stats *stats;
    struct tree tree;
    summary_span_list spans;
    summary_wait(s);
    assert_int_equal(summary_functions(s, &range, &stats), -ECANCELED);
    assert_int_equal(summary_graph(s, &range, &tree), -ECANCELED);
    assert_int_equal(summary_frames(s, &range, 100, 1, &spans), -ECANCELED);
    summary_free(s);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down),
    const struct CMUnitTest tests[] = {TESTS};
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
