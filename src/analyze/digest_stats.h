/* Digests (digest.h) for statistics of functions. */
#pragma once

#include "analyze/digests.h"
#include "analyze/spread.h"
#include "analyze/tally.h"

/* The calls of one function that digests have summed up, without their total time. */
struct digest_function {
    struct tally durations;
    struct spread spread;
    uint64_t self_ns, min_ns, max_ns;
    uint64_t total_ns; /* private: of the present STEP_CALLS */
    uint32_t open;     /* private */
    uint64_t unwound;
    uint64_t clipped; /* as in stats.h; 0 where whole blocks are summed up */
};

enum { DIGEST_PENDING = 8 };
struct digest_stats {                  /* a part */
    bool spreads;                      /* are summed up */
    uint32_t count;                    /* of functions */
    struct digest_function *functions; /* by number */
    ARRAY(uint32_t) called;            /* those with calls */
    ARRAY(uint32_t) ended;             /* in the present STEP_CALLS, with total_ns */
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
/* Makes room for DURATION in the tally of FUNCTION. */
void digest_stats_widen(struct digest_stats *s, uint32_t function, uint64_t duration);

static inline void digest_stats_count(const struct digest_pending *p) {
    if (!++*p->slot)
        tally_carry(p->tally, p->slot);
}

/* For hooks: FUNCTION's call in FRAME ends. Its `open` counts the calls that are open in the block.
 */
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
    if (--f->open || !duration)
        return;
    if (!f->total_ns)
        ARRAY_PUSH(&s->ended, function);
    f->total_ns += duration;
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
