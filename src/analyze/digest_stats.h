/* Digests (digest.h) for statistics of functions. */
#pragma once

#include "analyze/digests.h"
#include "analyze/histogram.h"
#include "analyze/spread.h"

/* The calls of one function that digests have summed up, without their total time. */
struct digest_function {
    struct histogram durations;
    struct spread spread;
    uint64_t self_ns, min_ns, max_ns;
    uint64_t total_ns; /* private: of the present STEP_CALLS */
    uint32_t open;     /* private */
    uint64_t unwound;
};

struct digest_stats {                  /* a part */
    bool spreads;                      /* are summed up */
    struct digest_function *functions; /* by number */
    ARRAY(uint32_t) called;            /* those with calls */
    ARRAY(uint32_t) ended;             /* in the present STEP_CALLS, with total_ns */
};

/* COUNT functions. SPREADS: they have struct spread. */
struct digest_stats *digest_stats_new(uint32_t count, bool spreads);
void digest_stats_clear(struct digest_stats *s);
/* For struct digest_ops. */
void digest_stats_free(void *part);
void digest_stats_read(void *part, struct digest_reader *r, struct digest *to);
