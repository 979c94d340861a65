/* See session.h. */
#include "summary/session.h"

#include <pthread.h>

struct session_pool {
    struct trace_reader *reader;
    unsigned workers;
    pthread_mutex_t lock;
    struct session *unused;
};

struct session_pool *session_pool_new(struct trace_reader *reader, unsigned workers) {
    struct session_pool *p = mem_alloc(sizeof *p);
    p->reader = reader;
    p->workers = workers;
    pthread_mutex_init(&p->lock, NULL);
    return p;
}

static struct session *new_session(const struct session_pool *p) {
    struct session *s = mem_alloc(sizeof *s);
    s->source.reader = p->reader;
    s->source.workers = p->workers;
    s->source.stream_groups = stream_groups_new(p->reader);
    s->source.forks = forks_new(p->reader, s->source.stream_groups);
    s->source.names = names_new(p->reader);
    return s;
}

static void free_session(struct session *s) {
    view_filter_free(s->source.filter);
    names_free(s->source.names);
    forks_free(s->source.forks);
    stream_groups_free(s->source.stream_groups);
    free(s);
}

void session_pool_free(struct session_pool *p) {
    if (!p)
        return;
    while (p->unused) {
        struct session *s = p->unused;
        p->unused = s->next;
        free_session(s);
    }
    pthread_mutex_destroy(&p->lock);
    free(p);
}

/* A view without filters cannot fail. */
static void set_filter(struct session *s, const struct summary_range *range) {
    const struct trace_reader *r = s->source.reader;
    s->spec = (struct view_spec){.since_ns = range ? range->since_ns : 0,
                                 .until_ns = range ? range->until_ns : UINT64_MAX};
    if (view_filter_new(&s->spec, r, s->source.names, &s->source.filter, NULL) < 0)
        abort();
    if (!range || !range->streams)
        return;
    size_t count = trace_reader_stream_count(r);
    s->source.filter->streams = mem_alloc(count + 1);
    memcpy(s->source.filter->streams, range->streams, count);
}

struct session *session_take(struct session_pool *p, const struct summary_range *range) {
    pthread_mutex_lock(&p->lock);
    struct session *s = p->unused;
    if (s)
        p->unused = s->next;
    pthread_mutex_unlock(&p->lock);
    s = s ? s : new_session(p);
    set_filter(s, range);
    s->source.stop = range ? range->cancel : NULL;
    s->source.on_progress = range ? range->on_progress : NULL;
    s->source.ctx = range ? range->ctx : NULL;
    return s;
}

void session_give(struct session_pool *p, struct session *s) {
    view_filter_free(s->source.filter);
    s->source.filter = NULL;
    pthread_mutex_lock(&p->lock);
    s->next = p->unused;
    p->unused = s;
    pthread_mutex_unlock(&p->lock);
}
