/* The summary itself, for the files that answer queries. */
#pragma once

#include "summary/kept.h"

struct summary {
    struct trace_reader *reader;
    char *path;
    struct session_pool *sessions;
    struct pass pass;
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* of `ended` */
    pthread_cond_t has_ended;
    bool ended;
    bool keep, from_file;
    struct kept_file file;
    struct kept_key key;
    uint64_t duration_ns;
};

/* Whether RANGE does not contain all of a call. */
static inline bool summary_clips(const struct summary_range *range, uint64_t start_ns,
                                 uint64_t end_ns) {
    return start_ns < range->since_ns || end_ns > range->until_ns;
}

static inline bool summary_asks_for(const struct summary_range *range, uint32_t stream) {
    return !range->streams || range->streams[stream];
}
