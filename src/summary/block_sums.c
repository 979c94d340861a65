/* See block_sums.h: hooks of the loop in digest_loop.h. */
#include "summary/block_sums.h"

#include "analyze/walk_ticks.h"
#include "trace/calls.h"

enum { MOST_CALLS = 4096 }; /* that a block passes on, usually */

struct block_sums *block_sums_new(uint32_t function_count, const struct block_limits *limits) {
    struct block_sums *s = mem_alloc(sizeof *s);
    s->limits = limits;
    s->stats = digest_stats_new(function_count, true);
    return s;
}

void block_sums_free(void *part) {
    struct block_sums *s = part;
    digest_stats_free(s->stats);
    ARRAY_FREE(&s->levels);
    ARRAY_FREE(&s->calls);
    free(s);
}

static inline uint32_t on_open(void *ctx, uint32_t function, const struct digest_frame *caller) {
    struct block_sums *s = ctx;
    (void)caller;
    digest_stats_open(s->stats, function);
    return 0;
}

static inline void on_exit_event(void *ctx, enum event_kind kind) {
    ((struct block_sums *)ctx)->exit = kind;
}

static __attribute__((noinline)) void add_levels(struct block_sums *s, uint32_t depth) {
    while (s->levels.count <= depth)
        ARRAY_PUSH(&s->levels, ((struct digest_level){0}));
}

static inline void count_call(struct block_sums *s, uint32_t function, uint32_t depth,
                              uint64_t start_ns, uint64_t duration) {
    if (depth >= s->levels.count)
        add_levels(s, depth);
    struct digest_level *l = &s->levels.at[depth];
    uint64_t weight = duration + 1;
    s->depth_count = depth >= s->depth_count ? depth + 1 : s->depth_count;
    if (!l->calls++)
        l->start_ns = start_ns;
    l->end_ns = start_ns + duration;
    if (l->function == function) {
        l->weight += weight;
    } else if (l->weight >= weight) {
        l->weight -= weight;
    } else {
        l->function = function;
        l->weight = weight - l->weight;
    }
}

static __attribute__((noinline)) void tell(struct block_sums *s, uint32_t function,
                                           const struct digest_frame *f, uint64_t duration) {
    const struct digest_frame *caller = f - 1;
    ARRAY_PUSH(&s->calls,
               ((struct digest_call){
                   .start_ns = f->start_ns,
                   .end_ns = f->start_ns + duration,
                   .self_ns = duration - f->callees_ns,
                   .clipped_self_ns = walk_ticks_self(&s->scale, duration, f->callees),
                   .function = function,
                   .caller = caller == s->frames ? UINT32_MAX : s->functions[caller->number],
                   .depth = (uint32_t)(caller - s->frames),
                   .how = s->exit == EVENT_TAIL ? CALL_TAIL : CALL_RETURNED,
                   .why = (uint8_t)s->why}));
}

static inline void on_close(void *ctx, uint32_t function, const struct digest_frame *f,
                            uint64_t duration) {
    struct block_sums *s = ctx;
    digest_stats_add(s->stats, function, f, duration);
    uint64_t slow = atomic_load_explicit(&s->limits->slow_ns[function], memory_order_relaxed);
    bool is_long = duration > s->threshold_ns || !s->threshold_ns;
    s->why = (is_long ? SINGLE_LONG : 0) | (duration >= slow ? SINGLE_SLOW : 0);
    if (!is_long)
        count_call(s, function, (uint32_t)(f - s->frames) - 1, f->start_ns, duration);
    if (s->why)
        tell(s, function, f, duration);
}

static inline void on_unwind(void *ctx, uint32_t function, const struct digest_frame *f) {
    struct block_sums *s = ctx;
    (void)f;
    s->stats->rare[function].unwound++;
    if (s->why)
        s->calls.at[s->calls.count - 1].how = CALL_UNWOUND;
}

static inline void on_leave(void *ctx, uint32_t function, const struct digest_frame *f) {
    struct block_sums *s = ctx;
    (void)f;
    s->stats->open[function]--;
}

static void sum_up(void *ctx, struct digest *to) {
    struct block_sums *s = ctx;
    digest_stats_sum_up(s->stats, to);
    ARRAY_RESERVE(&to->calls, to->calls.count + s->calls.count);
    for (size_t i = 0; i < s->calls.count; i++)
        to->calls.at[to->calls.count++] = s->calls.at[i];
    s->calls.count = 0;
    for (uint32_t i = 0; i < s->depth_count; i++) {
        struct digest_level *l = &s->levels.at[i];
        l->depth = i;
        if (l->calls)
            ARRAY_PUSH(&to->levels, *l);
        *l = (struct digest_level){0};
    }
    s->depth_count = 0;
}

void block_sums_read(void *part, struct digest_reader *r, struct digest *to) {
    static const struct digest_hooks hooks = {on_exit_event, on_open, on_close, on_unwind,
                                              on_leave,      sum_up,  true,     true};
    struct block_sums *s = part;
    s->frames = r->frames;
    s->functions = r->functions.at;
    s->scale = r->scale;
    s->threshold_ns = s->limits->threshold_ns;
    if (s->threshold_ns && to->calls.room > MOST_CALLS)
        ARRAY_FREE(&to->calls); /* a remainder of the trace's beginning, where all are passed on */
    if (s->threshold_ns && s->calls.room > MOST_CALLS)
        ARRAY_FREE(&s->calls);
    digest_read(r, &hooks, s, to);
    digest_stats_settle(s->stats);
}
