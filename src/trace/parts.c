/* Completes and removes parts of a recording. */
#include "trace/parts.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

#define LEAST_MEMORY ((uint64_t)16 << 20)
#define CLOSE_NS ((uint64_t)300 * 1000 * 1000) /* how long a part's last blocks are packed */

struct part {
    uint32_t number;
    uint64_t bytes;
    struct sink *sink; /* NULL: it is complete, and BYTES are set */
};

struct parts {
    char *name;
    uint64_t most;
    _Atomic uint32_t number;
    _Atomic uint64_t least; /* bytes that the newest part may take in any case */
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* guards the fields below */
    pthread_cond_t changed;
    ARRAY(struct part) list; /* all but the newest, in order */
    size_t closing;          /* how many are not complete: the last ones */
    uint32_t removed;
    uint64_t bytes; /* of all parts that are there */
    bool too_large;
    struct trace_totals complete; /* of complete parts, removed ones included; `bytes` is 0 */
    struct err error;
    bool end;
};

static void make_room(void *ctx, uint64_t bytes);

struct parts *parts_new(struct sink *first, const char *name, uint64_t most_bytes) {
    struct parts *p = mem_alloc(sizeof *p);
    p->name = mem_strdup(name);
    p->most = most_bytes;
    p->number = 1;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->changed, NULL);
    sink_announce(first, make_room, p);
    return p;
}

uint32_t parts_number(const struct parts *p) { return p->number; }

static void add(struct trace_totals *to, struct trace_totals more) {
    to->entries += more.entries;
    to->exits += more.exits;
    to->lost += more.lost;
    to->unpacked_bytes += more.unpacked_bytes;
    if (more.waiting_bytes > to->waiting_bytes)
        to->waiting_bytes = more.waiting_bytes;
}

/* ---- the thread that completes parts ---- */

static void complete(struct parts *p, struct sink *sink) {
    struct err error = {0};
    sink_close_within(sink, CLOSE_NS);
    int rc = sink_close(sink, true, &error);
    struct trace_totals totals = sink_totals(sink);
    pthread_mutex_lock(&p->lock);
    struct part *part = &p->list.at[p->list.count - p->closing];
    add(&p->complete, totals);
    part->bytes = totals.bytes;
    part->sink = NULL;
    p->closing--;
    if (rc && !p->error.code)
        p->error = error;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    sink_free(sink);
}

static void *run(void *arg) {
    struct parts *p = arg;
    pthread_mutex_lock(&p->lock);
    while (p->closing || !p->end) {
        if (!p->closing) {
            pthread_cond_wait(&p->changed, &p->lock);
            continue;
        }
        struct sink *sink = p->list.at[p->list.count - p->closing].sink;
        pthread_mutex_unlock(&p->lock);
        complete(p, sink);
        pthread_mutex_lock(&p->lock);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* The lock is held. The thread blocks all signals: the recorder handles them. */
static void start_thread(struct parts *p) {
    sigset_t all, old;
    if (p->has_thread)
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    p->has_thread = pthread_create(&p->thread, NULL, run, p) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void parts_close(struct parts *p, struct sink *sink) {
    pthread_mutex_lock(&p->lock);
    ARRAY_PUSH(&p->list, ((struct part){p->number, 0, sink}));
    p->closing++;
    p->number++;
    start_thread(p);
    bool alone = !p->has_thread;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    if (alone)
        complete(p, sink);
}

/* ---- room ---- */

/* BYTES are about to be written: removes the oldest parts, as far as they are complete, until there
 * is room. */
static void make_room(void *ctx, uint64_t bytes) {
    struct parts *p = ctx;
    size_t gone = 0;
    pthread_mutex_lock(&p->lock);
    p->bytes += bytes;
    for (; gone < p->list.count - p->closing && p->bytes > p->most; gone++) {
        AUTO_FREE char *path = mem_printf("%s.%u", p->name, p->list.at[gone].number);
        unlink(path);
        p->bytes -= p->list.at[gone].bytes;
    }
    p->too_large |= p->bytes > p->most;
    p->list.count -= gone;
    p->removed += (uint32_t)gone;
    if (gone)
        memmove(p->list.at, p->list.at + gone, p->list.count * sizeof *p->list.at);
    pthread_mutex_unlock(&p->lock);
}

bool parts_is_full(struct parts *p, uint64_t size) {
    if (size < p->most / PARTS_SHARE || size < p->least)
        return false;
    pthread_mutex_lock(&p->lock);
    while (p->closing >= PARTS_CLOSING && size > p->most / 4)
        pthread_cond_wait(&p->changed, &p->lock);
    bool full = p->closing < PARTS_CLOSING && !p->error.code;
    pthread_mutex_unlock(&p->lock);
    return full;
}

uint64_t parts_memory(const struct parts *p, uint64_t all) {
    uint64_t share = all / (PARTS_CLOSING + 1), enough = p->most / PARTS_SHARE;
    if (enough < LEAST_MEMORY)
        enough = LEAST_MEMORY;
    return share < enough ? share : enough;
}

void parts_set_repeated(struct parts *p, uint64_t bytes) { p->least = 2 * bytes; }

int parts_open_next(struct parts *p, struct sink **ret, struct err *err) {
    AUTO_FREE char *path = mem_printf("%s.%u", p->name, p->number);
    int rc = sink_open(path, true, ret, err);
    if (!rc)
        sink_announce(*ret, make_room, p);
    return rc;
}

struct trace_totals parts_add_totals(struct parts *p, struct trace_totals newest) {
    struct trace_totals sum = newest;
    pthread_mutex_lock(&p->lock);
    add(&sum, p->complete);
    for (size_t i = 0; i < p->list.count; i++) {
        const struct part *part = &p->list.at[i];
        struct trace_totals open = part->sink ? sink_totals(part->sink) : (struct trace_totals){0};
        add(&sum, open);
        sum.bytes += part->sink ? open.bytes : part->bytes;
    }
    pthread_mutex_unlock(&p->lock);
    return sum;
}

int parts_finish(struct parts *p, struct trace_parts *ret, struct err *err) {
    pthread_mutex_lock(&p->lock);
    while (p->closing)
        pthread_cond_wait(&p->changed, &p->lock);
    *ret =
        (struct trace_parts){.last = p->number, .removed = p->removed, .too_large = p->too_large};
    if (err)
        *err = p->error;
    int code = p->error.code;
    pthread_mutex_unlock(&p->lock);
    return -code;
}

void parts_free(struct parts *p) {
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->end = true;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    if (p->has_thread)
        pthread_join(p->thread, NULL);
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->changed);
    ARRAY_FREE(&p->list);
    free(p->name);
    free(p);
}
