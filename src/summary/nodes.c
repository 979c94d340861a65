/* See nodes.h. Bytes of a file may be damaged in spite of checksums: no number is trusted. */
#include "summary/nodes.h"

#include <zstd.h>

#include "base/mem.h"
#include "trace/varint.h"

enum { HEAD = 7 /* numbers before the histogram */, ONE_BYTE = 240, LONG_BUCKET = 0xff };

static uint8_t *put_durations(uint8_t *p, const struct tally *t) {
    uint64_t calls;
    uint32_t last = 0;
    for (uint32_t i = 0; tally_next(t, &i, &calls); last = i++) {
        uint32_t steps = i - last;
        if (steps < 16 && calls <= ONE_BYTE / 16) {
            *p++ = (uint8_t)(steps + 16 * (calls - 1));
            continue;
        }
        *p++ = LONG_BUCKET;
        p = varint_put(p, steps);
        p = varint_put(p, calls);
    }
    return p;
}

static void put_function(struct bytes *to, const struct digest_function *f,
                         const struct digest_rare *rare) {
    const uint64_t head[HEAD] = {f->self_ns,
                                 f->min_ns,
                                 f->max_ns - f->min_ns,
                                 rare->unwound,
                                 f->spread.sum_ns,
                                 f->spread.squares.low,
                                 f->spread.squares.high};
    size_t most = HEAD + 2 * (size_t)f->durations.groups * TALLY_GROUP; /* of numbers */
    uint8_t *p = bytes_reserve(to, most * (VARINT_MAX_BYTES + 1)), *first = p;
    for (int i = 0; i < HEAD; i++)
        p = varint_put(p, head[i]);
    to->count += (size_t)(put_durations(p, &f->durations) - first);
}

static void put_sums(struct bytes *to, const struct digest_stats *from) {
    struct bytes entry = {0};
    for (size_t i = 0; i < from->called.count; i++) {
        uint32_t function = from->called.at[i];
        entry.count = 0;
        put_function(&entry, &from->functions[function], &from->rare[function]);
        bytes_put_varint(to, function);
        bytes_put_varint(to, entry.count);
        bytes_put(to, entry.at, entry.count);
    }
    free(entry.at);
}

/* ---- reading sums ---- */

/* The next entry's function; false: there is none. *P is behind the head, *END at the entry's end.
 */
static bool next_entry(const uint8_t **p, const uint8_t *end, uint32_t *ret_function,
                       const uint8_t **ret_end) {
    if (*p >= end)
        return false;
    uint64_t function = varint_get(p);
    uint64_t size = *p < end ? varint_get(p) : 0;
    if (*p > end || size > (uint64_t)(end - *p) || function > UINT32_MAX)
        return false;
    *ret_function = (uint32_t)function;
    *ret_end = *p + size;
    return true;
}

static const uint8_t *get_head(const uint8_t *p, const uint8_t *end, struct digest_function *f,
                               struct digest_rare *rare) {
    uint64_t values[HEAD] = {0};
    for (size_t i = 0; i < HEAD && p < end; i++)
        values[i] = varint_get(&p);
    f->self_ns = values[0];
    f->min_ns = values[1];
    f->max_ns = values[1] + values[2];
    rare->unwound = values[3];
    f->spread.sum_ns = values[4];
    f->spread.squares = (struct wide){.low = values[5], .high = values[6]};
    return p;
}

enum { MOST_BUCKETS = 59 * 64 };

/* The next bucket's calls; *BUCKET is the one before, and becomes this one. */
static inline uint64_t next_bucket(const uint8_t **p, const uint8_t *end, uint64_t *bucket) {
    uint8_t both = *(*p)++;
    if (both < ONE_BYTE) {
        *bucket += both % 16;
        return 1 + both / 16;
    }
    *bucket += *p < end ? varint_get(p) : 0;
    return *p < end ? varint_get(p) : 0;
}

static void get_durations(const uint8_t *p, const uint8_t *end, struct tally *t) {
    uint64_t bucket = 0;
    while (p < end) {
        uint64_t calls = next_bucket(&p, end, &bucket);
        if (bucket >= MOST_BUCKETS || !calls)
            return;
        tally_add(t, (uint32_t)bucket, calls);
    }
}

static void add_sums(struct node_adder *a, const uint8_t *p, size_t size) {
    const uint8_t *end = p + size, *next;
    uint32_t function;
    for (; next_entry(&p, end, &function, &next); p = next) {
        struct digest_function *f = &a->scratch;
        struct digest_rare rare = {0};
        if (function >= a->count)
            continue;
        p = get_head(p, next, f, &rare);
        if (a->sums) {
            f = digest_stats_add_to(a->sums, function, f, &rare);
            get_durations(p, next, &f->durations);
            continue;
        }
        get_durations(p, next, &f->durations);
        stats_add_digest(a->stats, function, f, &rare);
        tally_clear(&f->durations);
    }
}

void node_adder_done(struct node_adder *a) { tally_done(&a->scratch.durations); }

/* ---- totals ---- */

struct total {
    uint64_t function, ns, calls, most_ns;
};

static void put_totals(struct bytes *to, const struct digest_stats *from, const uint64_t *totals) {
    for (size_t i = 0; i < from->called.count; i++) {
        const struct digest_function *f = &from->functions[from->called.at[i]];
        bytes_put_varint(to, from->called.at[i]);
        bytes_put_varint(to, totals[from->called.at[i]]);
        bytes_put_varint(to, tally_sum(&f->durations));
        bytes_put_varint(to, f->max_ns);
    }
}

static bool next_total(const uint8_t **p, const uint8_t *end, struct total *ret) {
    uint64_t values[4] = {0};
    if (*p >= end)
        return false;
    for (int i = 0; i < 4 && *p < end; i++)
        values[i] = varint_get(p);
    *ret = (struct total){values[0], values[1], values[2], values[3]};
    return true;
}

static void add_totals(struct node_adder *a, const struct node *node) {
    const uint8_t *p = node->totals, *end = node->totals + node->totals_size;
    for (struct total t; next_total(&p, end, &t);) {
        if (t.function >= a->count)
            return;
        if (a->totals)
            a->totals[t.function] += t.ns;
        else if (a->stats)
            stats_add_total(a->stats, (uint32_t)t.function, t.ns);
    }
}

uint64_t node_calls(const struct node *node, uint32_t function, uint64_t *ret_most_ns) {
    const uint8_t *p = node->totals, *end = node->totals + node->totals_size;
    *ret_most_ns = 0;
    for (struct total t; next_total(&p, end, &t);)
        if (t.function == function) {
            *ret_most_ns = t.most_ns;
            return t.calls;
        }
    return 0;
}

/* ---- nodes ---- */

struct node node_make(const struct digest_stats *from, const uint64_t *totals) {
    static const uint8_t zeros[NODE_MARGIN];
    struct bytes list = {0}, sums = {0};
    put_totals(&list, from, totals);
    put_sums(&sums, from);
    struct node node = {.raw_size = sums.count, .totals_size = list.count};
    bytes_put(&list, zeros, sizeof zeros);
    node.totals = mem_resize(list.at, list.count, 1);
    size_t room = ZSTD_compressBound(sums.count);
    uint8_t *packed = mem_resize(NULL, room + 1, 1);
    size_t size = ZSTD_compress(packed, room, sums.at ? sums.at : zeros, sums.count, 1);
    node.sums_size = ZSTD_isError(size) ? 0 : size;
    node.sums = mem_resize(packed, node.sums_size + 1, 1);
    free(sums.at);
    return node;
}

void node_free(struct node *n) {
    free((void *)n->sums);
    free((void *)n->totals);
    *n = (struct node){0};
}

void node_add(struct node_adder *a, const struct node *node) {
    if (!node->sums || ZSTD_getFrameContentSize(node->sums, node->sums_size) != node->raw_size)
        return;
    uint8_t *raw = mem_alloc(node->raw_size + NODE_MARGIN);
    size_t size = ZSTD_decompress(raw, node->raw_size, node->sums, node->sums_size);
    if (!ZSTD_isError(size))
        add_sums(a, raw, size);
    free(raw);
    add_totals(a, node);
}
