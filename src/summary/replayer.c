/* See replayer.h. */
#include "summary/replayer.h"

#include <errno.h>

#include "base/workers.h"

void replayer_move(struct replayer *r) {
    const struct listed *around = replayer_around(r);
    uint32_t to = around ? (uint32_t)(around - r->listed->calls.at) : LISTED_NONE;
    const struct listed *calls = r->listed->calls.at;
    r->pending.count = 0;
    for (;;) {
        while (r->chain.count && (to == LISTED_NONE || r->chain.at[r->chain.count - 1] > to))
            r->leave(r, &calls[r->chain.at[--r->chain.count]]);
        if (to == LISTED_NONE || (r->chain.count && r->chain.at[r->chain.count - 1] == to))
            break;
        ARRAY_PUSH(&r->pending, to);
        to = calls[to].parent < to ? calls[to].parent : LISTED_NONE;
    }
    while (r->pending.count) {
        uint32_t i = r->pending.at[--r->pending.count];
        ARRAY_PUSH(&r->chain, i);
        r->enter(r, &calls[i]);
    }
}

static void leave_chain(struct replayer *r) {
    const struct listed_stream *s = &r->summary->pass.listed[r->chain_stream];
    while (r->chain.count) {
        uint32_t i = r->chain.at[--r->chain.count];
        if (r->leave)
            r->leave(r, &s->calls.at[i]);
    }
}

void replayer_read(struct replayer *r, const struct plan_block *block, replay_hooks *hooks) {
    struct pass *p = &r->summary->pass;
    if (r->chain_stream != block->stream)
        leave_chain(r);
    r->stream = r->chain_stream = block->stream;
    r->listed = &p->listed[block->stream];
    r->arounds = &p->arounds[block->block];
    r->step = 0;
    if (digest_reader_open(&r->reader, p->reader, block->block, block->stream, &r->digest))
        hooks(r);
}

/* ---- threads ---- */

struct running {
    const struct replay_work *work;
    struct session *session; /* for names */
    pthread_mutex_t lock;
    struct replayer *unused;
    atomic_bool stop;
};

static struct replayer *new_replayer(const struct running *run) {
    struct replayer *r = mem_alloc(sizeof *r);
    r->summary = run->work->summary;
    r->since_ns = run->work->range->since_ns;
    r->until_ns = run->work->range->until_ns;
    digest_reader_init(&r->reader, r->summary->reader, run->session->source.names);
    run->work->init(r, run->work->ctx);
    return r;
}

static void run_one(void *arg, size_t index) {
    struct running *run = arg;
    const struct summary_range *range = run->work->range;
    if (range->cancel && *range->cancel)
        return;
    pthread_mutex_lock(&run->lock);
    struct replayer *r = run->unused;
    if (r)
        run->unused = r->next;
    pthread_mutex_unlock(&run->lock);
    r = r ? r : new_replayer(run);
    run->work->body(r, run->work->ctx, index);
    pthread_mutex_lock(&run->lock);
    r->next = run->unused;
    run->unused = r;
    pthread_mutex_unlock(&run->lock);
}

static void free_replayer(struct replayer *r) {
    leave_chain(r);
    digest_reader_done(&r->reader);
    digest_done(&r->digest);
    ARRAY_FREE(&r->chain);
    ARRAY_FREE(&r->pending);
    ARRAY_FREE(&r->nodes);
    free(r);
}

int replay_run(const struct replay_work *work, size_t count) {
    struct running run = {.work = work, .session = session_take(work->summary->sessions, NULL)};
    pthread_mutex_init(&run.lock, NULL);
    workers_run(count, run_one, &run);
    while (run.unused) {
        struct replayer *r = run.unused;
        run.unused = r->next;
        work->done(r, work->ctx);
        free_replayer(r);
    }
    pthread_mutex_destroy(&run.lock);
    session_give(work->summary->sessions, run.session);
    return work->range->cancel && *work->range->cancel ? -ECANCELED : 0;
}
