/*
 * Emitted code in flat form, and its way into another process. Code depends on the place of module
 * and area by their distance, and on the event id of the module's first function. Where the
 * machine's code has both in words at known offsets, it is corrected there; elsewhere it serves at
 * the same distance, for the same ids. Puns are written anew (puns_settle.c). So the code is, byte
 * for byte, that of a new emission.
 */
#include <assert.h>
#include <string.h>

#include "base/digest.h"
#include "base/flat.h"
#include "base/search.h"
#include "plan/emit/planned.h"
#include "plan/emit/puns.h"

bool plan_request_may_be_kept(const struct plan *plan, const struct plan_request *r) {
    bool filtered = false;
    for (size_t i = 0; r->filtered && i < plan->functions.count / 8 + 1 && !filtered; i++)
        filtered = r->filtered[i];
    return !r->first && !filtered && !r->capture_count && !r->probe_count;
}

bool plan_code_may_be_kept(const struct plan *plan, const struct plan_code *code) {
    bool beyond = false;
    for (size_t i = 0; i < plan->functions.count / 8 + 1 && !beyond; i++)
        beyond = code->beyond[i];
    return !code->far && !code->pages && !code->lacks_sites && !beyond && !code->pun_log.undecided;
}

/* ---- the request ---- */

static void add_bytes(struct digest *d, const void *bytes, size_t count) {
    const uint64_t size = bytes ? count : UINT64_MAX;
    digest_add(d, &size, sizeof size);
    if (bytes)
        digest_add(d, bytes, count);
}

void plan_request_digest(const struct plan *plan, const struct plan_request *r, struct digest *d) {
    const size_t bytes = plan->functions.count / 8 + 1;
    const uint64_t words[] = {r->site_bytes, r->controls,  r->ring_bytes, (uint64_t)r->overflow,
                              r->hook,       r->guards[0], r->guards[1],  r->keep_calls};
    _Static_assert(PLAN_GUARDS == 2, "all are in the list");
    digest_add(d, words, sizeof words);
    add_bytes(d, r->selected, bytes);
    add_bytes(d, r->sliced, bytes);
    add_bytes(d, r->without_traps, bytes);
    add_bytes(d, plan->named, plan->functions.count * sizeof *plan->named);
}

/* ---- writing ---- */

struct head { /* what follows: the numbers of elements of the arrays, in this order */
    uint64_t area_used, patches, marks, ways, addresses, displaced, traps, text;
    uint64_t pun_rounds, puns, pun_patches, pun_ways;
    struct plan_need need;
    taddr_t bias, area;
    struct span targets;
    uint64_t area_size, sites;
    uint64_t missed_exits[TIER_COUNT], trapped_exits[TIER_COUNT];
    uint64_t missed_by_puns[TIER_COUNT], trapped_by_puns[TIER_COUNT];
    uint32_t first_id;
    enum overflow overflow;
};

static void put(struct flat_writer *w, const void *bytes, size_t count) {
    flat_put(w, bytes, count);
    flat_align(w);
}

static void put_traps(struct flat_writer *w, const struct plan_code *c) {
    for (size_t i = 0; i < c->trap_count; i++) {
        struct trap flat; /* without the padding's old contents */
        memset(&flat, 0, sizeof flat);
        flat.at = c->traps[i].at;
        flat.trampoline = c->traps[i].trampoline;
        flat.function = c->traps[i].function;
        flat.window = c->traps[i].window;
        flat_put(w, &flat, sizeof flat);
    }
    flat_align(w);
}

/* The module, and all places outside AREA (a link-time address) that the code has displacements to:
 * what must be within reach. A few bytes of an instruction may follow its displacement. */
static struct span targets_of(const struct plan *plan, const struct plan_code *c, vaddr_t area) {
    struct span ret = {plan->module->low, plan->module->high};
    for (size_t i = 0; i < c->displaced_count; i++) {
        int32_t displacement;
        memcpy(&displacement, c->area + c->displaced[i], sizeof displacement);
        const vaddr_t end = area + c->displaced[i] + sizeof displacement;
        const vaddr_t target = end + (uint64_t)(int64_t)displacement;
        ret.start = target < ret.start ? target : ret.start;
        ret.end = target > ret.end ? target : ret.end;
    }
    return ret;
}

static void put_puns(struct flat_writer *w, const struct pun_log *log) {
    put(w, log->rounds.at, log->rounds.count * sizeof *log->rounds.at);
    put(w, log->puns.at, log->puns.count * sizeof *log->puns.at);
    put(w, log->patches.at, log->patches.count * sizeof *log->patches.at);
    put(w, log->ways.at, log->ways.count * sizeof *log->ways.at);
}

static void write_flat(const struct plan *plan, const struct kept_code *kept, struct span targets,
                       struct flat_writer *w) {
    const struct plan_code *c = &kept->code;
    const size_t bytes = plan->functions.count / 8 + 1;
    struct head head;
    memset(&head, 0, sizeof head);
    head.area_used = c->area_used;
    head.patches = c->patch_count;
    head.marks = c->mark_count;
    head.ways = c->way_count;
    head.addresses = c->address_count;
    head.displaced = c->displaced_count;
    head.traps = c->trap_count;
    head.pun_rounds = c->pun_log.rounds.count;
    head.puns = c->pun_log.puns.count;
    head.pun_patches = c->pun_log.patches.count;
    head.pun_ways = c->pun_log.ways.count;
    head.text = kept->text_count;
    head.need.bytes = kept->need.bytes;
    head.need.sites = kept->need.sites;
    head.need.far = kept->need.far;
    head.need.near = kept->need.near;
    head.bias = kept->bias;
    head.area = kept->area;
    head.targets = targets;
    head.area_size = kept->area_size;
    head.sites = c->sites;
    for (int t = 0; t < TIER_COUNT; t++) {
        head.missed_exits[t] = c->missed_exits[t];
        head.trapped_exits[t] = c->trapped_exits[t];
        head.missed_by_puns[t] = c->pun_log.missed_exits[t];
        head.trapped_by_puns[t] = c->pun_log.trapped_exits[t];
    }
    head.first_id = kept->first_id;
    head.overflow = c->overflow;
    put(w, &head, sizeof head);
    put(w, c->area, c->area_used);
    put(w, c->patches, c->patch_count * sizeof *c->patches);
    put(w, c->marks, c->mark_count * sizeof *c->marks);
    put(w, c->ways, c->way_count * sizeof *c->ways);
    put(w, c->addresses, c->address_count * sizeof *c->addresses);
    put(w, c->displaced, c->displaced_count * sizeof *c->displaced);
    put_traps(w, c);
    put_puns(w, &c->pun_log);
    put(w, kept->text, kept->text_count * sizeof *kept->text);
    put(w, c->missed, bytes);
    put(w, c->inexact, bytes);
    put(w, c->beyond, bytes);
    put(w, c->trapped, bytes);
}

void plan_code_write_flat(const struct plan *plan, const struct kept_code *kept,
                          struct flat_writer *w) {
    write_flat(plan, kept, targets_of(plan, &kept->code, kept->area - kept->bias), w);
}

void plan_code_write_outline(const struct plan *plan, const struct kept_code *kept,
                             struct flat_writer *w) {
    const struct plan_code *c = &kept->code;
    struct kept_code outline = *kept;
    outline.text_count = 0;
    outline.code = (struct plan_code){.pun_log = c->pun_log,
                                      .missed = c->missed,
                                      .inexact = c->inexact,
                                      .beyond = c->beyond,
                                      .trapped = c->trapped};
    write_flat(plan, &outline, targets_of(plan, c, kept->area - kept->bias), w);
}

/* ---- reading ---- */

#define TAKE(r, array, n) (((array) = flat_take((r), (n), sizeof *(array))) || (n) == 0)

static bool read_puns(const struct head *h, struct flat_reader *r, struct pun_log *log) {
    log->rounds.count = (size_t)h->pun_rounds;
    log->puns.count = (size_t)h->puns;
    log->patches.count = (size_t)h->pun_patches;
    log->ways.count = (size_t)h->pun_ways;
    for (int t = 0; t < TIER_COUNT; t++) {
        log->missed_exits[t] = (size_t)h->missed_by_puns[t];
        log->trapped_exits[t] = (size_t)h->trapped_by_puns[t];
    }
    return TAKE(r, log->rounds.at, h->pun_rounds) && TAKE(r, log->puns.at, h->puns) &&
           TAKE(r, log->patches.at, h->pun_patches) && TAKE(r, log->ways.at, h->pun_ways);
}

#define TAKE_COPY(r, array, n) (((array) = flat_take_copy((r), (n), sizeof *(array))) || (n) == 0)

static bool read_arrays(const struct plan *plan, const struct head *h, struct flat_reader *r,
                        struct kept_code *ret) {
    struct plan_code *c = &ret->code;
    const size_t bytes = plan->functions.count / 8 + 1;
    return TAKE(r, c->area, h->area_used) && TAKE_COPY(r, c->patches, h->patches) &&
           TAKE(r, c->marks, h->marks) && TAKE_COPY(r, c->ways, h->ways) &&
           TAKE(r, c->addresses, h->addresses) && TAKE(r, c->displaced, h->displaced) &&
           TAKE_COPY(r, c->traps, h->traps) && read_puns(h, r, &c->pun_log) &&
           TAKE(r, ret->text, h->text) && TAKE(r, c->missed, bytes) && TAKE(r, c->inexact, bytes) &&
           TAKE(r, c->beyond, bytes) && TAKE(r, c->trapped, bytes);
}

void plan_code_later(const struct flat_reader *r, struct span ret[PLAN_CODE_LATER]) {
    struct flat_reader left = *r;
    const struct head *h = flat_take(&left, 1, sizeof *h);
    const uint8_t *area = h ? flat_take(&left, h->area_used, 1) : NULL;
    const struct patch *patches = h ? flat_take(&left, h->patches, sizeof *patches) : NULL;
    const struct mark *marks = h ? flat_take(&left, h->marks, sizeof *marks) : NULL;
    const uint8_t *const starts[PLAN_CODE_LATER] = {area, (const uint8_t *)marks};
    const uint64_t sizes[PLAN_CODE_LATER] = {area ? h->area_used : 0,
                                             marks ? h->marks * sizeof *marks : 0};
    for (int i = 0; i < PLAN_CODE_LATER; i++) {
        ret[i].start = starts[i] ? (uint64_t)(starts[i] - r->at) : 0;
        ret[i].end = ret[i].start + sizes[i];
    }
}

bool plan_code_read_flat(const struct plan *plan, struct flat_reader *r, struct kept_code *ret) {
    const struct head *h = flat_take(r, 1, sizeof *h);
    if (!h)
        return false;
    *ret = (struct kept_code){.need = h->need,
                              .bias = h->bias,
                              .area = h->area,
                              .targets = h->targets,
                              .area_size = (size_t)h->area_size,
                              .first_id = h->first_id,
                              .text_count = (size_t)h->text};
    struct plan_code *c = &ret->code;
    *c = (struct plan_code){.area_used = (size_t)h->area_used,
                            .patch_count = (size_t)h->patches,
                            .mark_count = (size_t)h->marks,
                            .way_count = (size_t)h->ways,
                            .address_count = (size_t)h->addresses,
                            .displaced_count = (size_t)h->displaced,
                            .trap_count = (size_t)h->traps,
                            .word_bytes = plan->arch->word_bytes,
                            .sites = (size_t)h->sites,
                            .overflow = h->overflow};
    for (int t = 0; t < TIER_COUNT; t++) {
        c->missed_exits[t] = (size_t)h->missed_exits[t];
        c->trapped_exits[t] = (size_t)h->trapped_exits[t];
    }
    if (read_arrays(plan, h, r, ret))
        return true;
    free(c->patches);
    free(c->ways);
    free(c->traps);
    return false;
}

/* ---- another process ---- */

/* Adds CHANGE to the 32-bit displacement at BYTES. False: it has no room for the sum. */
static bool displace(uint8_t *bytes, int64_t change) {
    int32_t old, new;
    memcpy(&old, bytes, sizeof old);
    if (__builtin_add_overflow(old, change, &new))
        return false;
    memcpy(bytes, &new, sizeof new);
    return true;
}

bool kept_move_jump(const struct arch *arch, struct patch *patch, uint64_t farther) {
    return patch->size != arch->jump_bytes || !arch->displacement_at ||
           displace(patch->after + arch->displacement_at, (int64_t)farther);
}

/* The area is FARTHER bytes (modulo 2^64) above the module than before. */
static bool set_distance(const struct plan *plan, struct plan_code *c, uint64_t farther) {
    bool done = true;
    c->farther = farther;
    for (struct patch *q = c->patches; q < c->patches + c->patch_count && done; q++)
        done = kept_move_jump(plan->arch, q, farther);
    return done;
}

/* The end of the piece [FROM, END) of the area, such that none of WORDS, ascending offsets of SIZE
 * bytes, is cut. */
static size_t whole_words(const uint32_t *words, size_t count, size_t size, size_t end) {
    size_t i = SEARCH(k, count, words[k] < end);
    return i && words[i - 1] + size > end ? words[i - 1] : end;
}

static void copy_area(const struct plan_code *c, size_t from, size_t size, uint8_t *ret) {
    if (!c->source) {
        memcpy(ret, c->area + from, size);
        return;
    }
    const bool there = c->source->copy(c->source, c->area + from, size, ret);
    assert(there); /* the file's checksum was right */
}

size_t plan_code_copy(const struct plan_code *c, uint64_t moved, size_t from, size_t most,
                      uint8_t *ret) {
    size_t end = c->area_used - from < most ? c->area_used : from + most;
    if (end < c->area_used) {
        end = whole_words(c->displaced, c->displaced_count, sizeof(int32_t), end);
        end = whole_words(c->addresses, c->address_count, c->word_bytes, end);
    }
    copy_area(c, from, end - from, ret);
    size_t i = c->farther ? SEARCH(k, c->displaced_count, c->displaced[k] < from) : SIZE_MAX;
    for (; i < c->displaced_count && c->displaced[i] < end; i++)
        displace(ret + c->displaced[i] - from, -(int64_t)c->farther);
    i = moved ? SEARCH(k, c->address_count, c->addresses[k] < from) : SIZE_MAX;
    for (; i < c->address_count && c->addresses[i] < end; i++) {
        uint64_t address = 0;
        memcpy(&address, ret + c->addresses[i] - from, c->word_bytes);
        address += moved;
        memcpy(ret + c->addresses[i] - from, &address, c->word_bytes);
    }
    return end - from;
}

const struct mark *plan_code_mark(const struct plan_code *code, size_t number) {
    const struct mark *m = &code->marks[number];
    const bool there = !code->source || code->source->fill(code->source, m, sizeof *m);
    assert(there); /* the file's checksum was right */
    return m;
}

/* The area and the marks will be used as a whole. */
static bool fill_all(const struct plan_code *c) {
    return !c->source || (c->source->fill(c->source, c->area, c->area_used) &&
                          c->source->fill(c->source, c->marks, c->mark_count * sizeof *c->marks));
}

/* Events of functions get ids from FIRST_ID on. Other stubs have no id, or one beyond functions'.
 */
static void set_ids(const struct plan *plan, struct kept_code *kept, uint32_t first_id) {
    enum { KINDS = 4, VARIANTS = 256, NO_SITE = STUB_HOOK | STUB_SLICE };
    uint32_t offsets[VARIANTS] = {0};
    const struct plan_code *c = &kept->code;
    for (size_t i = 0; i < c->mark_count; i++) {
        const struct mark *m = &c->marks[i];
        uint32_t *offset = &offsets[m->variant], site;
        if (m->kind != MARK_STUB || m->variant & NO_SITE)
            continue;
        if (!*offset)
            *offset = plan->arch->stub_site_at(m->variant, c->overflow);
        memcpy(&site, c->area + m->offset + *offset, sizeof site);
        if (site / KINDS - kept->first_id < plan->functions.count)
            site += (first_id - kept->first_id) * KINDS;
        memcpy(c->area + m->offset + *offset, &site, sizeof site);
    }
}

static uint64_t farther_by(const struct plan_request *r, const struct kept_code *kept) {
    return (r->area - r->bias) - (kept->area - kept->bias);
}

/* Whether the area of R and all places that KEPT's code leads to reach each other. */
static bool is_reached(const struct plan *plan, const struct plan_request *r,
                       const struct kept_code *kept) {
    const taddr_t low = kept->targets.start + r->bias, high = kept->targets.end + r->bias;
    const taddr_t end = r->area + r->area_size;
    const uint64_t down = end > low ? end - low : 0, up = high > r->area ? high - r->area : 0;
    return down <= plan->arch->reach && up <= plan->arch->reach;
}

/* Whether KEPT can become the code of R, but for its puns. */
static bool may_be_moved(const struct plan *plan, const struct plan_request *r,
                         const struct kept_code *kept) {
    return r->area_size == kept->area_size &&
           (!farther_by(r, kept) || (plan->arch->displacement_at && is_reached(plan, r, kept))) &&
           (r->first_id == kept->first_id || plan->arch->stub_site_at);
}

bool plan_code_fits(const struct plan *plan, const struct plan_request *r,
                    const struct kept_code *kept) {
    return may_be_moved(plan, r, kept) &&
           puns_fit(plan, r, &kept->code.pun_log, farther_by(r, kept));
}

bool plan_code_adapt(const struct plan *plan, const struct plan_request *r,
                     struct kept_code *kept) {
    const uint64_t farther = farther_by(r, kept);
    struct plan_code *c = &kept->code;
    if (!may_be_moved(plan, r, kept) || (farther && !set_distance(plan, c, farther)) ||
        !puns_settle(plan, r, farther, c))
        return false;
    for (size_t i = 0; i < c->island_count; i++)
        c->islands[i].at -= r->bias - kept->bias;
    if (r->first_id != kept->first_id) {
        if (!fill_all(c))
            return false;
        set_ids(plan, kept, r->first_id);
    }
    c->caller = r->caller;
    return true;
}
