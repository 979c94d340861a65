/* See checkpoints.h. A checkpoint tells only what differs from the stream's one before, if that is
 * in the same block. */
#include "trace/checkpoints.h"

#include <pthread.h>

#include "trace/varint.h"

enum {
    GROUP_BYTES = 48 * 1024, /* of a block; views read one or two for each thread */
    GROUP_ITEMS = 1024,
    PAUSE_ITEMS = 16 * 1024,
    SHARE = 256 /* uncompressed bytes of events for each byte of checkpoints */
};

struct group { /* the coming block */
    struct bytes list;
    uint32_t count;
    uint64_t first, last; /* ticks */
};

struct checkpoints {
    pthread_mutex_t lock;
    struct group opens, pauses;
    uint64_t number; /* of the group of checkpoints, from 1 */
    uint64_t ticks;  /* of the last pause in `pauses` */
};

struct checkpoints *checkpoints_new(void) {
    struct checkpoints *c = mem_alloc(sizeof *c);
    pthread_mutex_init(&c->lock, NULL);
    c->number = 1;
    return c;
}

void checkpoints_free(struct checkpoints *c) {
    if (!c)
        return;
    pthread_mutex_destroy(&c->lock);
    free(c->opens.list.at);
    free(c->pauses.list.at);
    free(c);
}

static void widen(struct group *g, uint64_t ticks) {
    g->first = !g->count || ticks < g->first ? ticks : g->first;
    g->last = !g->count || ticks > g->last ? ticks : g->last;
    g->count++;
}

/* NULL: it is empty. */
static struct block *end_group(struct group *g, enum disk_type type) {
    if (!g->count)
        return NULL;
    struct block *block = block_new(type);
    bytes_put_varint(&block->parts[0], g->count);
    bytes_put(&block->parts[0], g->list.at, g->list.count);
    block->head.items = g->count;
    block->head.first = g->first;
    block->head.last = g->last;
    g->list.count = 0;
    g->count = 0;
    return block;
}

static struct block *take(struct checkpoints *c) {
    c->number++;
    return end_group(&c->opens, DISK_CHECKPOINT);
}

static void put_call(struct bytes *b, const struct open_call *call, const struct open_call *up) {
    unsigned flags = call->before | (call->chain ? 2u : 0);
    bytes_put_varint(b, call->id);
    bytes_put_varint(b, zigzag((int64_t)((up ? up->sp : 0) - call->sp)));
    bytes_put_varint(b, zigzag((int64_t)(call->start - (up ? up->start : 0))));
    bytes_put_varint(b, flags);
    if (call->chain)
        bytes_put_varint(b, call->chain);
    bytes_put_varint(b, call->callees);
}

static void put_calls(struct bytes *b, const struct open_calls *o, size_t kept) {
    const struct open_call *list = o->list.at;
    bytes_put_varint(b, kept);
    bytes_put_varint(b, o->list.count - kept);
    if (kept)
        bytes_put_varint(b, list[kept - 1].callees);
    for (size_t i = kept; i < o->list.count; i++)
        put_call(b, &list[i], i ? &list[i - 1] : NULL);
}

struct block *checkpoints_add(struct checkpoints *c, uint32_t stream, uint64_t ticks,
                              struct open_calls *o) {
    struct block *full = NULL;
    if (!o->known || !o->blocks || o->list.count > DISK_FRAMES_MAX)
        return NULL;
    pthread_mutex_lock(&c->lock);
    struct group *g = &c->opens;
    size_t before = g->list.count;
    bytes_put_varint(&g->list, stream);
    bytes_put_varint(&g->list, ticks);
    put_calls(&g->list, o, o->group == c->number ? o->unchanged : 0);
    size_t size = g->list.count - before;
    if (size > o->raw_bytes / SHARE - o->spent) {
        g->list.count = before;
    } else {
        o->spent += size;
        o->group = c->number;
        o->unchanged = o->list.count;
        widen(g, ticks);
    }
    if (g->list.count > GROUP_BYTES || g->count == GROUP_ITEMS)
        full = take(c);
    pthread_mutex_unlock(&c->lock);
    return full;
}

struct block *checkpoints_add_pauses(struct checkpoints *c, uint32_t stream, struct open_calls *o) {
    struct block *full = NULL;
    if (!o->news.count)
        return NULL;
    pthread_mutex_lock(&c->lock);
    struct group *g = &c->pauses;
    for (size_t i = 0; i < o->news.count; i++) {
        const struct trace_pause *p = &o->news.at[i];
        bytes_put_varint(&g->list, stream);
        bytes_put_varint(&g->list, zigzag((int64_t)(p->ticks - (g->count ? c->ticks : 0))));
        bytes_put_varint(&g->list, p->length);
        c->ticks = p->ticks;
        widen(g, p->ticks);
    }
    o->news.count = 0;
    if (g->count >= PAUSE_ITEMS)
        full = end_group(g, DISK_PAUSES);
    pthread_mutex_unlock(&c->lock);
    return full;
}

struct block *checkpoints_take(struct checkpoints *c) {
    pthread_mutex_lock(&c->lock);
    struct block *block = take(c);
    pthread_mutex_unlock(&c->lock);
    return block;
}

struct block *checkpoints_take_pauses(struct checkpoints *c) {
    pthread_mutex_lock(&c->lock);
    struct block *block = end_group(&c->pauses, DISK_PAUSES);
    pthread_mutex_unlock(&c->lock);
    return block;
}
