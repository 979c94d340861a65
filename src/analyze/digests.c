/* See digests.h: a queue of blocks, from which threads take the next one. */
#include "analyze/digests.h"

#include <pthread.h>
#include <sched.h>

enum {
    LEAST_JOBS = 4, /* fewer are not worth a thread */
    MOST_WORKERS = 64,
    AHEAD = 2 /* digest_work.ahead */
};

struct worker {
    struct digests *digests;
    pthread_t thread;
    struct digest_reader reader;
    void *part;   /* or NULL */
    size_t group; /* of the part */
};

struct old_part {
    void *part;
    size_t group;
};

struct slot {
    struct digest digest;
    bool ready;
};

struct digests {
    struct digest_work work;
    size_t next;                      /* the job to be taken next */
    const struct digest_job *present; /* the one that was taken last */
    struct slot *slots;               /* job i's is [i % slot_count] */
    size_t slot_count;
    struct worker *workers; /* without threads, one */
    unsigned worker_count, threads;
    /* With LOCK: */
    pthread_mutex_t lock;
    pthread_cond_t is_ready, has_room;
    size_t claimed, taken; /* so many jobs */
    uint64_t refused;      /* 1 + the stream; 0: none */
    bool stop;
    ARRAY(struct old_part) old; /* of groups that workers have left */
    ARRAY(void *) unused;       /* empty parts */
};

/* ---- one block ---- */

static void empty(struct digest *to) {
    to->items = to->damaged = 0;
    to->steps.count = to->sums.count = to->calls.count = to->levels.count = to->marks.count = 0;
}

static void set_functions(struct digest_reader *r) {
    size_t count;
    r->ids = trace_block_ids(r->block, &count);
    r->functions.count = 0;
    for (size_t i = 0; i < count; i++)
        ARRAY_PUSH(&r->functions, names_number(r->names, r->ids[i]));
}

bool digest_reader_open(struct digest_reader *r, struct trace_reader *reader, size_t block,
                        uint32_t stream, struct digest *to) {
    const struct trace_thread *t = trace_reader_thread(reader, stream);
    struct trace_block_facts facts = trace_reader_block(reader, block);
    empty(to);
    to->last = facts.first;
    to->last_ns = trace_scale_ns(&r->scale, facts.first);
    to->damaged = facts.items;
    if (!trace_block_open(r->block, block))
        return false;
    set_functions(r);
    r->low = t->stack_low + 1; /* walk_digests.c needs an address below each call */
    r->bytes = t->stack_high - t->stack_low - 1;
    r->ticks = facts.first;
    r->plain = true;
    r->in_calls = false;
    r->top = r->frames;
    *r->top = (struct digest_frame){0};
    r->to = to;
    return true;
}

static void make(struct worker *w, const struct digest_job *job, struct digest *to) {
    const struct digests *d = w->digests;
    if (digest_reader_open(&w->reader, d->work.reader, job->block, job->stream, to))
        d->work.ops->read(w->part, &w->reader, to);
}

static bool is_refused(const struct digests *d, const struct digest_job *job) {
    return d->refused == (uint64_t)job->stream + 1;
}

/* Gives W a part for GROUP. With the lock. */
static void change_group(struct worker *w, size_t group) {
    struct digests *d = w->digests;
    if (w->part && w->group != group && d->work.ops->merge) {
        ARRAY_PUSH(&d->old, ((struct old_part){w->part, w->group}));
        w->part = NULL;
    }
    w->group = group;
    if (!w->part && d->unused.count)
        w->part = d->unused.at[--d->unused.count];
    if (!w->part)
        w->part = d->work.ops->part_new(d->work.ctx);
}

/* ---- threads ---- */

static void *run(void *ctx) {
    struct worker *w = ctx;
    struct digests *d = w->digests;
    pthread_mutex_lock(&d->lock);
    while (!d->stop && d->claimed < d->work.job_count) {
        if (d->claimed >= d->taken + d->slot_count) {
            pthread_cond_wait(&d->has_room, &d->lock);
            continue;
        }
        size_t number = d->claimed++;
        struct slot *slot = &d->slots[number % d->slot_count];
        change_group(w, d->work.jobs[number].group);
        if (!is_refused(d, &d->work.jobs[number])) {
            pthread_mutex_unlock(&d->lock);
            make(w, &d->work.jobs[number], &slot->digest);
            pthread_mutex_lock(&d->lock);
        }
        slot->ready = true;
        pthread_cond_signal(&d->is_ready);
    }
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

void digest_reader_init(struct digest_reader *r, struct trace_reader *reader,
                        const struct names *names) {
    *r = (struct digest_reader){
        .names = names, .block = trace_block_new(reader), .scale = trace_reader_scale(reader)};
    r->frames = mem_map((DISK_BLOCK_ITEMS + 1) * sizeof *r->frames);
}

void digest_reader_done(struct digest_reader *r) {
    trace_block_free(r->block);
    ARRAY_FREE(&r->functions);
    mem_unmap(r->frames, (DISK_BLOCK_ITEMS + 1) * sizeof *r->frames);
}

void digest_done(struct digest *d) {
    ARRAY_FREE(&d->steps);
    ARRAY_FREE(&d->sums);
    ARRAY_FREE(&d->calls);
    ARRAY_FREE(&d->levels);
    ARRAY_FREE(&d->marks);
}

static void worker_init(struct digests *d, struct worker *w) {
    w->digests = d;
    digest_reader_init(&w->reader, d->work.reader, d->work.names);
    w->reader.in_whole = d->work.in_whole;
}

static void worker_done(struct worker *w) {
    if (w->part)
        w->digests->work.ops->part_free(w->part);
    digest_reader_done(&w->reader);
}

static unsigned workers_for(const struct digests *d) {
    unsigned count = d->work.workers;
    cpu_set_t set;
    if (!count && sched_getaffinity(0, sizeof set, &set) == 0)
        count = (unsigned)CPU_COUNT(&set);
    count = count < d->work.job_count ? count : (unsigned)d->work.job_count;
    count = count < MOST_WORKERS ? count : MOST_WORKERS;
    return d->work.job_count < LEAST_JOBS || !count ? 1 : count;
}

static unsigned work_ahead(const struct digest_work *w) { return w->ahead ? w->ahead : AHEAD; }

static void start(struct digests *d) {
    d->worker_count = workers_for(d);
    d->workers = mem_alloc(d->worker_count * sizeof *d->workers);
    d->slot_count = (size_t)(work_ahead(&d->work)) * d->worker_count;
    d->slots = mem_alloc(d->slot_count * sizeof *d->slots);
    for (unsigned i = 0; i < d->worker_count; i++)
        worker_init(d, &d->workers[i]);
    if (d->worker_count == 1)
        return;
    while (d->threads < d->worker_count &&
           pthread_create(&d->workers[d->threads].thread, NULL, run, &d->workers[d->threads]) == 0)
        d->threads++;
}

struct digests *digests_new(const struct digest_work *work) {
    struct digests *d = mem_alloc(sizeof *d);
    d->work = *work;
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->is_ready, NULL);
    pthread_cond_init(&d->has_room, NULL);
    start(d);
    return d;
}

static void join(struct digests *d) {
    pthread_mutex_lock(&d->lock);
    d->stop = true;
    pthread_cond_broadcast(&d->has_room);
    pthread_mutex_unlock(&d->lock);
    for (unsigned i = 0; i < d->threads; i++)
        pthread_join(d->workers[i].thread, NULL);
}

void digests_free(struct digests *d) {
    if (!d)
        return;
    join(d);
    for (unsigned i = 0; i < d->worker_count; i++)
        worker_done(&d->workers[i]);
    for (size_t i = 0; i < d->slot_count; i++)
        digest_done(&d->slots[i].digest);
    for (size_t i = 0; i < d->old.count; i++)
        d->work.ops->part_free(d->old.at[i].part);
    for (size_t i = 0; i < d->unused.count; i++)
        d->work.ops->part_free(d->unused.at[i]);
    free(d->work.jobs);
    ARRAY_FREE(&d->old);
    ARRAY_FREE(&d->unused);
    pthread_mutex_destroy(&d->lock);
    pthread_cond_destroy(&d->is_ready);
    pthread_cond_destroy(&d->has_room);
    free(d->slots);
    free(d->workers);
    free(d);
}

/* ---- taking ---- */

/* Waits for job NUMBER; jobs before it are taken, so their slots are free. */
static void await(struct digests *d, size_t number) {
    struct slot *slot = &d->slots[number % d->slot_count];
    pthread_mutex_lock(&d->lock);
    d->taken = number;
    pthread_cond_broadcast(&d->has_room);
    while (!slot->ready)
        pthread_cond_wait(&d->is_ready, &d->lock);
    slot->ready = false;
    pthread_mutex_unlock(&d->lock);
}

const struct digest *digests_take(struct digests *d, size_t block) {
    if (!d || d->next == d->work.job_count || d->work.jobs[d->next].block != block)
        return NULL;
    const struct digest_job *job = &d->work.jobs[d->next];
    struct digest *digest = &d->slots[d->next % d->slot_count].digest;
    d->present = job;
    if (d->threads) {
        await(d, d->next);
    } else if (!is_refused(d, job)) {
        change_group(d->workers, job->group);
        make(d->workers, job, digest);
    }
    d->next++;
    return digest;
}

void digests_refuse(struct digests *d, uint32_t stream) {
    pthread_mutex_lock(&d->lock);
    d->refused = (uint64_t)stream + 1;
    pthread_mutex_unlock(&d->lock);
    while (d->next < d->work.job_count && d->work.jobs[d->next].stream == stream)
        digests_take(d, d->work.jobs[d->next].block);
}

static void merge(struct digests *d, void *part) {
    if (is_refused(d, d->present)) {
        d->work.ops->part_free(part);
        return;
    }
    if (d->work.ops->merge)
        d->work.ops->merge(d->work.ctx, part);
    ARRAY_PUSH(&d->unused, part);
}

/* Whether the walk of the present group has ended before all of the group's digests were taken. */
static bool is_stopped(const struct digests *d) {
    return d->next < d->work.job_count && d->work.jobs[d->next].group == d->present->group;
}

/* If all its digests were taken, no worker uses its parts any more. */
void digests_end_group(struct digests *d) {
    if (!d || !d->present || is_stopped(d))
        return;
    pthread_mutex_lock(&d->lock);
    for (unsigned i = 0; i < d->worker_count; i++)
        if (d->workers[i].part && d->workers[i].group == d->present->group) {
            merge(d, d->workers[i].part);
            d->workers[i].part = NULL;
        }
    size_t kept = 0;
    for (size_t i = 0; i < d->old.count; i++)
        if (d->old.at[i].group == d->present->group)
            merge(d, d->old.at[i].part);
        else
            d->old.at[kept++] = d->old.at[i];
    d->old.count = kept;
    pthread_mutex_unlock(&d->lock);
}
