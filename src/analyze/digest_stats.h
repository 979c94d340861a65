/* Digests (digest.h) for statistics of functions. */
#pragma once

#include "analyze/digests.h"
#include "analyze/spread.h"
#include "analyze/tally.h"

/* The calls of one function that digests have summed up, without their total time. A line of the
 * cache: each call that ends changes it. */
struct digest_function {
    struct tally durations;
    struct spread spread;
    uint64_t self_ns, min_ns, max_ns;
};
/* What few calls change. */
struct digest_rare {
    uint64_t unwound;
    uint64_t clipped; /* as in stats.h; 0 where whole blocks are summed up */
};

enum { DIGEST_PENDING = 8 };
struct digest_stats { /* a part */
    bool spreads;     /* are summed up */
    uint32_t count;   /* of functions */
    /* By function: */
    struct digest_function *functions;
    struct digest_rare *rare;
    uint32_t *open;         /* private: calls of the block */
    uint64_t *totals;       /* private: times in the present STEP_CALLS */
    ARRAY(uint32_t) called; /* functions with calls */
    ARRAY(uint32_t) ended;  /* in the present STEP_CALLS, with a total time */
    /* Counters to be incremented, which are being fetched into a near cache meanwhile. */
    struct digest_pending {
        uint8_t *slot;
        struct tally *tally;
    } pending[DIGEST_PENDING];
    uint32_t next_pending;
    uint8_t no_counter; /* free entries of pending[] point here */
};

/* COUNT functions. SPREADS: they have struct spread. */
struct digest_stats *digest_stats_new(uint32_t count, bool spreads);
void digest_stats_clear(struct digest_stats *s);
/* Counts what is pending: after each block. */
void digest_stats_settle(struct digest_stats *s);
/* Adds FROM, but for its durations, which are to be added to the result. */
struct digest_function *digest_stats_add_to(struct digest_stats *s, uint32_t function,
                                            const struct digest_function *from,
                                            const struct digest_rare *rare);
/* Adds all of FROM. */
void digest_stats_join(struct digest_stats *s, const struct digest_stats *from);
/* Makes room for DURATION in the tally of FUNCTION. */
void digest_stats_widen(struct digest_stats *s, uint32_t function, uint64_t duration);

static inline void digest_stats_count(const struct digest_pending *p) {
    if (!++*p->slot)
        tally_carry(p->tally, p->slot);
}

/* For hooks: a call of FUNCTION is entered. */
static inline void digest_stats_open(struct digest_stats *s, uint32_t function) {
    __builtin_prefetch(&s->functions[function], 1); /* it ends soon, mostly */
    s->open[function]++;
}
/* For hooks: FUNCTION's call in FRAME ends. */
static inline void digest_stats_add_plain(struct digest_stats *s, uint32_t function,
                                          const struct digest_frame *frame, uint64_t duration) {
    struct digest_function *f = &s->functions[function];
    uint8_t *slot = tally_slot(&f->durations, duration);
    if (!slot) {
        digest_stats_widen(s, function, duration);
        slot = tally_slot(&f->durations, duration);
    }
    __builtin_prefetch(slot, 1);
    struct digest_pending *turn = &s->pending[s->next_pending++ % DIGEST_PENDING];
    digest_stats_count(turn);
    *turn = (struct digest_pending){slot, &f->durations};
    f->self_ns += duration - frame->callees_ns;
    f->min_ns = duration < f->min_ns ? duration : f->min_ns;
    f->max_ns = duration > f->max_ns ? duration : f->max_ns;
    if (--s->open[function] || !duration)
        return;
    if (!s->totals[function])
        ARRAY_PUSH(&s->ended, function);
    s->totals[function] += duration;
}
/* The same with spreads. */
static inline void digest_stats_add(struct digest_stats *s, uint32_t function,
                                    const struct digest_frame *frame, uint64_t duration) {
    digest_stats_add_plain(s, function, frame, duration);
    spread_add(&s->functions[function].spread, duration);
}
/* Moves the total times of a STEP_CALLS to TO. */
void digest_stats_sum_up(struct digest_stats *s, struct digest *to);

/* For struct digest_ops. */
void digest_stats_free(void *part);
void digest_stats_read(void *part, struct digest_reader *r, struct digest *to);
