/*
 * Views of a span show the same whether blocks are left out or all are read: of random calls with
 * exceptions, missing exits, pauses, chains, records of frames, gaps and forks, for random spans.
 */
#include "support.h"

#include <stdio.h>

#include "../trace/random_calls.h"
#include "../trace/support.h"
#include "analyze/lines.h"
#include "analyze/stats.h"
#include "base/mem.h"
#include "trace/layout.h"

enum { THREADS = 6, CHILD = 5, MAKER = 1, BLOCKS = 40, SPANS = 80, KINDS = 6 };

static void write_module(struct trace_writer *w) {
    static struct trace_function functions[RANDOM_FUNCTIONS];
    static char names[RANDOM_FUNCTIONS][16];
    for (uint32_t i = 0; i < RANDOM_FUNCTIONS; i++) {
        snprintf(names[i], sizeof names[i], "function_%u", i);
        functions[i] = (struct trace_function){
            .address = 0x1000 + i * 64, .size = 64, .name = names[i], .instrumented = true};
    }
    struct trace_module m = {.path = "/bin/prog",
                             .name = "prog",
                             .functions = functions,
                             .function_count = RANDOM_FUNCTIONS};
    trace_writer_module(w, &m);
}

static void write_thread(struct trace_writer *w, uint32_t stream, uint32_t maker, uint64_t ticks) {
    struct trace_thread thread = {.stream = stream,
                                  .pid = maker ? 2 : 1,
                                  .tid = 10 + stream,
                                  .start = ticks,
                                  .stack_low = RANDOM_STACK_LOW,
                                  .stack_high = RANDOM_STACK_HIGH,
                                  .name = "thread",
                                  .maker = maker};
    trace_writer_thread(w, &thread);
}

/* The child goes on with the calls of its maker. */
static void fork_child(struct random_calls *threads) {
    threads[CHILD] = threads[MAKER];
    threads[CHILD].stream = CHILD;
    threads[CHILD].random += 99;
    threads[CHILD].ticks += 1;
    write_thread(threads[MAKER].w, CHILD, MAKER + 1, threads[MAKER].ticks);
}

/* All times are rounded: a tick is less than a nanosecond. SHALLOW: as in random_calls.h; blocks
 * are MORE times as long. Returns the last time. */
static uint64_t write_trace(const char *path, uint64_t seed, unsigned shallow, unsigned more) {
    struct trace_writer *w = must_open_writer(path);
    struct random_calls *threads = mem_alloc(THREADS * sizeof *threads);
    uint64_t last = 0;
    trace_writer_clock(w, &(struct trace_clock){0, 0});
    write_module(w);
    for (uint32_t i = 0; i < THREADS; i++) {
        threads[i] = (struct random_calls){.w = w,
                                           .stream = i,
                                           .random = seed * 64 + i + 1,
                                           .ticks = 1000 + i,
                                           .enters = 100000,
                                           .shallow = shallow,
                                           .pauses = i != 0,
                                           .chains = i == 2,
                                           .frames = i == 3,
                                           .gaps = i == 4 ? 30000000 : 0};
        if (i != CHILD)
            write_thread(w, i, 0, 0);
    }
    for (int block = 0; block < BLOCKS; block++) {
        if (block == BLOCKS / 3)
            fork_child(threads);
        for (uint32_t i = 0; i < THREADS; i++)
            for (uint32_t n = (500 + random_below(&threads[i].random, 3000)) * more;
                 n && (i != CHILD || block >= BLOCKS / 3); n--)
                random_calls_step(&threads[i]);
        trace_writer_flush(w);
    }
    for (uint32_t i = 0; i < THREADS; i++)
        last = threads[i].ticks > last ? threads[i].ticks : last;
    for (uint32_t i = 0; i < THREADS; i += 2)
        trace_writer_thread_end(w, i, threads[i].ticks);
    trace_writer_clock(w, &(struct trace_clock){last, last * 345 / 1000});
    must_finish(w);
    free(threads);
    return last * 345 / 1000;
}

/* ---- views ---- */

struct opened {
    struct source source;
    uint64_t items;
};

static void on_progress(void *ctx, size_t items) { ((struct opened *)ctx)->items += items; }

static void open_view(struct opened *o, struct trace_reader *r, const struct view_spec *spec,
                      bool reads_all) {
    struct source *s = &o->source;
    struct err err;
    *o = (struct opened){.source = {.reader = r, .ctx = o, .reads_all = reads_all}};
    s->on_progress = on_progress;
    s->stream_groups = stream_groups_new(r);
    s->forks = forks_new(r, s->stream_groups);
    s->names = names_new(r);
    assert_int_equal(view_filter_new(spec, r, s->names, &s->filter, &err), 0);
}

static void close_view(struct opened *o) {
    view_filter_free(o->source.filter);
    names_free(o->source.names);
    forks_free(o->source.forks);
    stream_groups_free(o->source.stream_groups);
}

static void mix(uint64_t *hash, uint64_t value) { *hash = (*hash ^ value) * 0x100000001b3; }

/* A number for all that replay shows. */
static uint64_t replay(struct opened *o, bool fold) {
    struct lines *lines = lines_new(&o->source, fold);
    uint64_t hash = 0xcbf29ce484222325;
    for (const struct line *l; (l = lines_next(lines));) {
        mix(&hash, l->kind << 16 | l->stream << 8 | l->began);
        mix(&hash, l->ns);
        mix(&hash, l->depth);
        if (l->kind == LINE_LOST)
            mix(&hash, l->lost);
        if (l->kind == LINE_LOST || l->kind == LINE_CHANGE)
            continue;
        mix(&hash, l->duration_ns);
        mix(&hash, l->paused_ns);
        mix(&hash, (uint64_t)l->function << 32 | l->stack);
        mix(&hash, (uint64_t)l->chain << 8 | l->how);
        mix(&hash, l->inferred << 3 | l->before << 2 | l->clipped << 1 | l->in_call);
    }
    lines_free(lines);
    return hash;
}

/* A number for all that report shows. */
static uint64_t report(struct opened *o) {
    struct stats *s = stats_new(&o->source, NULL);
    uint64_t sum = 0;
    stats_add_all(s);
    for (size_t i = 0; i < stats_function_count(s); i++) {
        const struct function_stats *f = stats_of(s, stats_function(s, i));
        uint64_t hash = stats_function(s, i);
        const uint64_t numbers[] = {f->calls,  f->total_ns, f->self_ns, f->paused_ns,
                                    f->min_ns, f->max_ns,   f->unwound, f->inferred,
                                    f->cut,    f->clipped,  f->before,  stats_percentile(f, 50)};
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
            mix(&hash, numbers[k]);
        sum += hash;
    }
    stats_free(s);
    return sum;
}

/* What is shown of SPEC. *RET_ITEMS: how many items were read. */
static uint64_t show(struct trace_reader *r, const struct view_spec *spec, int kind, bool reads_all,
                     uint64_t *ret_items) {
    struct opened o;
    open_view(&o, r, spec, reads_all);
    uint64_t result = kind < 3 ? replay(&o, kind) : report(&o);
    *ret_items += o.items;
    close_view(&o);
    return result;
}

/* Returns the share of items that seeking reads. */
static double expect_same_views(const char *path, uint64_t last, int spans) {
    uint64_t random = 5, all = 0, some = 0;
    struct trace_reader *r = must_open_reader(path);
    struct filter leaves = {0};
    assert_int_equal(filter_add(&leaves, 'F', "function_*7", NULL), 0);
    for (int i = 0; i < spans; i++) {
        int kind = i % KINDS;
        uint64_t since = random_next(&random) % last, length = last >> random_below(&random, 16);
        struct view_spec spec = {.since_ns = i % 7 ? since : 0, .until_ns = UINT64_MAX};
        if (i % 9)
            spec.until_ns = spec.since_ns + length;
        if (kind == 1)
            spec.threshold_ns = 1000;
        if (kind == 2)
            spec.depth = 3;
        if (kind == 4)
            spec.tid = 10 + random_below(&random, THREADS);
        if (kind == 5)
            spec.filter = leaves;
        uint64_t wanted = show(r, &spec, kind, true, &all);
        if (show(r, &spec, kind, false, &some) != wanted)
            fail_msg("span %d: kind %d, since %ju, until %ju, tid %u", i, kind, spec.since_ns,
                     spec.until_ns, spec.tid);
    }
    print_message("%ju items, without seeking %ju\n", some, all);
    filter_done(&leaves);
    trace_reader_free(r);
    return (double)some / (double)all;
}

static void views_of_spans_are_the_same(void **state) {
    (void)state;
    char *path = scratch_new();
    uint64_t last = write_trace(path, 1, 5000, 1);
    assert_true(expect_same_views(path, last, SPANS) < 0.5);
    scratch_free(path);
}

/* Whether the block behind the one with HEAD has a checkpoint. */
static bool has_checkpoint_behind(struct trace_reader *r, const struct disk_block *head) {
    struct trace_seeker *seeker = trace_seeker_new(r);
    struct trace_checkpoint c;
    size_t i = trace_reader_first_block(r, head->stream);
    size_t end = trace_reader_end_block(r, head->stream);
    while (i < end && trace_reader_block(r, i).first != head->first)
        i++;
    bool found = i + 1 < end && trace_seeker_at(seeker, head->stream, i + 1, &c);
    trace_seeker_free(seeker);
    return found;
}

/* Damages each third block that has a checkpoint behind it. */
static void damage_some(const char *path) {
    size_t size, blocks = 0;
    AUTO_FREE uint8_t *bytes = must_load(path, &size);
    struct trace_reader *r = must_open_reader(path);
    for (size_t at = sizeof(struct disk_header); at + sizeof(struct disk_block) < size;) {
        struct disk_block head;
        memcpy(&head, bytes + at, sizeof head);
        if (head.magic != DISK_BLOCK_MAGIC)
            break;
        if (head.type == DISK_EVENTS && has_checkpoint_behind(r, &head) && blocks++ % 3 == 2)
            bytes[at + sizeof head + head.stored / 2] ^= 1;
        at += sizeof head + head.stored;
    }
    trace_reader_free(r);
    assert_true(blocks > 30);
    must_store(path, bytes, size);
}

/* Reading goes on with the checkpoint behind a damaged block, wherever it has begun. */
static void views_of_damaged_spans_are_the_same(void **state) {
    (void)state;
    char *path = scratch_new();
    uint64_t last = write_trace(path, 2, 9000, 2);
    damage_some(path);
    assert_true(expect_same_views(path, last, SPANS / 2) < 1);
    scratch_free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(views_of_spans_are_the_same),
                                       cmocka_unit_test(views_of_damaged_spans_are_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
