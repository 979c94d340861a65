/*
 * Measures the summary of a trace (src/summary), and queries of it:
 *
 *     summary FILE [--keep] [--ranges=N] [--check] [--graphs]
 *
 * --keep: reads and writes the summary's file. --check: compares the statistics of each range with
 * those of a walk of the whole trace.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "summary/summary.h"

enum { COLUMNS = 1280 };

static uint64_t dice = 1;

static uint64_t roll(uint64_t limit) {
    dice ^= dice >> 12;
    dice ^= dice << 25;
    dice ^= dice >> 27;
    return limit ? dice * 0x2545f4914f6cdd1d % limit : 0;
}

static double ms(uint64_t since) { return (double)(clock_monotonic_ns() - since) / 1e6; }

/* Processor time so far, in ms. */
static double used(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* The highest resident size so far. */
static void print_memory(const char *when) {
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "VmHWM", 5) == 0)
            printf("%-28s %s", when, line);
    if (f)
        fclose(f);
}

static struct summary_range random_range(struct trace_reader *r, uint64_t least) {
    uint64_t all = trace_reader_duration_ns(r), length = all >> roll(12);
    length = length < least ? least : length;
    uint64_t since = roll(all - length + 1);
    return (struct summary_range){.since_ns = since, .until_ns = since + length};
}

struct times {
    double sum, most, used; /* ms; `used`: of processors */
    unsigned count;
    uint64_t since;
    double used_since;
};

static void begin(struct times *t) {
    t->since = clock_monotonic_ns();
    t->used_since = used();
}

static void end(struct times *t) {
    double value = ms(t->since);
    t->sum += value;
    t->used += used() - t->used_since;
    t->most = value > t->most ? value : t->most;
    t->count++;
}

static void print(const char *what, const struct times *t) {
    double count = t->count ? t->count : 1;
    printf("%-28s mean %8.1f ms, most %8.1f ms of %u; processors %8.1f ms\n", what, t->sum / count,
           t->most, t->count, t->used / count);
}

static void measure_boxes(struct summary *s, struct trace_reader *r, unsigned ranges) {
    struct times quick = {0}, exact = {0};
    summary_span_list list;
    for (unsigned i = 0; i < ranges; i++) {
        struct summary_range range = random_range(r, 1000);
        begin(&quick);
        summary_spans(s, &range, COLUMNS, false, &list);
        end(&quick);
        ARRAY_FREE(&list);
        range.until_ns = range.since_ns + 1000000;
        begin(&exact);
        summary_spans(s, &range, COLUMNS, true, &list);
        end(&exact);
        ARRAY_FREE(&list);
    }
    print("boxes", &quick);
    print("exact boxes of 1 ms", &exact);
}

static bool is_same(const struct function_stats *a, const struct function_stats *b) {
    return a->calls == b->calls && a->total_ns == b->total_ns && a->self_ns == b->self_ns &&
           a->paused_ns == b->paused_ns && a->min_ns == b->min_ns && a->max_ns == b->max_ns &&
           a->unwound == b->unwound && a->inferred == b->inferred && a->cut == b->cut &&
           a->clipped == b->clipped && a->before == b->before &&
           stats_average(a) == stats_average(b) && stats_deviation(a) == stats_deviation(b) &&
           stats_percentile(a, 50) == stats_percentile(b, 50) &&
           stats_percentile(a, 99) == stats_percentile(b, 99);
}

static void print_difference(const struct summary_range *range, uint32_t function,
                             const struct function_stats *a, const struct function_stats *b) {
    printf("function %u of %ju … %ju:\n", function, range->since_ns, range->until_ns);
    for (const struct function_stats *f = a; f; f = f == a ? b : NULL)
        printf(
            "    calls %ju total %ju self %ju paused %ju min %ju max %ju unwound %ju inferred %ju "
            "cut %ju clipped %ju before %ju\n",
            f->calls, f->total_ns, f->self_ns, f->paused_ns, f->min_ns, f->max_ns, f->unwound,
            f->inferred, f->cut, f->clipped, f->before);
}

static void check(struct trace_reader *r, const struct summary_range *range,
                  const struct stats *stats) {
    struct view_spec spec = {.since_ns = range->since_ns, .until_ns = range->until_ns};
    struct source source = {.reader = r, .names = names_new(r), .reads_all = true};
    source.stream_groups = stream_groups_new(r);
    source.forks = forks_new(r, source.stream_groups);
    view_filter_new(&spec, r, source.names, &source.filter, NULL);
    struct stats *expected = stats_new(&source, NULL);
    stats_want_spreads(expected);
    stats_add_all(expected);
    for (uint32_t i = 0; i < names_count(source.names); i++)
        if (!is_same(stats_of(stats, i), stats_of(expected, i)))
            print_difference(range, i, stats_of(stats, i), stats_of(expected, i));
    stats_free(expected);
    view_filter_free(source.filter);
    forks_free(source.forks);
    stream_groups_free(source.stream_groups);
    names_free(source.names);
}

static void measure_functions(struct summary *s, struct trace_reader *r, unsigned ranges,
                              bool checks) {
    struct times times = {0};
    for (unsigned i = 0; i < ranges; i++) {
        struct summary_range range = random_range(r, 1000);
        struct stats *stats;
        begin(&times);
        summary_functions(s, &range, &stats);
        end(&times);
        if (checks)
            check(r, &range, stats);
        stats_free(stats);
    }
    print("functions", &times);
}

static void measure_graphs(struct summary *s, struct trace_reader *r) {
    struct summary_range all = {.until_ns = trace_reader_duration_ns(r)};
    struct tree tree;
    double share;
    uint64_t since = clock_monotonic_ns();
    summary_graph_quick(s, &all, &tree, &share);
    printf("%-28s %8.1f ms, %u paths, %.3f of all\n", "graph, quick", ms(since), tree.count, share);
    tree_done(&tree);
    since = clock_monotonic_ns();
    summary_graph(s, &all, &tree);
    printf("%-28s %8.1f ms, %u paths\n", "graph, all", ms(since), tree.count);
    tree_done(&tree);
}

static void measure_calls(struct summary *s, struct trace_reader *r, unsigned ranges) {
    struct times all = {0}, some = {0}, next = {0};
    for (unsigned i = 0; i < ranges; i++) {
        struct summary_range range = {.until_ns = UINT64_MAX};
        struct summary_calls_query query = {
            .function = (uint32_t)roll(1000), .most_ns = UINT64_MAX, .limit = 20};
        summary_call_list list;
        struct summary_call call;
        bool more;
        begin(&all);
        summary_calls(s, &range, &query, &list, &more);
        end(&all);
        ARRAY_FREE(&list);
        range = random_range(r, 1000);
        begin(&some);
        summary_calls(s, &range, &query, &list, &more);
        end(&some);
        ARRAY_FREE(&list);
        begin(&next);
        (i % 2 ? summary_next : summary_previous)(s, &range, query.function, range.since_ns, &call);
        end(&next);
    }
    print("slowest of all", &all);
    print("slowest of a range", &some);
    print("next call", &next);
}

static void measure(const char *path, bool keep, unsigned ranges, bool checks, bool graphs) {
    struct trace_reader *r;
    struct err err;
    uint64_t since = clock_monotonic_ns();
    if (trace_reader_open(path, &r, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return;
    }
    struct summary *s = summary_start(r, &(struct summary_options){.path = path, .keep = keep});
    printf("%-28s %8.1f ms\n", "open", ms(since));
    summary_wait(s);
    struct summary_state state = summary_state(s);
    printf("%-28s %8.1f ms, processors %8.1f ms: %ju items, %ju calls kept above %ju ns%s\n",
           "summary", ms(since), used(), state.items, state.spans, state.threshold_ns,
           state.from_file ? ", from its file" : "");
    print_memory("memory");
    measure_boxes(s, r, ranges);
    measure_functions(s, r, ranges, checks);
    if (graphs)
        measure_graphs(s, r);
    measure_calls(s, r, ranges);
    print_memory("memory");
    summary_free(s);
    trace_reader_free(r);
}

int main(int argc, char **argv) {
    static const struct option options[] = {{"keep", no_argument, NULL, 'k'},
                                            {"ranges", required_argument, NULL, 'r'},
                                            {"check", no_argument, NULL, 'c'},
                                            {"graphs", no_argument, NULL, 'g'},
                                            {0}};
    bool keep = false, checks = false, graphs = false;
    unsigned ranges = 20;
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) >= 0;) {
        if (c == 'k')
            keep = true;
        else if (c == 'c')
            checks = true;
        else if (c == 'g')
            graphs = true;
        else if (c == 'r')
            ranges = (unsigned)strtoul(optarg, NULL, 10);
        else
            return 2;
    }
    if (optind + 1 != argc)
        return 2;
    measure(argv[optind], keep, ranges, checks, graphs);
    return 0;
}
