/* See stream_groups.h: groups streams by process, program and use of other stacks. */
#include "analyze/stream_groups.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/search.h"

/* A stream, and what decides its group. */
struct member {
    uint32_t pid;
    uint32_t program; /* number: a process that calls exec has several */
    uint32_t stream;
    uint32_t leader; /* the group's first stream */
};

struct stream_groups {
    uint32_t *streams;     /* group after group */
    ARRAY(uint32_t) first; /* index of each group's first; then their count */
};

static int by_program(const void *a, const void *b) {
    const struct member *x = a, *y = b;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    if (x->program != y->program)
        return x->program < y->program ? -1 : 1;
    return (x->stream > y->stream) - (x->stream < y->stream);
}

static int by_leader(const void *a, const void *b) {
    const struct member *x = a, *y = b;
    if (x->leader != y->leader)
        return x->leader < y->leader ? -1 : 1;
    return (x->stream > y->stream) - (x->stream < y->stream);
}

struct start { /* of a program */
    uint32_t pid;
    uint64_t ticks;
};

static int compare_starts(const void *a, const void *b) {
    const struct start *x = a, *y = b;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    return (x->ticks > y->ticks) - (x->ticks < y->ticks);
}

/* T's program: the number of programs of T's process and lower ones that had begun when T began. At
 * least 1 program of T's own process counts. STARTS are sorted. */
static uint32_t program_of(const struct start *starts, size_t count, const struct trace_thread *t) {
    const struct start key = {.pid = t->pid, .ticks = t->start};
    size_t end = SEARCH(i, count, compare_starts(&starts[i], &key) <= 0);
    bool none = end < count && starts[end].pid == t->pid && (!end || starts[end - 1].pid != t->pid);
    return (uint32_t)(end + none);
}

static struct member *members_of(const struct trace_reader *r) {
    size_t programs = trace_reader_process_count(r), count = trace_reader_stream_count(r);
    struct start *starts = mem_alloc(programs * sizeof *starts + 1);
    for (size_t i = 0; i < programs; i++) {
        const struct trace_process *p = trace_reader_process(r, i);
        starts[i] = (struct start){p->pid, p->start};
    }
    qsort(starts, programs, sizeof *starts, compare_starts);
    struct member *members = mem_alloc(count * sizeof *members + 1);
    for (size_t i = 0; i < count; i++) {
        const struct trace_thread *t = trace_reader_thread(r, i);
        members[i] =
            (struct member){t->pid, program_of(starts, programs, t), (uint32_t)i, (uint32_t)i};
    }
    free(starts);
    return members;
}

static bool is_same_program(const struct member *a, const struct member *b) {
    return a->pid == b->pid && a->program == b->program;
}

/* Unites streams of one program, MEMBERS[0 … COUNT). If the trace records the program's stacks, all
 * threads are one group; else those that ran on other stacks. */
static void unite_program(const struct trace_reader *r, struct member *members, size_t count) {
    const struct member *leader = NULL;
    bool records_stacks = false;
    for (size_t i = 0; i < count; i++)
        records_stacks = records_stacks || trace_reader_has_stack_events(r, members[i].stream);
    for (size_t i = 0; i < count; i++) {
        if (!records_stacks && !trace_reader_uses_other_stacks(r, members[i].stream))
            continue;
        leader = leader ? leader : &members[i];
        members[i].leader = leader->leader;
    }
}

/* Gives streams of one group the same leader. */
static void unite(const struct trace_reader *r, struct member *members, size_t count) {
    qsort(members, count, sizeof *members, by_program);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && is_same_program(&members[i], &members[end]); end++)
            ;
        unite_program(r, &members[i], end - i);
    }
    qsort(members, count, sizeof *members, by_leader);
}

struct stream_groups *stream_groups_new(const struct trace_reader *r) {
    struct stream_groups *s = mem_alloc(sizeof *s);
    size_t count = trace_reader_stream_count(r);
    struct member *members = members_of(r);
    unite(r, members, count);
    s->streams = mem_alloc(count * sizeof *s->streams + 1);
    for (uint32_t i = 0; i < count; i++) {
        s->streams[i] = members[i].stream;
        if (!i || members[i].leader != members[i - 1].leader)
            ARRAY_PUSH(&s->first, i);
    }
    ARRAY_PUSH(&s->first, (uint32_t)count);
    free(members);
    return s;
}

void stream_groups_free(struct stream_groups *s) {
    if (!s)
        return;
    free(s->streams);
    ARRAY_FREE(&s->first);
    free(s);
}

size_t stream_groups_count(const struct stream_groups *s) { return s->first.count - 1; }

struct stream_group stream_groups_at(const struct stream_groups *s, size_t i) {
    return (struct stream_group){s->streams + s->first.at[i], s->first.at[i + 1] - s->first.at[i]};
}
