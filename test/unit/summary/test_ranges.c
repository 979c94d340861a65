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
    TEST(quick_graphs_are_estimates)                                                               \
    TEST(calls_of_a_function)                                                                      \
    TEST(next_call)                                                                                \
    TEST(cancelled_queries)

enum { RANGES = 40 };

/* Rows of numbers: of functions, and of paths. */
struct table {
    ARRAY(uint64_t) numbers;
    ARRAY(size_t) rows; /* where they begin */
};

static void add_row(struct table *t) { ARRAY_PUSH(&t->rows, t->numbers.count); }

static void add(struct table *t, const uint64_t *numbers, size_t count) {
    for (size_t i = 0; i < count; i++)
        ARRAY_PUSH(&t->numbers, numbers[i]);
}

/* All percentiles follow from the buckets' counts. */
static void add_durations(struct table *t, const struct function_stats *f) {
    const struct histogram *h = &f->durations;
    for (uint32_t i = 0; i < h->groups * (uint32_t)HISTOGRAM_GROUP; i++)
        if (h->counts[i])
            add(t, (uint64_t[]){h->first * (uint32_t)HISTOGRAM_GROUP + i, h->counts[i]}, 2);
    for (unsigned percent = 1; percent <= 100; percent += 33)
        ARRAY_PUSH(&t->numbers, stats_percentile(f, percent));
}

static void add_stats(struct table *t, const struct stats *stats, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        const struct function_stats *f = stats_of(stats, i);
        const uint64_t numbers[] = {
            i,          f->calls,  f->total_ns,      f->self_ns,        f->paused_ns,
            f->min_ns,  f->max_ns, f->unwound,       f->inferred,       f->cut,
            f->clipped, f->before, stats_average(f), stats_deviation(f)};
        add_row(t);
        add(t, numbers, sizeof numbers / sizeof *numbers);
        add_durations(t, f);
    }
}

static void add_tree(struct table *t, struct tree *tree, struct names *names) {
    tree_sort(tree, names);
    for (uint32_t node = 0, depth = 0; node != TREE_NONE; node = tree_next(tree, node, &depth)) {
        const struct tree_node *n = &tree->nodes[node];
        const uint64_t numbers[] = {depth,        n->function, n->calls, n->total_ns, n->self_ns,
                                    n->paused_ns, n->inferred, n->cut,   n->before,   n->clipped};
        add_row(t);
        add(t, numbers, sizeof numbers / sizeof *numbers);
    }
}

static void table_done(struct table *t) {
    ARRAY_FREE(&t->numbers);
    ARRAY_FREE(&t->rows);
}

static bool is_same(const struct table *a, const struct table *b) {
    return a->numbers.count == b->numbers.count && a->rows.count == b->rows.count &&
           !memcmp(a->numbers.at, b->numbers.at, a->numbers.count * sizeof *a->numbers.at);
}

/* The row of T in which it differs from OTHER, as text; to be freed. */
static char *differing(const struct table *t, const struct table *other) {
    size_t at = 0, row = 0, size;
    char *text = NULL;
    FILE *out = open_memstream(&text, &size);
    while (at < t->numbers.count && at < other->numbers.count &&
           t->numbers.at[at] == other->numbers.at[at])
        at++;
    while (row + 1 < t->rows.count && t->rows.at[row + 1] <= at)
        row++;
    size_t end = row + 1 < t->rows.count ? t->rows.at[row + 1] : t->numbers.count;
    for (at = t->rows.at[row]; at < end; at++)
        fprintf(out, "%ju ", t->numbers.at[at]);
    fclose(out);
    return text;
}

/* For views: no block is left out. Both kinds are compared. */
static bool reads_all, compares_whole_reads;

/* What report and graph show of RANGE. */
static struct table viewed(const struct summary_range *range) {
    struct table table = {0};
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
    add_stats(&table, stats, names_count(names));
    stats_free(stats);
    struct tree tree;
    tree_init(&tree);
    tree_read(&tree, &source);
    add_tree(&table, &tree, names);
    tree_done(&tree);
    view_filter_free(source.filter);
    forks_free(source.forks);
    stream_groups_free(source.stream_groups);
    names_free(names);
    return table;
}

static struct table summarized(struct summary *s, const struct summary_range *range) {
    struct table table = {0};
    struct names *names = names_new(lab.source.reader);
    struct stats *stats;
    struct tree tree;
    assert_int_equal(summary_functions(s, range, &stats), 0);
    add_stats(&table, stats, names_count(names));
    stats_free(stats);
    assert_int_equal(summary_graph(s, range, &tree), 0);
    add_tree(&table, &tree, names);
    tree_done(&tree);
    names_free(names);
    return table;
}

static void expect_same(const struct summary_range *range, const struct table *table,
                        const struct table *expected) {
    if (is_same(table, expected))
        return;
    AUTO_FREE char *have = differing(table, expected);
    AUTO_FREE char *want = differing(expected, table);
    fail_msg("range %ju … %ju:\n%.200s\ninstead of\n%.200s", range->since_ns, range->until_ns, have,
             want);
}

/* Of both summaries, if there are two, and of views that read all. */
static void expect_range(struct summary *const both[2], const struct summary_range *range) {
    struct table expected = viewed(range);
    for (int i = 0; i < 2 && both[i]; i++) {
        struct table table = summarized(both[i], range);
        expect_same(range, &table, &expected);
        table_done(&table);
    }
    if (compares_whole_reads) {
        reads_all = true;
        struct table table = viewed(range);
        reads_all = false;
        expect_same(range, &table, &expected);
        table_done(&table);
    }
    table_done(&expected);
}

/* WORKERS: threads that read. OTHERS: those of another summary; 0: there is none. */
static void expect_ranges(unsigned workers, unsigned others, const uint8_t *streams) {
    struct summary_options options = {.path = lab.path, .workers = workers, .leaf_blocks = 1};
    struct summary *both[2] = {must_start(&options), NULL};
    options.workers = others;
    if (others)
        both[1] = summary_start(lab.source.reader, &options);
    uint64_t dice = 99;
    struct summary_range all = {.until_ns = UINT64_MAX, .streams = streams};
    expect_range(both, &all); /* most likely before the pass has ended */
    for (int i = 0; i < 2 && both[i]; i++) {
        summary_wait(both[i]);
        assert_true(summary_state(both[i]).complete);
        assert_int_equal(summary_state(both[i]).items, summary_state(both[i]).all_items);
    }
    expect_range(both, &all);
    for (int i = 0; i < RANGES; i++) {
        struct summary_range range = random_range(&dice);
        range.streams = streams;
        expect_range(both, &range);
    }
    for (int i = 0; i < 2 && both[i]; i++)
        summary_free(both[i]);
}

static void ranges_of_plain_threads(void **state) {
    (void)state;
    run_all(&(struct program){0});
    expect_ranges(1, 8, NULL);
}

static void ranges_of_many_blocks(void **state) {
    (void)state;
    run_in_blocks(&(struct program){.exceptions = 1}, 70);
    expect_ranges(2, 0, NULL);
}

static void ranges_with_exceptions_gaps_and_pauses(void **state) {
    (void)state;
    run_all(&(struct program){.exceptions = 5, .oddities = 2});
    expect_ranges(2, 0, NULL);
}

static void ranges_with_signal_stacks(void **state) {
    (void)state;
    run_all(&(struct program){.exceptions = 2, .signals = 10});
    expect_ranges(2, 0, NULL);
}

static void ranges_with_some_signal_stacks(void **state) {
    (void)state;
    for (uint32_t stream = 0; stream < STREAMS; stream++) {
        machine.now = 1000;
        machine_run(&machine, stream, EVENTS, BLOCK,
                    &(struct program){.exceptions = 2, .signals = stream == 1 ? 10 : 0});
    }
    expect_ranges(2, 0, NULL);
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
    expect_ranges(2, 0, NULL);
}

static void ranges_of_a_damaged_trace(void **state) {
    (void)state;
    run_all(&(struct program){.exceptions = 2});
    lab_open(&lab, "");
    damage_blocks(lab.path);
    compares_whole_reads = true;
    expect_ranges(2, 0, NULL);
    compares_whole_reads = false;
}

/* Calls that stay open for many blocks. */
static void run_slowly(uint32_t stream) {
    enum { DEEPEST = 32, STEP = 8, ROUNDS = 40, LEAVES = 750 };
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
    expect_ranges(1, 8, NULL);
}

/* Calls that are left out by views are no callers of digests. */
static void ranges_of_a_recording_with_limits(void **state) {
    (void)state;
    lab_done(&lab);
    lab_init_limited(&lab, 12, 40);
    lab.million_ns = 345678;
    machine.writer = lab.writer;
    run_all(&(struct program){.exceptions = 2});
    expect_ranges(2, 0, NULL);
}

static void ranges_of_some_threads(void **state) {
    (void)state;
    static const uint8_t streams[STREAMS] = {1, 0, 1};
    run_all(&(struct program){.exceptions = 2});
    expect_ranges(2, 0, streams);
}

static uint64_t calls_of(struct tree *tree) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < tree->count; i++)
        sum += tree->nodes[i].calls;
    tree_done(tree);
    return sum;
}

static void quick_graphs_are_estimates(void **state) {
    (void)state;
    run_in_blocks(&(struct program){0}, 70);
    struct summary *s = must_start(NULL);
    struct summary_range all = {.until_ns = UINT64_MAX};
    struct tree exact, quick;
    double share;
    summary_wait(s);
    assert_int_equal(summary_graph(s, &all, &exact), 0);
    assert_int_equal(summary_graph_quick(s, &all, &quick, &share), 0);
    assert_true(share > 0 && share < 0.5);
    uint64_t calls = calls_of(&exact);
    assert_in_range(calls_of(&quick), calls / 5 * 4, calls / 4 * 5);
    summary_free(s);
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
