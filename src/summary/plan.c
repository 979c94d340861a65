/* See plan.h. */
#include "summary/plan.h"

static bool is_regular(const struct source *s, struct stream_group group) {
    uint32_t stream = group.streams[0];
    return group.count == 1 && digest_has_plain_stack(s->reader, stream) &&
           !trace_reader_uses_other_stacks(s->reader, stream) &&
           !trace_reader_has_inner_stacks(s->reader, stream);
}

static void add_stream(struct plan *p, const struct source *s, uint32_t stream) {
    digest_job_list jobs = {0};
    size_t job = 0;
    digest_plan_stream(s, 0, stream, 1, &jobs);
    p->regular[stream] = 1;
    p->regular_count++;
    for (size_t b = trace_reader_first_block(s->reader, stream);
         b < trace_reader_end_block(s->reader, stream); b++) {
        bool has_digest = job < jobs.count && jobs.at[job].block == b;
        job += has_digest;
        ARRAY_PUSH(&p->blocks, ((struct plan_block){(uint32_t)b, stream, 0, has_digest}));
    }
    ARRAY_FREE(&jobs);
}

/* By the time of the last item. A stream's blocks stay in their order, whatever their heads say. */
struct key {
    uint64_t last;
    struct plan_block block;
};

static int compare(const void *a, const void *b) {
    const struct key *x = a, *y = b;
    if (x->last != y->last)
        return x->last < y->last ? -1 : 1;
    return (x->block.block > y->block.block) - (x->block.block < y->block.block);
}

static void sort(struct plan *p, const struct trace_reader *r) {
    AUTO_FREE struct key *keys = mem_alloc(p->blocks.count * sizeof *keys + 1);
    uint64_t last = 0;
    for (size_t i = 0; i < p->blocks.count; i++) {
        const struct plan_block *b = &p->blocks.at[i];
        uint64_t of_block = trace_reader_block(r, b->block).last;
        bool first = !i || b[-1].stream != b->stream;
        last = first || of_block > last ? of_block : last;
        keys[i] = (struct key){last, *b};
    }
    if (p->blocks.count > 1)
        qsort(keys, p->blocks.count, sizeof *keys, compare);
    for (size_t i = 0; i < p->blocks.count; i++)
        p->blocks.at[i] = keys[i].block;
}

static void add_leaf(struct plan *p, const struct trace_reader *r, size_t first, size_t end) {
    struct plan_leaf leaf = {first, end, UINT64_MAX, 0};
    for (size_t i = first; i < end; i++) {
        struct trace_block_facts facts = trace_reader_block(r, p->blocks.at[i].block);
        uint64_t from = trace_reader_ns(r, facts.first), to = trace_reader_ns(r, facts.last);
        leaf.first_ns = from < leaf.first_ns ? from : leaf.first_ns;
        leaf.last_ns = to > leaf.last_ns ? to : leaf.last_ns;
        p->blocks.at[i].leaf = (uint32_t)p->leaves.count;
    }
    ARRAY_PUSH(&p->leaves, leaf);
}

void plan_make(struct plan *p, const struct source *s, const uint8_t *torn, size_t least_blocks) {
    const size_t streams = trace_reader_stream_count(s->reader);
    *p = (struct plan){.regular = mem_alloc(streams + 1)};
    bool possible = digest_is_possible(s);
    for (size_t i = 0; i < stream_groups_count(s->stream_groups); i++) {
        struct stream_group group = stream_groups_at(s->stream_groups, i);
        if (possible && is_regular(s, group) && !torn[group.streams[0]])
            add_stream(p, s, group.streams[0]);
        else
            ARRAY_PUSH(&p->groups, (uint32_t)i);
    }
    sort(p, s->reader);
    size_t count = p->blocks.count, size = (count + PLAN_LEAVES - 1) / PLAN_LEAVES;
    least_blocks = least_blocks ? least_blocks : PLAN_LEAST_BLOCKS;
    size = size > least_blocks ? size : least_blocks;
    for (size_t first = 0; first < count; first += size)
        add_leaf(p, s->reader, first, count - first < size ? count : first + size);
}

void plan_done(struct plan *p) {
    free(p->regular);
    ARRAY_FREE(&p->blocks);
    ARRAY_FREE(&p->leaves);
    ARRAY_FREE(&p->groups);
}

digest_job_list plan_jobs(const struct plan *p) {
    digest_job_list jobs = {0};
    for (size_t i = 0; i < p->blocks.count; i++) {
        const struct plan_block *b = &p->blocks.at[i];
        if (b->has_digest)
            ARRAY_PUSH(&jobs, ((struct digest_job){b->block, b->stream, b->leaf}));
    }
    return jobs;
}
