#include "analyze/shown.h"

#include "analyze/filter.h"
#include "base/mem.h"

struct shown {
    struct shown_options options;
    struct shown_ticks ticks;
    const struct trace_reader *reader;
    struct names *names;
    struct filter *filter;
};

static struct filter_spec filter_spec_of(const struct shown_options *o) {
    return (struct filter_spec){.shown = o->filters,
                                .shown_count = o->filter_count,
                                .hidden = o->excludes,
                                .hidden_count = o->exclude_count,
                                .modules = o->modules,
                                .module_count = o->module_count,
                                .depth = o->depth,
                                .threshold_ns = o->threshold_ns,
                                .since_ns = o->since_ns,
                                .until_ns = o->until_ns,
                                .tid = o->tid};
}

/* The last tick of the span is the one before what comes after it. */
static struct shown_ticks ticks_of(const struct trace_reader *r, const struct shown_options *o) {
    struct shown_ticks t = {.since = o->since_ns ? trace_reader_ticks(r, o->since_ns) : 0,
                            .until = UINT64_MAX};
    if (o->until_ns != UINT64_MAX)
        t.until = trace_reader_ticks(r, o->until_ns + 1) - 1;
    if (o->threshold_ns)
        t.threshold = trace_reader_ticks(r, o->threshold_ns) - trace_reader_ticks(r, 0);
    return t;
}

int shown_new(const struct trace_reader *reader, struct names *names,
              const struct shown_options *options, struct shown **ret, struct err *err) {
    struct filter_spec spec = filter_spec_of(options);
    struct filter *filter;
    int rc = filter_new(&spec, reader, names, &filter, err);
    if (rc < 0)
        return rc;
    struct shown *s = mem_alloc(sizeof *s);
    s->options = *options;
    s->ticks = ticks_of(reader, options);
    s->reader = reader;
    s->names = names;
    s->filter = filter;
    *ret = s;
    return 0;
}

void shown_free(struct shown *s) {
    if (!s)
        return;
    filter_free(s->filter);
    free(s);
}

bool shown_function(const struct shown *s, uint32_t id) {
    return filter_shows(s->filter, names_index(s->names, id));
}

bool shown_stream(const struct shown *s, uint32_t stream) {
    const struct trace_thread *thread = trace_reader_thread(s->reader, stream);
    return thread && filter_shows_thread(s->filter, thread);
}

struct filter *shown_filter(const struct shown *s) { return s->filter; }
const struct shown_options *shown_options(const struct shown *s) { return &s->options; }
const struct shown_ticks *shown_ticks(const struct shown *s) { return &s->ticks; }
