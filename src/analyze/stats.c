/* See stats.h: adds up calls as the walk closes them. Those that begin and end in one block come as
 * sums (digest.h), if functions are counted. */
#include "analyze/stats.h"

#include "analyze/digest_plan.h"
#include "analyze/digest_stats.h"
#include "base/mem.h"
#include "base/search.h"

enum { PENDING = 16 };

struct stats {
    const struct source *source;
    const struct caller_groups *groups; /* or NULL */
    uint32_t count;                     /* of functions */
    bool spreads;                       /* are wanted */
    struct function_stats *functions;   /* by number */
    ARRAY(uint32_t) called;
    uint32_t threads;    /* that calls were added of */
    uint64_t calls_then; /* calls_of() when the last thread was added */
    /* Histogram counters that are to be incremented. They are rarely in a near cache, so each one
     * is prefetched first, and incremented PENDING calls later. */
    uint64_t *pending[PENDING];
    uint32_t next_pending;
    uint64_t no_counter;     /* free entries of pending[] point here */
    struct period **periods; /* [stream][function], while a group of several streams is added */
};

static void count_pending(struct stats *s) {
    for (int i = 0; i < PENDING; i++) {
        ++*s->pending[i];
        s->pending[i] = &s->no_counter;
    }
}

static void add_duration(struct stats *s, struct histogram *h, uint64_t duration) {
    uint64_t *slot = histogram_slot(h, duration);
    if (!slot) {
        count_pending(s);
        histogram_widen(h, duration);
        slot = histogram_slot(h, duration);
    }
    __builtin_prefetch(slot, 1);
    uint64_t **turn = &s->pending[s->next_pending++ % PENDING];
    ++**turn;
    *turn = slot;
}

static inline uint32_t number_of(const struct stats *s, const struct walk_call *call) {
    return s->groups ? caller_groups_number(s->groups, call) : call->function;
}

static inline uint32_t begin_call(struct period *p, const struct walk_call *call) {
    if (!p->open++) {
        p->since_ns = call->start_ns;
        p->paused_ns = call->thread_paused_ns;
    }
    return 0;
}

/* On one stack the outermost call is the longest. On several stacks calls may overlap. */
static inline void end_period(struct function_stats *f, struct period *p,
                              const struct walk_call *call) {
    p->lasting |= !call->brief;
    if (--p->open || !p->lasting)
        return;
    uint64_t length = call->end_ns - p->since_ns, paused = call->thread_paused_ns - p->paused_ns;
    paused = paused < length ? paused : length;
    f->total_ns += length - paused;
    f->paused_ns += paused;
    p->lasting = false;
}

/* A call whose whole length is known. */
static inline void add_measured(struct stats *s, struct function_stats *f,
                                const struct walk_call *call) {
    uint64_t duration = call->duration_ns;
    if (stats_measured(f) == 1)
        f->min_ns = duration;
    f->min_ns = duration < f->min_ns ? duration : f->min_ns;
    f->max_ns = duration > f->max_ns ? duration : f->max_ns;
    if (s->spreads)
        spread_add(&f->spread, duration);
    add_duration(s, &f->durations, duration);
}

static inline void add_call(struct stats *s, uint32_t number, const struct walk_call *call) {
    struct function_stats *f = &s->functions[number];
    if (!f->calls && !f->before)
        ARRAY_PUSH(&s->called, number);
    f->self_ns += call->self_ns;
    f->clipped += call->clipped;
    if (call->before) {
        f->before++;
        return;
    }
    f->calls++;
    f->unwound +=
        call->how == CALL_UNWOUND || call->how == CALL_MISSED || call->how == CALL_THREAD_ENDED;
    f->inferred += call->inferred;
    f->cut += call->how == CALL_CUT;
    f->open += call->how == CALL_OPEN;
    if (call_is_measured(call->how))
        add_measured(s, f, call);
}

static inline void end_call(struct stats *s, struct period *p, uint32_t number,
                            const struct walk_call *call) {
    end_period(&s->functions[number], p, call);
    if (!call->brief)
        add_call(s, number, call);
}

void stats_add_call(struct stats *s, const struct walk_call *call, bool is_outermost) {
    struct function_stats *f = &s->functions[call->function];
    add_call(s, call->function, call);
    f->total_ns += is_outermost ? call->duration_ns : 0;
    f->paused_ns += is_outermost ? call->paused_ns : 0;
    count_pending(s);
}

/* For groups of one stream. */
static uint32_t on_open(void *ctx, const struct walk_call *call) {
    struct stats *s = ctx;
    return begin_call(&s->functions[number_of(s, call)].period, call);
}

static void on_close(void *ctx, const struct walk_call *call) {
    struct stats *s = ctx;
    uint32_t number = number_of(s, call);
    end_call(s, &s->functions[number].period, number, call);
}

/* ---- digests ---- */

static void on_ended(void *ctx, const struct digest_sum *sums, size_t count, uint32_t caller) {
    struct stats *s = ctx;
    (void)caller;
    for (size_t i = 0; i < count; i++) {
        struct function_stats *f = &s->functions[sums[i].function];
        f->total_ns += f->period.open ? 0 : sums[i].total_ns;
    }
}

static void add_function(struct stats *s, uint32_t number, const struct digest_function *from,
                         const struct digest_rare *rare) {
    struct function_stats *f = &s->functions[number];
    bool first = !stats_measured(f);
    if (!from->durations.groups)
        return;
    if (!f->calls && !f->before)
        ARRAY_PUSH(&s->called, number);
    f->min_ns = first || from->min_ns < f->min_ns ? from->min_ns : f->min_ns;
    f->max_ns = from->max_ns > f->max_ns ? from->max_ns : f->max_ns;
    f->calls += tally_add_to(&from->durations, &f->durations);
    f->self_ns += from->self_ns;
    spread_join(&f->spread, &from->spread);
    f->unwound += rare->unwound;
    f->clipped += rare->clipped;
    f->inferred += names_exact(s->source->names, number) ? 0 : rare->unwound;
}

void stats_add_digest(struct stats *s, uint32_t function, const struct digest_function *from,
                      const struct digest_rare *rare) {
    count_pending(s); /* histograms may move */
    add_function(s, function, from, rare);
}

void stats_add_total(struct stats *s, uint32_t function, uint64_t total_ns) {
    s->functions[function].total_ns += total_ns;
}

static void *new_part(void *ctx) {
    return digest_stats_new(((struct stats *)ctx)->count, ((struct stats *)ctx)->spreads);
}

static void merge_part(void *ctx, void *part) {
    struct stats *s = ctx;
    struct digest_stats *from = part;
    count_pending(s); /* histograms may move */
    for (size_t i = 0; i < from->called.count; i++) {
        uint32_t f = from->called.at[i];
        add_function(s, f, &from->functions[f], &from->rare[f]);
    }
    digest_stats_clear(from);
}

/* Digests of the groups FIRST … END − 1, for S. */
static struct digests *new_digests(struct stats *s, size_t first, size_t end) {
    static const struct digest_ops ops = {new_part, digest_stats_free, digest_stats_read,
                                          merge_part};
    return s->groups ? NULL : digest_plan(s->source, first, end, &ops, s);
}

/* All calls. This is asked once a thread, so that calls need not be counted one by one. */
static uint64_t calls_of(const struct stats *s) {
    uint64_t calls = 0;
    for (size_t i = 0; i < s->called.count; i++) {
        const struct function_stats *f = &s->functions[s->called.at[i]];
        calls += f->calls + f->before;
    }
    return calls;
}

/* THREADS were added, whose calls may all be hidden. */
static void count_threads(struct stats *s, uint32_t threads) {
    uint64_t calls = calls_of(s);
    s->threads += calls > s->calls_then ? threads : 0;
    s->calls_then = calls;
}

/* Adds the calls of GROUP, which has one stream. */
static void add_single(struct stats *s, struct stream_group group, struct digests *digests) {
    struct visitor visitor = {.ctx = s,
                              .wants_silent = true,
                              .open = on_open,
                              .close = on_close,
                              .ended = on_ended,
                              .digests = digests};
    walk_stream_group(s->source, group, &visitor);
    digests_end_group(digests);
    count_pending(s);
    count_threads(s, 1);
}

/* For groups of several streams: each thread has its own periods. */
static struct period *period_of(struct stats *s, uint32_t number, const struct walk_call *call) {
    struct period **of_stream = &s->periods[call->stream];
    if (!*of_stream)
        *of_stream = mem_alloc(s->count * sizeof **of_stream);
    return &(*of_stream)[number];
}

static uint32_t on_merged_open(void *ctx, const struct walk_call *call) {
    return begin_call(period_of(ctx, number_of(ctx, call), call), call);
}

static void on_merged_close(void *ctx, const struct walk_call *call) {
    uint32_t number = number_of(ctx, call);
    end_call(ctx, period_of(ctx, number, call), number, call);
}

struct stats *stats_new(const struct source *source, const struct caller_groups *groups) {
    struct stats *s = mem_alloc(sizeof *s);
    s->source = source;
    s->groups = groups;
    s->count = groups ? caller_groups_count(groups) : names_count(source->names);
    s->functions = mem_alloc(s->count * sizeof *s->functions);
    for (int i = 0; i < PENDING; i++)
        s->pending[i] = &s->no_counter;
    return s;
}

void stats_want_spreads(struct stats *s) { s->spreads = true; }

void stats_free(struct stats *s) {
    if (!s)
        return;
    stats_clear(s);
    ARRAY_FREE(&s->called);
    free(s->functions);
    free(s);
}

/* ---- stream groups ---- */

struct by_stream {
    struct stats *const *each;
    struct stream_group group;
};

static struct stats *stats_of_call(const struct by_stream *d, const struct walk_call *call) {
    return d->each[SEARCH(i, d->group.count, d->group.streams[i] < call->stream)];
}

static uint32_t by_stream_open(void *ctx, const struct walk_call *call) {
    return on_open(stats_of_call(ctx, call), call);
}

static void by_stream_close(void *ctx, const struct walk_call *call) {
    on_close(stats_of_call(ctx, call), call);
}

void stats_add_stream_group(struct stats *const *each, size_t index) {
    struct stream_group group = stream_groups_at(each[0]->source->stream_groups, index);
    struct by_stream by_stream = {each, group};
    if (group.count == 1) {
        struct digests *digests = new_digests(each[0], index, index + 1);
        add_single(each[0], group, digests);
        digests_free(digests);
        return;
    }
    struct visitor visitor = {
        .ctx = &by_stream, .wants_silent = true, .open = by_stream_open, .close = by_stream_close};
    walk_stream_group(each[0]->source, group, &visitor);
    for (uint32_t i = 0; i < group.count; i++) {
        count_pending(each[i]);
        count_threads(each[i], 1);
    }
}

static void add_merged(struct stats *s, struct stream_group group) {
    struct visitor visitor = {
        .ctx = s, .wants_silent = true, .open = on_merged_open, .close = on_merged_close};
    s->periods = mem_alloc(trace_reader_stream_count(s->source->reader) * sizeof *s->periods);
    walk_stream_group(s->source, group, &visitor);
    uint32_t threads = 0;
    for (uint32_t i = 0; i < group.count; i++) {
        threads += s->periods[group.streams[i]] != NULL;
        free(s->periods[group.streams[i]]);
    }
    free(s->periods);
    count_threads(s, threads);
}

void stats_add_group(struct stats *s, size_t index) {
    struct stream_group group = stream_groups_at(s->source->stream_groups, index);
    if (group.count > 1) {
        add_merged(s, group);
    } else {
        struct digests *digests = new_digests(s, index, index + 1);
        add_single(s, group, digests);
        digests_free(digests);
    }
    count_pending(s);
}

void stats_add_all(struct stats *s) {
    size_t count = stream_groups_count(s->source->stream_groups);
    struct digests *digests = new_digests(s, 0, count);
    for (size_t i = 0; i < count; i++) {
        struct stream_group group = stream_groups_at(s->source->stream_groups, i);
        if (group.count > 1)
            add_merged(s, group);
        else
            add_single(s, group, digests);
    }
    digests_free(digests);
    count_pending(s);
}

void stats_clear(struct stats *s) {
    for (size_t i = 0; i < s->called.count; i++) {
        struct function_stats *f = &s->functions[s->called.at[i]];
        histogram_done(&f->durations);
        *f = (struct function_stats){0};
    }
    s->called.count = 0;
    s->threads = 0;
    s->calls_then = 0;
}

uint32_t stats_thread_count(const struct stats *s) { return s->threads; }
size_t stats_function_count(const struct stats *s) { return s->called.count; }
uint32_t stats_function(const struct stats *s, size_t i) { return s->called.at[i]; }

const struct function_stats *stats_of(const struct stats *s, uint32_t function) {
    return &s->functions[function];
}

/* The nearest rank, limited to the exact minimum and maximum. */
uint64_t stats_percentile(const struct function_stats *f, unsigned percent) {
    uint64_t calls = stats_measured(f);
    if (!calls)
        return 0;
    uint64_t rank = calls - calls / 100 * (100 - percent) - calls % 100 * (100 - percent) / 100;
    uint64_t value = histogram_value(&f->durations, rank ? rank : 1);
    value = value < f->min_ns ? f->min_ns : value;
    return value > f->max_ns ? f->max_ns : value;
}

uint64_t stats_average(const struct function_stats *f) {
    return spread_average(&f->spread, stats_measured(f));
}

uint64_t stats_deviation(const struct function_stats *f) {
    return spread_deviation(&f->spread, stats_measured(f));
}
