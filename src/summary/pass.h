/* The pass over the trace that makes a summary. */
#pragma once

#include <pthread.h>

#include "summary/marks.h"
#include "summary/session.h"
#include "summary/store.h"

/* What the pass makes. With LOCK, written by the pass alone until it has ended. */
struct pass {
    struct trace_reader *reader;
    struct session_pool *sessions;
    pthread_rwlock_t lock;
    struct store *store;
    struct marks marks;
    atomic_ullong items; /* read so far */
    atomic_bool stop;
    bool complete; /* all was read */
};

void pass_init(struct pass *p, struct trace_reader *reader, struct session_pool *sessions,
               uint64_t most_spans);
/* Reads the trace, unless it is stopped. */
void pass_run(struct pass *p);
void pass_done(struct pass *p);
