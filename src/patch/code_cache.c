/* See code_cache.h. */
#include "patch/code_cache.h"

#include <string.h>

#include "arch/host.h"
#include "base/search.h"

/* All memory of the cache. Code that is larger than a part of it is not kept: it is of programs
 * that few processes execute. */
static const size_t MOST_BYTES = 64 << 20, MOST_OF_ONE = 16 << 20;

struct entry {
    struct traced_module *module;
    struct plan_request request;                /* with copies of the next three */
    uint8_t *selected, *sliced, *without_traps; /* bitmaps by function; NULL as in the request */
    size_t function_bytes;
    uint64_t apart; /* the area's address less the load address, modulo 2^64 */
    size_t room;
    struct code *code;
    size_t bytes;
    uint64_t used; /* when it was last used: a number that grows */
};

struct code_cache {
    ARRAY(struct entry) entries;
    size_t bytes;
    uint64_t now;
};

struct code_cache *code_cache_new(void) {
    return mem_alloc(sizeof(struct code_cache));
}

static void entry_done(struct entry *e) {
    patched_unref_code(e->code);
    free(e->selected);
    free(e->sliced);
    free(e->without_traps);
}

void code_cache_free(struct code_cache *cache) {
    if (!cache)
        return;
    for (size_t i = 0; i < cache->entries.count; i++)
        entry_done(&cache->entries.at[i]);
    ARRAY_FREE(&cache->entries);
    free(cache);
}

/* ---- requests ---- */

static bool any_bit(const uint8_t *bitmap, size_t bytes) {
    bool any = false;
    for (size_t i = 0; bitmap && i < bytes && !any; i++)
        any = bitmap[i];
    return any;
}

/* Filtered functions' stubs hold their caller's addresses; a second area depends on the first;
 * captures change. */
static bool may_be_kept(const struct plan_request *q, size_t function_bytes) {
    return !q->first && !q->capture_count && !q->probe_count &&
           !any_bit(q->filtered, function_bytes);
}

static bool bitmaps_equal(const uint8_t *a, const uint8_t *b, size_t bytes) {
    return a == b || (a && b && memcmp(a, b, bytes) == 0);
}

/* Whether E is of a request that differs from Q at most in addresses of the process. */
static bool is_for(const struct entry *e, const struct plan_request *q,
                   const struct traced_module *module) {
    const struct plan_request *r = &e->request;
    return e->module == module && r->site_bytes == q->site_bytes && r->controls == q->controls &&
           r->first_id == q->first_id && r->ring_bytes == q->ring_bytes &&
           r->overflow == q->overflow && r->keep_calls == q->keep_calls && r->hook == q->hook &&
           memcmp(r->guards, q->guards, sizeof r->guards) == 0 &&
           bitmaps_equal(e->selected, q->selected, e->function_bytes) &&
           bitmaps_equal(e->sliced, q->sliced, e->function_bytes) &&
           bitmaps_equal(e->without_traps, q->without_traps, e->function_bytes);
}

/* ---- taking ---- */

static bool is_free(const struct taken *taken, taddr_t start, size_t size) {
    enum { LOWEST = 0x100000 }; /* as in target/maps.c */
    size_t i = SEARCH(k, taken->count, taken->spans[k].end <= start);
    return start >= LOWEST && start + size > start && start + size <= host_highest() &&
           (i == taken->count || taken->spans[i].start >= start + size);
}

static bool serves(const struct entry *e, const struct plan_request *request,
                   const struct taken *taken, const struct patched *p) {
    struct plan_request q = *request;
    q.area = p->bias + e->apart;
    q.area_size = e->room;
    q.taken = taken->spans;
    q.taken_count = taken->count;
    return is_free(taken, q.area, e->room) &&
           plan_code_serves(p->traced_module->plan, &e->code->emitted, &q, p->bias - e->code->bias);
}

bool code_cache_take(struct code_cache *cache, const struct plan_request *request,
                     const struct taken *taken, struct patched *p) {
    const size_t count = plan_function_count(p->traced_module->plan);
    if (!cache || !may_be_kept(request, bitmap_bytes(count)))
        return false;
    for (size_t i = 0; i < cache->entries.count; i++) {
        struct entry *e = &cache->entries.at[i];
        if (!is_for(e, request, p->traced_module) || !serves(e, request, taken, p))
            continue;
        e->used = ++cache->now;
        e->code->refs++;
        e->code->reused = true;
        p->code = e->code;
        p->area = p->bias + e->apart;
        p->room = e->room;
        return true;
    }
    return false;
}

/* ---- keeping ---- */

static size_t bytes_of(const struct plan_code *c) {
    return c->area_used + c->patch_count * sizeof *c->patches + c->mark_count * sizeof *c->marks +
           c->island_count * (sizeof *c->islands + ISLAND_BYTES) + c->way_count * sizeof *c->ways;
}

static void drop_oldest(struct code_cache *cache) {
    size_t oldest = 0;
    for (size_t i = 1; i < cache->entries.count; i++)
        if (cache->entries.at[i].used < cache->entries.at[oldest].used)
            oldest = i;
    cache->bytes -= cache->entries.at[oldest].bytes;
    entry_done(&cache->entries.at[oldest]);
    cache->entries.at[oldest] = cache->entries.at[--cache->entries.count];
}

static uint8_t *copy_of(const uint8_t *bitmap, size_t bytes) {
    return bitmap ? memcpy(mem_alloc(bytes), bitmap, bytes) : NULL;
}

void code_cache_keep(struct code_cache *cache, const struct plan_request *request,
                     const struct patched *p) {
    const size_t count = plan_function_count(p->traced_module->plan);
    const size_t function_bytes = bitmap_bytes(count), bytes = bytes_of(&p->code->emitted);
    if (!cache || !may_be_kept(request, function_bytes) || bytes > MOST_OF_ONE ||
        p->code->emitted.far || any_bit(p->code->emitted.beyond, function_bytes))
        return; /* an annex would change its code (annex.h) */
    while (cache->entries.count && cache->bytes + bytes > MOST_BYTES)
        drop_oldest(cache);
    struct entry e = {.module = p->traced_module,
                      .request = *request,
                      .selected = copy_of(request->selected, function_bytes),
                      .sliced = copy_of(request->sliced, function_bytes),
                      .without_traps = copy_of(request->without_traps, function_bytes),
                      .function_bytes = function_bytes,
                      .apart = p->area - p->bias,
                      .room = p->room,
                      .code = p->code,
                      .bytes = bytes,
                      .used = ++cache->now};
    p->code->refs++;
    cache->bytes += bytes;
    ARRAY_PUSH(&cache->entries, e);
}
