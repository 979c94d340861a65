/* What one thread needs to walk the trace. Sessions are kept for the next query. */
#pragma once

#include "summary/summary.h"

struct session {
    struct source source;
    struct view_spec spec;
    struct session *next; /* the pool's */
};

struct session_pool;
struct session_pool *session_pool_new(struct trace_reader *reader, unsigned workers);
void session_pool_free(struct session_pool *p);
/* Lends a session that shows RANGE (NULL: all). */
struct session *session_take(struct session_pool *p, const struct summary_range *range);
void session_give(struct session_pool *p, struct session *s);
