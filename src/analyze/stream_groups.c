#include "analyze/stream_groups.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/search.h"

/* Of a stream: what it shares with those that may run on the same stacks. */
struct place {
    uint32_t pid;
    uint32_t program; /* a process that calls exec has several */
    uint32_t stream;
    uint32_t leader; /* the group's first stream */
};

struct stream_groups {
    uint32_t *streams;     /* group after group */
    ARRAY(uint32_t) first; /* of each group in `streams`; one more at the end */
};

static int by_program(const void *a, const void *b) {
    const struct place *x = a, *y = b;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    if (x->program != y->program)
        return x->program < y->program ? -1 : 1;
    return (x->stream > y->stream) - (x->stream < y->stream);
}

static int by_leader(const void *a, const void *b) {
    const struct place *x = a, *y = b;
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

/* How many programs, of T's process and lower ones, had begun when it did; of its own at least one.
 * STARTS are sorted. */
static uint32_t program_of(const struct start *starts, size_t count, const struct trace_thread *t) {
    const struct start key = {.pid = t->pid, .ticks = t->start};
    size_t end = SEARCH(i, count, compare_starts(&starts[i], &key) <= 0);
    bool none = end < count && starts[end].pid == t->pid && (!end || starts[end - 1].pid != t->pid);
    return (uint32_t)(end + none);
}

static struct place *places_of(const struct trace_reader *r) {
    size_t programs = trace_reader_process_count(r), count = trace_reader_stream_count(r);
    struct start *starts = mem_alloc(programs * sizeof *starts + 1);
    for (size_t i = 0; i < programs; i++) {
        const struct trace_process *p = trace_reader_process(r, i);
        starts[i] = (struct start){p->pid, p->start};
    }
    qsort(starts, programs, sizeof *starts, compare_starts);
    struct place *places = mem_alloc(count * sizeof *places + 1);
    for (size_t i = 0; i < count; i++) {
        const struct trace_thread *t = trace_reader_thread(r, i);
        places[i] =
            (struct place){t->pid, program_of(starts, programs, t), (uint32_t)i, (uint32_t)i};
    }
    free(starts);
    return places;
}

static bool is_same_program(const struct place *a, const struct place *b) {
    return a->pid == b->pid && a->program == b->program;
}

/* Those of one program, PLACES[0 … COUNT). */
static void unite_program(const struct trace_reader *r, struct place *places, size_t count) {
    const struct place *leader = NULL;
    bool told = false;
    for (size_t i = 0; i < count; i++)
        told = told || trace_reader_tells_stacks(r, places[i].stream);
    for (size_t i = 0; i < count; i++) {
        if (!told && !trace_reader_roams(r, places[i].stream))
            continue;
        leader = leader ? leader : &places[i];
        places[i].leader = leader->leader;
    }
}

/* Gives streams of one group the same leader. */
static void unite(const struct trace_reader *r, struct place *places, size_t count) {
    qsort(places, count, sizeof *places, by_program);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && is_same_program(&places[i], &places[end]); end++)
            ;
        unite_program(r, &places[i], end - i);
    }
    qsort(places, count, sizeof *places, by_leader);
}

struct stream_groups *stream_groups_new(const struct trace_reader *r) {
    struct stream_groups *s = mem_alloc(sizeof *s);
    size_t count = trace_reader_stream_count(r);
    struct place *places = places_of(r);
    unite(r, places, count);
    s->streams = mem_alloc(count * sizeof *s->streams + 1);
    for (uint32_t i = 0; i < count; i++) {
        s->streams[i] = places[i].stream;
        if (!i || places[i].leader != places[i - 1].leader)
            ARRAY_PUSH(&s->first, i);
    }
    ARRAY_PUSH(&s->first, (uint32_t)count);
    free(places);
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
