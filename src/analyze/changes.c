/* See changes.h: reads the records of one process after the other, then sorts by time. */
#include "analyze/changes.h"

/* By process, then time; records of the same time stay in the reader's order. */
static int compare_records(const void *a, const void *b) {
    const struct trace_change *const *x = a, *const *y = b;
    if ((*x)->pid != (*y)->pid)
        return (*x)->pid < (*y)->pid ? -1 : 1;
    return (*x > *y) - (*x < *y);
}

static int compare_changes(const void *a, const void *b) {
    const struct change *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns < y->ns ? -1 : 1;
    return (x->record > y->record) - (x->record < y->record);
}

/* Ends the pause that was added last at NS. */
static void end_pause(struct changes *c, uint64_t ns) {
    struct change *pause = &c->list.at[c->list.count - 1];
    pause->end_ns = ns > pause->ns ? ns : pause->ns;
    pause->open = false;
}

/* The records [FROM, END) of one process. */
static void read_process(const struct trace_reader *r, const struct trace_change *const *from,
                         const struct trace_change *const *end, struct changes *ret) {
    bool paused = false;
    for (; from < end; from++) {
        const struct trace_change *record = *from;
        uint64_t ns = trace_reader_ns(r, record->ticks);
        if (record->kind > TRACE_ENDED || (record->kind == TRACE_PAUSED && paused))
            continue;
        if (paused && record->kind != TRACE_CHOSEN)
            end_pause(ret, ns);
        paused = record->kind == TRACE_PAUSED;
        if (record->kind == TRACE_RESUMED || record->kind == TRACE_ENDED)
            continue;
        struct change change = {record->kind, record->pid, ns, ns, paused, record};
        ARRAY_PUSH(&ret->list, change);
        ret->pauses += paused;
        ret->choices += record->kind == TRACE_CHOSEN;
    }
    if (paused) {
        end_pause(ret, trace_reader_duration_ns(r));
        ret->list.at[ret->list.count - 1].open = true;
    }
}

void changes_read(const struct trace_reader *r, struct changes *ret) {
    size_t count = trace_reader_change_count(r);
    AUTO_FREE const struct trace_change **records = mem_alloc(count * sizeof *records);
    *ret = (struct changes){0};
    for (size_t i = 0; i < count; i++)
        records[i] = trace_reader_change(r, i);
    if (count)
        qsort(records, count, sizeof *records, compare_records);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i; end < count && records[end]->pid == records[i]->pid;)
            end++;
        read_process(r, records + i, records + end, ret);
    }
    if (ret->list.count)
        qsort(ret->list.at, ret->list.count, sizeof *ret->list.at, compare_changes);
}

static bool shows_process(const struct view_filter *filter, const struct trace_reader *r,
                          uint32_t pid) {
    bool shows = !pid || !filter->streams;
    for (uint32_t i = 0; !shows && i < trace_reader_stream_count(r); i++)
        shows = trace_reader_thread(r, i)->pid == pid && view_filter_shows_stream(filter, i);
    return shows;
}

void changes_show(struct changes *c, const struct view_filter *filter,
                  const struct trace_reader *r) {
    uint64_t since = filter->spec.since_ns, until = filter->spec.until_ns;
    size_t kept = 0;
    c->pauses = c->choices = 0;
    for (size_t i = 0; i < c->list.count; i++) {
        struct change *change = &c->list.at[i];
        if (change->end_ns < since || change->ns > until || !shows_process(filter, r, change->pid))
            continue;
        if (change->ns < since)
            change->ns = since;
        if (change->end_ns > until)
            change->end_ns = until;
        c->pauses += change->kind == TRACE_PAUSED;
        c->choices += change->kind == TRACE_CHOSEN;
        c->list.at[kept++] = *change;
    }
    c->list.count = kept;
}

uint64_t changes_paused_ns(const struct changes *c) {
    uint64_t sum = 0, end = 0; /* sum and end of the pauses so far */
    for (size_t i = 0; i < c->list.count; i++) {
        const struct change *change = &c->list.at[i];
        uint64_t from = change->ns > end ? change->ns : end;
        if (change->kind != TRACE_PAUSED || change->end_ns <= from)
            continue;
        sum += change->end_ns - from;
        end = change->end_ns;
    }
    return sum;
}

void changes_done(struct changes *c) { ARRAY_FREE(&c->list); }
