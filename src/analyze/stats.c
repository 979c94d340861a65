#include "analyze/stats.h"

#include "base/mem.h"

enum { PENDING = 16 };

struct stats {
    const struct source *source;
    struct visitor visitor;
    struct function_stats *functions; /* by number */
    ARRAY(uint32_t) called;
    /* Counters of histograms that are still to be incremented. They are rarely in a near cache:
     * by the time that one has come, its turn has. */
    uint64_t *pending[PENDING];
    uint32_t next_pending;
    uint64_t nothing; /* what else pending[] points to */
};

static void count_pending(struct stats *s) {
    for (int i = 0; i < PENDING; i++) {
        ++*s->pending[i];
        s->pending[i] = &s->nothing;
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

static uint32_t on_open(void *ctx, const struct walk_call *call) {
    struct stats *s = ctx;
    struct function_stats *f = &s->functions[call->function];
    if (!f->open++)
        f->busy_since_ns = call->start_ns;
    return 0;
}

/* On one stack the outermost call is the longest; on several, calls may overlap in any way. */
static void on_close(void *ctx, const struct walk_call *call) {
    struct stats *s = ctx;
    struct function_stats *f = &s->functions[call->function];
    uint64_t duration = call->end_ns - call->start_ns;
    f->lasting |= !call->brief;
    if (!--f->open && f->lasting) {
        f->total_ns += call->end_ns - f->busy_since_ns;
        f->lasting = false;
    }
    if (call->brief)
        return;
    if (!f->calls && !f->before)
        ARRAY_PUSH(&s->called, call->function);
    f->self_ns += call->self_ns;
    if (call->before) {
        f->before++;
        return;
    }
    if (!f->calls++)
        f->min_ns = duration;
    f->min_ns = duration < f->min_ns ? duration : f->min_ns;
    f->max_ns = duration > f->max_ns ? duration : f->max_ns;
    f->unwound += call->how == CALL_UNWOUND || call->how == CALL_MISSED || call->how == CALL_ENDED;
    f->inferred += call->inferred;
    add_duration(s, &f->durations, duration);
}

struct stats *stats_new(const struct source *source) {
    struct stats *s = mem_alloc(sizeof *s);
    s->source = source;
    s->visitor = (struct visitor){.ctx = s, .open = on_open, .close = on_close};
    s->functions = mem_alloc(names_count(source->names) * sizeof *s->functions);
    for (int i = 0; i < PENDING; i++)
        s->pending[i] = &s->nothing;
    return s;
}

void stats_free(struct stats *s) {
    if (!s)
        return;
    stats_clear(s);
    ARRAY_FREE(&s->called);
    free(s->functions);
    free(s);
}

void stats_add_stream(struct stats *s, uint32_t stream) {
    walk_stream(s->source, stream, &s->visitor);
    count_pending(s);
}

void stats_add_all(struct stats *s) {
    walk_all(s->source, &s->visitor);
    count_pending(s);
}

void stats_clear(struct stats *s) {
    for (size_t i = 0; i < s->called.count; i++) {
        struct function_stats *f = &s->functions[s->called.at[i]];
        histogram_done(&f->durations);
        *f = (struct function_stats){0};
    }
    s->called.count = 0;
}

size_t stats_function_count(const struct stats *s) { return s->called.count; }
uint32_t stats_function(const struct stats *s, size_t i) { return s->called.at[i]; }

const struct function_stats *stats_of(const struct stats *s, uint32_t function) {
    return &s->functions[function];
}

/* The nearest rank, kept within what was measured exactly. */
uint64_t stats_percentile(const struct function_stats *f, unsigned percent) {
    if (!f->calls)
        return 0;
    uint64_t rank =
        f->calls - f->calls / 100 * (100 - percent) - f->calls % 100 * (100 - percent) / 100;
    uint64_t value = histogram_value(&f->durations, rank ? rank : 1);
    value = value < f->min_ns ? f->min_ns : value;
    return value > f->max_ns ? f->max_ns : value;
}
