/* See digest_plan.h: leaves out what a digest cannot have. */
#include "analyze/digest_plan.h"

enum { LEAST_ITEMS = 512 }; /* a smaller block is not worth the trouble */

struct plan {
    const struct source *source;
    digest_job_list jobs;
};

/* Whether all calls that begin in a thread are shown, whatever they are. */
static bool shows_all(const struct view_filter *f) {
    const struct view_spec *s = &f->spec;
    return !f->verdicts && !s->depth && !s->threshold_ns && f->recorded_depth == UINT32_MAX &&
           !f->recorded_ns;
}

/* Whether all calls that begin and end in block B are in the shown span. */
static bool is_in_span(const struct source *s, const struct trace_block_facts *b) {
    const struct view_spec *spec = &s->filter->spec;
    return trace_reader_ns(s->reader, b->first) >= spec->since_ns &&
           trace_reader_ns(s->reader, b->last) <= spec->until_ns;
}

bool digest_has_plain_stack(const struct trace_reader *r, uint32_t stream) {
    const struct trace_thread *t = trace_reader_thread(r, stream);
    return t->stack_high > t->stack_low + 1 && trace_reader_extent(r, stream) &&
           !trace_reader_has_stack_events(r, stream);
}

/* Whether frames or forks come between items of block B, or frames come in front of it. BEFORE: the
 * stream's block before, or NULL. */
static bool is_disturbed(const struct source *s, uint32_t stream,
                         const struct trace_block_facts *before,
                         const struct trace_block_facts *b) {
    size_t frames, forks;
    const struct trace_frames *frame = trace_reader_frames(s->reader, stream, &frames);
    const struct fork *fork = forks_by(s->forks, stream, &forks);
    for (size_t i = 0; i < frames; i++)
        if ((!before || frame[i].ticks > before->last) && frame[i].ticks <= b->last)
            return true;
    for (size_t i = 0; i < forks; i++)
        if (fork[i].ticks >= b->first && fork[i].ticks < b->last)
            return true;
    return false;
}

void digest_plan_stream(const struct source *source, size_t group, uint32_t stream,
                        uint32_t least_items, digest_job_list *jobs) {
    const struct trace_reader *r = source->reader;
    const struct trace_thread *t = trace_reader_thread(r, stream);
    size_t first = trace_reader_first_block(r, stream), end = trace_reader_end_block(r, stream);
    uint64_t now = t->maker ? t->start : 0; /* ticks; times do not step back in calls */
    struct trace_block_facts before = {0};
    for (size_t i = first; i < end; i++) {
        struct trace_block_facts b = trace_reader_block(r, i);
        bool in_order = b.first >= now && b.last >= b.first;
        if (b.items >= least_items && in_order && is_in_span(source, &b) &&
            !is_disturbed(source, stream, i == first ? NULL : &before, &b))
            ARRAY_PUSH(jobs, ((struct digest_job){i, stream, group}));
        now = b.last > now ? b.last : now;
        before = b;
    }
}

static void plan_groups(struct plan *p, size_t first, size_t end) {
    for (size_t i = first; i < end; i++) {
        struct stream_group group = stream_groups_at(p->source->stream_groups, i);
        if (group.count == 1 && digest_has_plain_stack(p->source->reader, group.streams[0]) &&
            walk_shows(p->source, group))
            digest_plan_stream(p->source, i, group.streams[0], LEAST_ITEMS, &p->jobs);
    }
}

bool digest_is_possible(const struct source *source) {
    return shows_all(source->filter) && !names_grow_stacks(source->names);
}

struct digests *digest_plan(const struct source *source, size_t first, size_t end,
                            const struct digest_ops *ops, void *ctx) {
    struct plan p = {.source = source};
    if (!digest_is_possible(source))
        return NULL;
    plan_groups(&p, first, end);
    if (!p.jobs.count)
        return NULL;
    return digests_new(&(struct digest_work){.reader = source->reader,
                                             .names = source->names,
                                             .workers = source->workers,
                                             .in_whole = !view_has_span(&source->filter->spec),
                                             .jobs = p.jobs.at,
                                             .job_count = p.jobs.count,
                                             .ops = ops,
                                             .ctx = ctx});
}
