/* See summary.h: the life of a summary, and what needs no reading. */
#include "summary/summary.h"

#include "summary/state.h"

/* A kept summary is there before the first query. */
static void read_kept(struct summary *s) {
    s->keep = s->keep && trace_reader_complete(s->reader) && kept_key_of(s->path, &s->key);
    s->from_file = s->keep && kept_load(s->path, &s->key, &s->pass, &s->file);
    s->pass.complete = s->from_file;
}

/* What was made is in a file then, if it can be: less memory is taken than for a copy. Until it is
 * complete, queries do not look at it without the lock. False: nothing was made. */
static bool finish(struct summary *s) {
    struct pass *p = &s->pass;
    if (s->keep && !p->stop && !p->any_torn) /* of a torn stream the plan is another one */
        kept_save(s->path, &s->key, p, &s->file);
    pthread_rwlock_wrlock(&p->lock);
    bool made = !s->file.at || kept_change_over(&s->file, p);
    p->complete = made && !p->stop;
    pthread_rwlock_unlock(&p->lock);
    return made;
}

static void make(struct summary *s) {
    pass_run(&s->pass);
    if (finish(s))
        return;
    s->keep = false;
    pass_run(&s->pass);
    finish(s);
}

static void *run(void *ctx) {
    struct summary *s = ctx;
    if (!s->from_file)
        make(s);
    mem_give_back();
    pthread_mutex_lock(&s->lock);
    s->ended = true;
    pthread_cond_broadcast(&s->has_ended);
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

struct summary *summary_start(struct trace_reader *reader, const struct summary_options *options) {
    struct summary *s = mem_alloc(sizeof *s);
    s->reader = reader;
    s->path = mem_strdup(options->path);
    s->keep = options->keep;
    s->sessions = session_pool_new(reader, options->workers);
    s->duration_ns = trace_reader_duration_ns(reader);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->has_ended, NULL);
    pass_init(&s->pass, reader, s->sessions, options);
    read_kept(s);
    s->has_thread = pthread_create(&s->thread, NULL, run, s) == 0;
    if (!s->has_thread)
        run(s);
    return s;
}

void summary_free(struct summary *s) {
    if (!s)
        return;
    s->pass.stop = true;
    if (s->has_thread)
        pthread_join(s->thread, NULL);
    pass_done(&s->pass);
    kept_unmap(&s->file);
    session_pool_free(s->sessions);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->has_ended);
    free(s->path);
    free(s);
}

void summary_wait(struct summary *s) {
    pthread_mutex_lock(&s->lock);
    while (!s->ended)
        pthread_cond_wait(&s->has_ended, &s->lock);
    pthread_mutex_unlock(&s->lock);
}

struct summary_state summary_state(struct summary *s) {
    struct summary_state state = {.all_items = s->pass.all_items};
    pthread_rwlock_rdlock(&s->pass.lock);
    state.complete = s->pass.complete;
    state.items = state.complete ? state.all_items : s->pass.items; /* these have frames, too */
    state.items = state.items < state.all_items ? state.items : state.all_items;
    state.from_file = s->from_file;
    state.threshold_ns = s->pass.store->threshold_ns;
    state.spans = s->pass.store->spans;
    pthread_rwlock_unlock(&s->pass.lock);
    return state;
}

uint32_t summary_depth(struct summary *s, uint32_t stream) {
    pthread_rwlock_rdlock(&s->pass.lock);
    uint32_t depth = s->pass.store->streams[stream].depth;
    pthread_rwlock_unlock(&s->pass.lock);
    return depth;
}

/* Spreads the items of a block evenly over its time. */
static void add_block(const struct summary *s, size_t block, const struct summary_range *range,
                      unsigned columns, uint32_t *ret) {
    struct trace_block_facts facts = trace_reader_block(s->reader, block);
    double first = (double)trace_reader_ns(s->reader, facts.first);
    double last = (double)trace_reader_ns(s->reader, facts.last) + 1;
    double width = ((double)(range->until_ns - range->since_ns) + 1) / columns;
    double from = (first - (double)range->since_ns) / width;
    double to = (last - (double)range->since_ns) / width;
    double per_column = facts.items / (to - from);
    if (to <= 0 || from >= columns)
        return;
    for (unsigned i = from > 0 ? (unsigned)from : 0; i < columns && i < to; i++) {
        double low = from > i ? from : i, high = to < i + 1.0 ? to : i + 1.0;
        double sum = (double)ret[i] + (high - low) * per_column + 0.5;
        ret[i] = sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
    }
}

void summary_density(struct summary *s, uint64_t since_ns, uint64_t until_ns, unsigned columns,
                     uint32_t *ret) {
    until_ns = until_ns < s->duration_ns ? until_ns : s->duration_ns;
    struct summary_range range = {.since_ns = since_ns,
                                  .until_ns = until_ns > since_ns ? until_ns : since_ns};
    size_t streams = trace_reader_stream_count(s->reader);
    memset(ret, 0, streams * columns * sizeof *ret);
    for (size_t i = 0; i < streams; i++)
        for (size_t b = trace_reader_first_block(s->reader, i);
             b < trace_reader_end_block(s->reader, i); b++)
            add_block(s, b, &range, columns, ret + i * columns);
}

void summary_marks(struct summary *s, const struct summary_range *range,
                   const struct summary_marks_query *query, summary_mark_list *ret,
                   size_t *ret_count) {
    *ret = (summary_mark_list){0};
    pthread_rwlock_rdlock(&s->pass.lock);
    *ret_count = marks_find(&s->pass.marks, s->reader, range, query, ret);
    pthread_rwlock_unlock(&s->pass.lock);
}
