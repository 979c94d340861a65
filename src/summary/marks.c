/* See marks.h. */
#include "summary/marks.h"

void marks_add(struct marks *m, const struct summary_mark *mark) {
    if (m->counts[mark->kind]++ < MARKS_ROOM)
        ARRAY_PUSH(&m->list, *mark);
}

void marks_pause(struct marks *m, const struct walk_pause *p) {
    marks_add(m, &(struct summary_mark){.kind = MARK_PAUSE,
                                        .stream = p->stream,
                                        .start_ns = p->end_ns - p->length_ns,
                                        .end_ns = p->end_ns,
                                        .cause = p->cause,
                                        .in_call = p->in_call});
}

void marks_lost(struct marks *m, uint32_t stream, uint64_t ns, uint64_t count) {
    marks_add(
        m, &(struct summary_mark){
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
    marks_add(m, &(struct summary_mark){.kind = MARK_CUT,
                                        .stream = call->stream,
                                        .start_ns = call->end_ns,
                                        .end_ns = call->end_ns,
                                        .count = 1});
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
                                      .stream = stream_of(r, d),
                                      .start_ns = ns,
                                      .end_ns = ns,
                                      .death = d},
               ret);
    }
}

size_t marks_find(const struct marks *m, const struct trace_reader *r,
                  const struct summary_range *range, size_t limit, summary_mark_list *ret) {
    for (size_t i = 0; i < m->list.count; i++)
        choose(range, &m->list.at[i], ret);
    choose_records(r, range, ret);
    size_t count = ret->count;
    if (count > 1)
        qsort(ret->at, count, sizeof *ret->at, compare);
    ret->count = count < limit ? count : limit;
    return count;
}
