/* See info.h. */
#include "cmd/info.h"

#include <string.h>

static void add_refused(struct info_functions *f, const struct trace_refused *r) {
    for (size_t i = 0; i < f->refused.count; i++) {
        if (strcmp(f->refused.at[i].reason, r->reason) == 0) {
            f->refused.at[i].count += r->count;
            return;
        }
    }
    ARRAY_PUSH(&f->refused, *r);
}

static int compare_refused(const void *a, const void *b) {
    const struct trace_refused *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count) - (x->count > y->count)
                                : strcmp(x->reason, y->reason);
}

struct info_functions info_functions(const struct trace_reader *r) {
    struct info_functions f = {0};
    for (size_t i = 0; i < trace_reader_module_count(r); i++) {
        const struct trace_module *m = trace_reader_module(r, i);
        f.seen += m->seen;
        f.instrumented += m->instrumented;
        f.exact_exit += m->exact_exit;
        for (int t = 0; t < TRACE_TIERS; t++) {
            f.tiers[t] += m->tiers[t];
            f.exit_tiers[t] += m->exit_tiers[t];
        }
        for (uint32_t k = 0; k < m->refused_count; k++)
            add_refused(&f, &m->refused[k]);
    }
    if (f.refused.count)
        qsort(f.refused.at, f.refused.count, sizeof *f.refused.at, compare_refused);
    return f;
}

uint64_t info_probes(const struct trace_module *m) {
    uint64_t recorded = 0;
    for (uint32_t i = 0; i < m->function_count; i++)
        recorded += m->functions[i].instrumented;
    return recorded;
}

size_t info_processes(const struct trace_reader *r) {
    size_t distinct = 0;
    for (size_t i = 0; i < trace_reader_process_count(r); i++) {
        size_t j = 0;
        while (trace_reader_process(r, j)->pid != trace_reader_process(r, i)->pid)
            j++;
        distinct += j == i;
    }
    return distinct;
}

uint64_t info_before(const struct trace_reader *r, size_t *ret_threads) {
    uint64_t sum = 0;
    const struct trace_end *end = trace_reader_end(r); /* a part ends with what is open then */
    *ret_threads = 0;
    for (uint32_t i = 0; i < trace_reader_stream_count(r); i++) {
        size_t records;
        const struct trace_frames *first = trace_reader_frames(r, i, &records);
        bool at_end = end && end->goes_on && records && first->ticks >= end->ticks;
        uint32_t count = records && !at_end ? first->count : 0;
        sum += count;
        *ret_threads += count > 0;
    }
    return sum;
}

bool info_knows_withdrawn(const struct trace_reader *r) {
    const struct trace_end *end = trace_reader_end(r);
    return end && !end->snapshot && !end->goes_on;
}

struct trace_pauses info_pauses(struct trace_reader *r) {
    struct trace_pauses sum = {0};
    if (trace_reader_end(r))
        return trace_reader_end(r)->pauses;
    for (uint32_t i = 0; i < trace_reader_stream_count(r); i++) {
        struct trace_cursor *cursor;
        struct trace_item item;
        if (trace_cursor_open(r, i, &cursor, NULL) < 0)
            continue;
        for (int rc; (rc = trace_cursor_next(cursor, &item, NULL)) != 0;)
            if (rc > 0 && item.kind == TRACE_EVENT && item.event == EVENT_CONTROL &&
                is_pause_event(item.id))
                trace_pauses_add(&sum, item.id, item.sp);
        trace_cursor_free(cursor);
    }
    return sum;
}

uint64_t info_length_ns(const struct trace_reader *r, uint64_t ticks) {
    return trace_reader_ns(r, trace_reader_ticks(r, 0) + ticks);
}

uint64_t info_total_ns(const struct trace_reader *r, const struct trace_pauses *p) {
    uint64_t sum = 0;
    for (int i = 0; i < PAUSE_CAUSES; i++)
        sum += info_length_ns(r, p->ticks[i]);
    return sum;
}

bool info_is_new_name(const struct trace_reader *r, size_t stream, size_t i) {
    const char *name = trace_reader_thread_name(r, stream, i);
    for (size_t k = 0; k < i; k++)
        if (strcmp(trace_reader_thread_name(r, stream, k), name) == 0)
            return false;
    return true;
}
