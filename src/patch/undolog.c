/* The undo log's head, chain and lists: written to the target, and read back. */
#include "patch/undolog.h"

#include <errno.h>
#include <string.h>

#include "arch/agent.h"
#include "arch/arch.h"
#include "base/page.h"
#include "patch/counters.h"
#include "target/memory.h"
#include "trace/varint.h"

enum {
    JUMP_BYTES = 5, /* most patches are such jumps, and lead to about the same place */
    PATCH_BYTES = VARINT_MAX_BYTES + 1 + 2 * sizeof((struct patch *)0)->after,
    PAIR_BYTES = 2 * VARINT_MAX_BYTES, /* a run of islands, or a way */
};

_Static_assert((int)PATCH_MAX_BYTES < (int)UNDO_YIELDS, "the log tells its size");

/* ---- the head ---- */

static taddr_t chain_of(const struct space *s) {
    return s->agent + UNDO_AT + offsetof(struct undo_head, chain);
}

struct undo_head undolog_head(const struct space *s) {
    return (struct undo_head){.magic = UNDO_MAGIC,
                              .version = UNDO_VERSION,
                              .maker = SPOOR_VERSION,
                              .call = s->agent + agent_call()};
}

static int read_chain(const struct space *s, struct undo_chain *ret, struct err *err) {
    return memory_read(s->remote.memory_fd, chain_of(s), ret, sizeof *ret, err);
}

static int write_chain(const struct space *s, const struct undo_chain *chain, struct err *err) {
    return memory_write(s->remote.memory_fd, chain_of(s), chain, sizeof *chain, err);
}

int undolog_announce(const struct space *s, const struct patched *p, struct err *err) {
    struct undo_chain chain;
    int rc = read_chain(s, &chain, err);
    chain.coming = (struct undo_area){p->area, p->area_size};
    return rc < 0 ? rc : write_chain(s, &chain, err);
}

int undolog_link(const struct space *s, struct patched *p, struct err *err) {
    struct undo_chain chain;
    int rc = read_chain(s, &chain, err);
    if (rc == 0)
        rc = memory_write(s->remote.memory_fd, p->log, p->undo.bytes, p->undo.size, err);
    free(p->undo.bytes);
    p->undo.bytes = NULL;
    if (rc == 0)
        rc = memory_write(s->remote.memory_fd, p->log + offsetof(struct undo_log, next),
                          &chain.first, sizeof chain.first, err);
    chain.first = p->log;
    chain.coming = (struct undo_area){0};
    return rc < 0 ? rc : write_chain(s, &chain, err);
}

static int read_next(const struct space *s, taddr_t log, taddr_t *ret, struct err *err) {
    return memory_read(s->remote.memory_fd, log + offsetof(struct undo_log, next), ret, sizeof *ret,
                       err);
}

/* Takes P's log out of CHAIN, which is a copy of the chain in the target. */
static int unlink_log(const struct space *s, const struct patched *p, struct undo_chain *chain,
                      struct err *err) {
    taddr_t next, at = chain->first;
    int rc = read_next(s, p->log, &next, err);
    if (rc == 0 && at == p->log)
        chain->first = next;
    while (rc == 0 && at && at != p->log) {
        taddr_t behind;
        rc = read_next(s, at, &behind, err);
        if (rc == 0 && behind == p->log)
            rc = memory_write(s->remote.memory_fd, at + offsetof(struct undo_log, next), &next,
                              sizeof next, err);
        at = behind;
    }
    return rc;
}

/* The log is noted as leaving before it leaves the chain: it may be in both. */
int undolog_unlink(const struct space *s, const struct patched *p, struct err *err) {
    struct undo_chain chain;
    int rc = read_chain(s, &chain, err);
    chain.leaving = p->log;
    if (rc == 0 && chain.first != p->log)
        rc = write_chain(s, &chain, err);
    if (rc == 0)
        rc = unlink_log(s, p, &chain, err);
    return rc < 0 ? rc : write_chain(s, &chain, err);
}

int undolog_end(const struct space *s, struct err *err) {
    struct undo_chain chain;
    int rc = read_chain(s, &chain, err);
    chain.leaving = 0;
    chain.coming = (struct undo_area){0};
    return rc < 0 ? rc : write_chain(s, &chain, err);
}

/* ---- writing the lists ---- */

size_t undolog_bytes(const struct patched *p) {
    const size_t most = p->traced_module->choice.marks.count;
    return sizeof(uint64_t) + sizeof(struct undo_log) + VARINT_MAX_BYTES +
           (most < UNDO_MOST_COUNTERS ? most : UNDO_MOST_COUNTERS) * sizeof(struct undo_counter);
}

size_t undolog_site_bytes(void) { return 2 * (PATCH_BYTES + PAIR_BYTES); }

static uint64_t round_up(uint64_t n, uint64_t unit) { return (n + unit - 1) / unit * unit; }

static uint8_t *write_runs(uint8_t *out, const struct patched *p, uint32_t *ret_count) {
    const struct plan_code *c = &p->code->emitted;
    uint64_t page = 0;
    *ret_count = 0;
    for (size_t i = 0; i < c->island_count;) {
        size_t run = patched_island_run(c, i);
        uint64_t first = patched_island_at(p, i) / ISLAND_BYTES;
        out = varint_put(out, first - page);
        out = varint_put(out, run);
        page = first + run;
        i += run;
        ++*ret_count;
    }
    return out;
}

static int32_t displacement_of(const struct patch *q) {
    int32_t tail;
    memcpy(&tail, q->after + JUMP_BYTES - sizeof tail, sizeof tail);
    return tail;
}

static uint8_t *write_patches(uint8_t *out, const struct plan_code *c) {
    vaddr_t end = 0;
    int32_t last = 0;
    for (const struct patch *q = c->patches; q < c->patches + c->patch_count; q++) {
        out = varint_put(out, q->at - end);
        end = q->at + q->size;
        *out++ = (uint8_t)((q->yields ? UNDO_YIELDS : 0) | q->size);
        memcpy(out, q->before, sizeof q->before);
        out += q->size;
        if (q->size == JUMP_BYTES) {
            *out++ = q->after[0];
            out = varint_put(out, zigzag((int64_t)displacement_of(q) - last));
            last = displacement_of(q);
        } else {
            memcpy(out, q->after, sizeof q->after);
            out += q->size;
        }
    }
    return out;
}

static uint8_t *write_ways(uint8_t *out, const struct plan_code *c) {
    vaddr_t before = 0;
    for (const struct way *w = c->ways; w < c->ways + c->way_count; w++) {
        out = varint_put(out, w->at - before);
        out = varint_put(out, zigzag((int64_t)(w->site - w->at)));
        before = w->at;
    }
    return out;
}

/* Writes P's counters, all of them down. */
static uint8_t *write_counters(uint8_t *out, const struct patched *p, uint32_t *ret_count) {
    size_t count;
    AUTO_FREE vaddr_t *list = counters_of(p, &count);
    *ret_count = (uint32_t)(count < UNDO_MOST_COUNTERS ? count : UNDO_MOST_COUNTERS);
    for (uint32_t i = 0; i < *ret_count; i++) {
        const struct undo_counter c = {.at = list[i] + p->bias};
        memcpy(out, &c, sizeof c);
        out += sizeof c;
    }
    return out;
}

void undolog_make(struct patched *p) {
    const struct plan_code *c = &p->code->emitted;
    p->log = round_up(p->area + c->area_used, sizeof(uint64_t));
    struct undo_log log = {.magic = UNDO_MAGIC,
                           .self = p->log,
                           .bias = p->bias,
                           .text = p->text,
                           .device = p->device,
                           .inode = p->inode,
                           .patch_count = (uint32_t)c->patch_count,
                           .way_count = (uint32_t)c->way_count};
    uint8_t *bytes = mem_alloc(undolog_bytes(p) + c->patch_count * PATCH_BYTES +
                               (c->island_count + c->way_count) * PAIR_BYTES);
    uint8_t *lists = write_counters(bytes + sizeof log, p, &log.counter_count);
    uint8_t *out = write_runs(lists, p, &log.run_count);
    out = write_ways(write_patches(out, c), c);
    size_t size = (size_t)(out - bytes);
    log.bytes = (uint32_t)(out - lists);
    p->area_size = page_up(p->log + size) - p->area;
    log.area = (struct undo_area){p->area, p->area_size};
    memcpy(bytes, &log, sizeof log);
    p->undo.bytes = bytes;
    p->undo.size = size;
}

/* ---- reading ---- */

struct source { /* followed by room for the longest item */
    const uint8_t *at, *end;
};

/* Whether the source may have COUNT items of at least LEAST bytes each. */
static bool holds(const struct source *s, uint64_t count, size_t least) {
    return s->at <= s->end && count <= (size_t)(s->end - s->at) / least;
}

static bool read_runs(struct source *s, uint32_t count, struct plan_code *c) {
    enum { MOST = 1 << 20 };
    ARRAY(struct island) islands = {0};
    uint64_t page = 0, pages = 0;
    for (uint32_t i = 0; i < count && s->at < s->end && pages < MOST; i++) {
        page += varint_get(&s->at);
        for (uint64_t n = varint_get(&s->at); n && pages < MOST; n--, pages++)
            ARRAY_PUSH(&islands, ((struct island){page++ * ISLAND_BYTES, NULL}));
    }
    c->islands = islands.at;
    c->island_count = islands.count;
    return pages < MOST && s->at <= s->end;
}

static void read_after(struct source *s, struct patch *q, int32_t *last) {
    if (q->size != JUMP_BYTES) {
        memcpy(q->after, s->at, q->size);
        s->at += q->size;
        return;
    }
    q->after[0] = *s->at++;
    *last = (int32_t)(*last + unzigzag(varint_get(&s->at)));
    memcpy(q->after + JUMP_BYTES - sizeof *last, last, sizeof *last);
}

static bool read_patches(struct source *s, uint32_t count, struct plan_code *c) {
    enum { LEAST = 4 };
    vaddr_t end = 0;
    int32_t last = 0;
    if (!holds(s, count, LEAST))
        return false;
    c->patches = mem_alloc((count + 1) * sizeof *c->patches);
    for (; c->patch_count < count && s->at < s->end; c->patch_count++) {
        struct patch *q = &c->patches[c->patch_count];
        q->at = end + varint_get(&s->at);
        q->size = *s->at & (UNDO_YIELDS - 1);
        q->yields = *s->at++ & UNDO_YIELDS;
        if (q->size > sizeof q->before)
            return false;
        memcpy(q->before, s->at, q->size);
        s->at += q->size;
        read_after(s, q, &last);
        end = q->at + q->size;
    }
    return c->patch_count == count && s->at <= s->end;
}

static bool read_ways(struct source *s, uint32_t count, struct plan_code *c) {
    enum { LEAST = 2 };
    vaddr_t before = 0;
    if (!holds(s, count, LEAST))
        return false;
    c->ways = mem_alloc((count + 1) * sizeof *c->ways);
    for (; c->way_count < count && s->at < s->end; c->way_count++) {
        vaddr_t at = before + varint_get(&s->at);
        vaddr_t site = at + (vaddr_t)unzigzag(varint_get(&s->at));
        c->ways[c->way_count] = (struct way){at, site};
        before = at;
    }
    return c->way_count == count && s->at == s->end;
}

static bool read_lists(int fd, const struct undo_log *log, struct plan_code *c, struct err *err) {
    AUTO_FREE uint8_t *bytes = mem_alloc((size_t)log->bytes + PATCH_BYTES + PAIR_BYTES);
    const taddr_t lists =
        log->self + sizeof *log + log->counter_count * sizeof(struct undo_counter);
    if (memory_read(fd, lists, bytes, log->bytes, err) < 0)
        return false;
    struct source s = {bytes, bytes + log->bytes};
    return read_runs(&s, log->run_count, c) && read_patches(&s, log->patch_count, c) &&
           read_ways(&s, log->way_count, c);
}

static bool is_log(const struct undo_log *log, taddr_t at) {
    return log->magic == UNDO_MAGIC && log->self == at && at > log->area.at &&
           at - log->area.at < log->area.bytes && log->counter_count <= UNDO_MOST_COUNTERS &&
           log->bytes <= log->area.bytes - (at - log->area.at);
}

bool undolog_read(int fd, taddr_t at, struct patched *ret, taddr_t *ret_next, struct err *err) {
    struct undo_log log;
    if (memory_read(fd, at, &log, sizeof log, err) < 0 || !is_log(&log, at))
        return false;
    struct patched p = {.device = log.device,
                        .inode = log.inode,
                        .bias = log.bias,
                        .text = log.text,
                        .area = log.area.at,
                        .area_size = log.area.bytes,
                        .log = at,
                        .code = mem_alloc(sizeof *p.code)};
    p.code->refs = 1;
    p.code->bias = p.bias;
    if (!read_lists(fd, &log, &p.code->emitted, err)) {
        plan_code_done(&p.code->emitted);
        free(p.code);
        return false;
    }
    p.islands = p.code->emitted.island_count;
    *ret = p;
    *ret_next = log.next;
    return true;
}
