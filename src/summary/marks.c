/* See marks.h. */
#include "summary/marks.h"

#include <string.h>

static void add(struct marks *m, const struct summary_mark *mark) {
    if (m->counts[mark->kind]++ >= MARKS_ROOM)
        return;
    ARRAY_PUSH(&m->list, *mark);
    m->list.at[m->list.count - 1].joined = 1;
}

void marks_pause(struct marks *m, const struct walk_pause *p) {
    add(m, &(struct summary_mark){.kind = MARK_PAUSE,
                                  .stream = p->stream,
                                  .start_ns = p->end_ns - p->length_ns,
                                  .end_ns = p->end_ns,
                                  .cause = p->cause,
                                  .in_call = p->in_call});
}

void marks_lost(struct marks *m, uint32_t stream, uint64_t ns, uint64_t count) {
    add(m, &(struct summary_mark){
               .kind = MARK_LOST, .stream = stream, .start_ns = ns, .end_ns = ns, .count = count});
}

/* Calls that one gap has cut have one mark. */
void marks_close(struct marks *m, const struct walk_call *call) {
    if (call->how != CALL_CUT)
        return;
    struct summary_mark *last = m->list.count ? &m->list.at[m->list.count - 1] : NULL;
    if (last && last->kind == MARK_CUT && last->stream == call->stream &&
        last->end_ns == call->end_ns) {
        last->count++;
        return;
    }
    add(m, &(struct summary_mark){.kind = MARK_CUT,
                                  .stream = call->stream,
                                  .start_ns = call->end_ns,
                                  .end_ns = call->end_ns,
                                  .count = 1});
}

void marks_probe(struct marks *m, uint32_t stream, uint64_t ns, uint32_t function) {
    add(m, &(struct summary_mark){.kind = MARK_PROBE,
                                  .stream = stream,
                                  .start_ns = ns,
                                  .end_ns = ns,
                                  .function = function});
}

static int compare(const void *a, const void *b) {
    const struct summary_mark *x = a, *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return x->kind != y->kind ? (x->kind > y->kind) - (x->kind < y->kind)
                              : (x->stream > y->stream) - (x->stream < y->stream);
}

static void choose(const struct summary_range *range, const struct summary_mark *mark,
                   summary_mark_list *ret) {
    bool shown = !range->streams || mark->stream == WALK_NONE || range->streams[mark->stream];
    if (shown && mark->end_ns >= range->since_ns && mark->start_ns <= range->until_ns)
        ARRAY_PUSH(ret, *mark);
}

/* The thread of PROCESS with the id TID at NS; WALK_NONE: not known. */
static uint32_t stream_of(const struct trace_reader *r, const struct trace_death *d) {
    uint32_t found = WALK_NONE;
    for (size_t i = 0; i < trace_reader_stream_count(r); i++) {
        const struct trace_thread *t = trace_reader_thread(r, i);
        if (t->pid == d->pid && t->tid == d->tid && t->start <= d->ticks)
            found = (uint32_t)i;
    }
    return found;
}

static void choose_records(const struct trace_reader *r, const struct summary_range *range,
                           summary_mark_list *ret) {
    struct changes changes;
    changes_read(r, &changes);
    for (size_t i = 0; i < changes.list.count; i++) {
        const struct change *c = &changes.list.at[i];
        choose(range,
               &(struct summary_mark){.kind = MARK_CHANGE,
                                      .joined = 1,
                                      .stream = WALK_NONE,
                                      .start_ns = c->ns,
                                      .end_ns = c->end_ns,
                                      .change = c->record},
               ret);
    }
    changes_done(&changes);
    for (size_t i = 0; i < trace_reader_death_count(r); i++) {
        const struct trace_death *d = trace_reader_death(r, i);
        uint64_t ns = trace_reader_ns(r, d->ticks);
        choose(range,
               &(struct summary_mark){.kind = MARK_DEATH,
                                      .joined = 1,
                                      .stream = stream_of(r, d),
                                      .start_ns = ns,
                                      .end_ns = ns,
                                      .death = d},
               ret);
    }
}

/* ---- marks that are too near to be told apart ---- */

static bool are_alike(const struct summary_mark *a, const struct summary_mark *b) {
    return a->kind == b->kind && a->stream == b->stream && a->function == b->function &&
           a->cause == b->cause && a->change == b->change && a->death == b->death;
}

/* The mark of LIST, from FIRST on, that MARK is joined to; NULL: none. */
static struct summary_mark *partner(summary_mark_list *list, size_t first, size_t end,
                                    const struct summary_mark *mark) {
    for (size_t i = end; i-- > first;)
        if (are_alike(&list->at[i], mark))
            return &list->at[i];
    return NULL;
}

/* Only marks that begin and end in one column of WIDTH are joined. LIST is in order of time. */
static void join(summary_mark_list *list, const struct summary_range *range, uint64_t width) {
    uint64_t column = UINT64_MAX;
    size_t kept = 0, first = 0; /* of COLUMN */
    for (size_t i = 0; i < list->count; i++) {
        struct summary_mark mark = list->at[i];
        uint64_t from = mark.start_ns > range->since_ns ? mark.start_ns - range->since_ns : 0;
        bool is_short = (mark.end_ns - range->since_ns) / width == from / width;
        first = from / width == column ? first : kept;
        column = from / width;
        struct summary_mark *with = is_short ? partner(list, first, kept, &mark) : NULL;
        if (!with) {
            list->at[kept++] = mark;
            continue;
        }
        with->joined += mark.joined;
        with->count += mark.count;
        with->end_ns = mark.end_ns > with->end_ns ? mark.end_ns : with->end_ns;
    }
    list->count = kept;
}

static uint64_t column_width(const struct trace_reader *r, const struct summary_range *range,
                             unsigned columns) {
    uint64_t end = trace_reader_duration_ns(r);
    uint64_t until = range->until_ns < end ? range->until_ns : end;
    return until > range->since_ns ? (until - range->since_ns) / columns + 1 : 1;
}

static void limit(summary_mark_list *list, const struct summary_marks_query *query) {
    size_t kept = list->count < query->limit ? list->count : query->limit;
    if (query->last && kept)
        memmove(list->at, list->at + (list->count - kept), kept * sizeof *list->at);
    list->count = kept;
}

size_t marks_find(const struct marks *m, const struct trace_reader *r,
                  const struct summary_range *range, const struct summary_marks_query *query,
                  summary_mark_list *ret) {
    for (size_t i = 0; i < m->list.count; i++)
        choose(range, &m->list.at[i], ret);
    choose_records(r, range, ret);
    if (ret->count > 1)
        qsort(ret->at, ret->count, sizeof *ret->at, compare);
    if (query->columns)
        join(ret, range, column_width(r, range, query->columns));
    size_t count = ret->count;
    limit(ret, query);
    return count;
}
