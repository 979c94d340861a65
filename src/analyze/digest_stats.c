/* See digest_stats.h: hooks of the loop in digest_loop.h. */
#include "analyze/digest_stats.h"

struct digest_stats *digest_stats_new(uint32_t count, bool spreads) {
    struct digest_stats *s = mem_alloc(sizeof *s);
    s->spreads = spreads;
    s->functions = mem_map((count + 1) * sizeof *s->functions);
    s->rare = mem_alloc(count * sizeof *s->rare + 1);
    s->open = mem_alloc(count * sizeof *s->open + 1);
    s->totals = mem_alloc(count * sizeof *s->totals + 1);
    s->count = count;
    digest_stats_settle(s);
    return s;
}

void digest_stats_settle(struct digest_stats *s) {
    for (int i = 0; i < DIGEST_PENDING; i++) {
        if (s->pending[i].tally)
            digest_stats_count(&s->pending[i]);
        s->pending[i] = (struct digest_pending){.slot = &s->no_counter};
    }
    s->no_counter = 0; /* at most DIGEST_PENDING until the next time: nothing is carried */
}

void digest_stats_clear(struct digest_stats *s) {
    for (size_t i = 0; i < s->called.count; i++) {
        struct digest_function *f = &s->functions[s->called.at[i]];
        struct tally room = f->durations;
        tally_clear(&room);
        *f = (struct digest_function){.durations = room};
        s->rare[s->called.at[i]] = (struct digest_rare){0};
    }
    s->called.count = 0;
}

void digest_stats_free(void *part) {
    struct digest_stats *s = part;
    for (uint32_t i = 0; i < s->count; i++)
        tally_done(&s->functions[i].durations);
    ARRAY_FREE(&s->called);
    ARRAY_FREE(&s->ended);
    mem_unmap(s->functions, (s->count + 1) * sizeof *s->functions);
    free(s->rare);
    free(s->open);
    free(s->totals);
    free(s);
}

/* FUNCTION gets calls. */
static struct digest_function *reach(struct digest_stats *s, uint32_t function) {
    struct digest_function *f = &s->functions[function];
    if (!f->durations.groups) {
        ARRAY_PUSH(&s->called, function);
        f->min_ns = UINT64_MAX;
    }
    return f;
}

struct digest_function *digest_stats_add_to(struct digest_stats *s, uint32_t function,
                                            const struct digest_function *from,
                                            const struct digest_rare *rare) {
    struct digest_function *f = reach(s, function);
    f->min_ns = from->min_ns < f->min_ns ? from->min_ns : f->min_ns;
    f->max_ns = from->max_ns > f->max_ns ? from->max_ns : f->max_ns;
    f->self_ns += from->self_ns;
    spread_join(&f->spread, &from->spread);
    s->rare[function].unwound += rare->unwound;
    s->rare[function].clipped += rare->clipped;
    return f;
}

void digest_stats_join(struct digest_stats *s, const struct digest_stats *from) {
    for (size_t i = 0; i < from->called.count; i++) {
        uint32_t function = from->called.at[i];
        const struct digest_function *f = &from->functions[function];
        tally_join(&digest_stats_add_to(s, function, f, &from->rare[function])->durations,
                   &f->durations);
    }
}

/* ---- hooks ---- */

static inline uint32_t on_open(void *ctx, uint32_t function, const struct digest_frame *caller) {
    (void)caller;
    digest_stats_open(ctx, function);
    return 0;
}

__attribute__((noinline)) void digest_stats_widen(struct digest_stats *s, uint32_t function,
                                                  uint64_t duration) {
    struct digest_function *f = reach(s, function);
    digest_stats_settle(s); /* counters move */
    tally_widen(&f->durations, duration);
}

static inline void on_close(void *ctx, uint32_t function, const struct digest_frame *frame,
                            uint64_t duration) {
    digest_stats_add_plain(ctx, function, frame, duration);
}

static inline void on_close_spread(void *ctx, uint32_t function, const struct digest_frame *frame,
                                   uint64_t duration) {
    digest_stats_add(ctx, function, frame, duration);
}

static inline void on_unwind(void *ctx, uint32_t function, const struct digest_frame *frame) {
    (void)frame;
    ((struct digest_stats *)ctx)->rare[function].unwound++;
}

static inline void on_leave(void *ctx, uint32_t function, const struct digest_frame *frame) {
    (void)frame;
    ((struct digest_stats *)ctx)->open[function]--;
}

void digest_stats_sum_up(struct digest_stats *s, struct digest *to) {
    for (size_t i = 0; i < s->ended.count; i++) {
        uint32_t f = s->ended.at[i];
        ARRAY_PUSH(&to->sums, ((struct digest_sum){.function = f, .total_ns = s->totals[f]}));
        s->totals[f] = 0;
    }
    s->ended.count = 0;
}

static inline void sum_up(void *ctx, struct digest *to) { digest_stats_sum_up(ctx, to); }

static void read_plain(struct digest_stats *s, struct digest_reader *r, struct digest *to) {
    static const struct digest_hooks hooks = {NULL,     on_open, on_close, on_unwind,
                                              on_leave, sum_up,  true,     false};
    digest_read(r, &hooks, s, to);
}

static void read_with_spreads(struct digest_stats *s, struct digest_reader *r, struct digest *to) {
    static const struct digest_hooks hooks = {
        NULL, on_open, on_close_spread, on_unwind, on_leave, sum_up, true, false};
    digest_read(r, &hooks, s, to);
}

/* The same of a view without a span. */
static void read_plain_whole(struct digest_stats *s, struct digest_reader *r, struct digest *to) {
    static const struct digest_hooks hooks = {NULL,     on_open, on_close, on_unwind,
                                              on_leave, sum_up,  false,    false};
    digest_read(r, &hooks, s, to);
}

static void read_whole(struct digest_stats *s, struct digest_reader *r, struct digest *to) {
    static const struct digest_hooks hooks = {NULL,     on_open, on_close_spread, on_unwind,
                                              on_leave, sum_up,  false,           false};
    digest_read(r, &hooks, s, to);
}

void digest_stats_read(void *part, struct digest_reader *r, struct digest *to) {
    struct digest_stats *s = part;
    if (r->in_whole)
        (s->spreads ? read_whole : read_plain_whole)(s, r, to);
    else
        (s->spreads ? read_with_spreads : read_plain)(s, r, to);
    digest_stats_settle(s);
}
