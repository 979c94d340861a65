/*
 * Decides which puns are written. A pun's upper bytes may be those of a jump into the area, which
 * depend on the area's distance. There must be room for its island. So that is decided for each
 * process, from the log: the puns, the patches near them, and those that go with a lost pun.
 * Without the latter, other puns borrow other bytes. So it is decided again until nothing more
 * goes.
 */
#include <string.h>

#include "base/bitmap.h"
#include "base/search.h"
#include "elf/sort.h"
#include "plan/emit/puns.h"

struct round { /* views of the log */
    const struct pun_site *puns;
    const struct pun_patch *patches;
    const struct way *ways;
    struct pun_round count;
};

typedef ARRAY(struct span) span_array;

struct decision {
    const struct plan *plan;
    const struct plan_request *request;
    struct round round;
    uint64_t farther;
    uint8_t *dropped;      /* bitmap by function: its patches are left out */
    struct pun_site *puns; /* of the round; `lost` is set */
    struct plan_code
        code;        /* the log's patches as they are to be; islands, ways and traps of puns */
    span_array lost; /* for plan_code.lost */
};

static struct round round_of(const struct pun_log *log, size_t number) {
    struct round r = {log->puns.at, log->patches.at, log->ways.at, {0}};
    for (size_t i = 0; i < number; i++) {
        r.puns += log->rounds.at[i].puns;
        r.patches += log->rounds.at[i].patches;
        r.ways += log->rounds.at[i].ways;
    }
    r.count = log->rounds.at[number];
    return r;
}

static size_t function_bytes(const struct plan *plan) { return plan->functions.count / 8 + 1; }

static bool is_dropped(const struct decision *d, uint32_t owner) {
    return owner < PUN_OWN && bitmap_test(d->dropped, owner);
}

/* Of dropped functions there are none. False: a jump does not reach the area. */
static bool take_patches(struct decision *d) {
    struct plan_code *c = &d->code;
    bool fit = true;
    c->patches = mem_alloc(d->round.count.patches * sizeof *c->patches + 1);
    for (size_t i = 0; i < d->round.count.patches && fit; i++) {
        const struct pun_patch *p = &d->round.patches[i];
        if (is_dropped(d, p->owner))
            continue;
        c->patches[c->patch_count] = p->patch;
        fit = kept_move_jump(d->plan->arch, &c->patches[c->patch_count++], d->farther);
    }
    return fit;
}

static void write_puns(struct decision *d) {
    const size_t count = d->round.count.puns;
    AUTO_FREE struct pun_site *puns = mem_alloc(count * sizeof *puns + 1);
    size_t used = 0;
    for (size_t i = 0; i < count; i++)
        if (!is_dropped(d, d->puns[i].function))
            puns[used++] = d->puns[i];
    puns_write(d->plan, d->request, &d->code, puns, used);
    used = 0;
    for (size_t i = 0; i < count; i++)
        d->puns[i].lost = is_dropped(d, d->puns[i].function) || puns[used++].lost;
    for (size_t i = 0; i < d->code.lost_count; i++)
        ARRAY_PUSH(&d->lost, d->code.lost[i]);
}

/* Decides on all puns. False: a jump does not reach the area. */
static bool decide_once(struct decision *d) {
    const size_t bytes = function_bytes(d->plan);
    plan_code_done(&d->code);
    d->code.missed = mem_alloc(bytes);
    d->code.inexact = mem_alloc(bytes);
    d->code.trapped = mem_alloc(bytes);
    if (!take_patches(d))
        return false;
    write_puns(d);
    return true;
}

/* Drops functions whose entries are missed. Returns whether there were any; sets *RET_NEW_CODE if
 * there is one that must not be in the code. */
static bool drop_missed(struct decision *d, bool *ret_new_code) {
    bool any = false;
    for (size_t i = 0; i < d->round.count.puns; i++) {
        const struct pun_site *p = &d->puns[i];
        if (p->if_lost == LOST_ALONE || !bitmap_test(d->code.missed, p->function))
            continue;
        *ret_new_code |= p->if_lost == LOST_WITH_CODE;
        if (p->if_lost == LOST_PATCHES)
            bitmap_set(d->dropped, p->function);
        any |= p->if_lost == LOST_PATCHES;
    }
    return any;
}

enum outcome { UNREACHED /* or otherwise than before */, NEEDS_NEW_CODE, DECIDED };

/* The caller ends D by decision_done(). */
static enum outcome decide(struct decision *d) {
    const size_t count = d->round.count.puns;
    bool new_code = false, again = true;
    d->dropped = mem_alloc(function_bytes(d->plan));
    d->puns = mem_alloc(count * sizeof *d->puns + 1);
    memcpy(d->puns, d->round.puns, count * sizeof *d->puns);
    for (size_t i = 0; i < count; i++)
        d->puns[i].trampoline += d->farther;
    while (again && !new_code) {
        if (!decide_once(d))
            return UNREACHED;
        again = drop_missed(d, &new_code);
    }
    for (size_t i = 0; i < function_bytes(d->plan); i++)
        d->code.missed[i] |= d->dropped[i];
    return new_code ? NEEDS_NEW_CODE : DECIDED;
}

static void decision_done(struct decision *d) {
    free(d->dropped);
    free(d->puns);
    plan_code_done(&d->code);
    ARRAY_FREE(&d->lost);
}

/* ---- the code ---- */

/* The owner of the patch at AT; PUN_NEAR: it has none, and stays as it is. */
static uint32_t owner_of(const struct round *r, vaddr_t at) {
    size_t i = SEARCH(k, r->count.patches, r->patches[k].patch.at < at);
    return i < r->count.patches && r->patches[i].patch.at == at ? r->patches[i].owner : PUN_NEAR;
}

static bool is_owned(const struct decision *d, vaddr_t at) {
    return owner_of(&d->round, at) != PUN_NEAR;
}

/* Leaves out those of ITEMS (patches, ways or traps) that have an owner. KEY: where in each the
 * address is that tells so. Returns how many stay. */
static size_t leave_out_owned(const struct decision *d, void *items, size_t count, size_t size,
                              size_t key) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const char *item = (const char *)items + i * size;
        if (!is_owned(d, *(const vaddr_t *)(item + key)))
            memmove((char *)items + kept++ * size, item, size);
    }
    return kept;
}

static void replace_patches(const struct decision *d, struct plan_code *code) {
    const struct plan_code *from = &d->code;
    size_t kept = leave_out_owned(d, code->patches, code->patch_count, sizeof *code->patches,
                                  offsetof(struct patch, at));
    code->patches = mem_resize(code->patches, kept + from->patch_count, sizeof *code->patches);
    for (size_t i = 0; i < from->patch_count; i++)
        if (from->patches[i].size && is_owned(d, from->patches[i].at))
            code->patches[kept++] = from->patches[i];
    code->patch_count = kept;
    sort_by_address(code->patches, code->patch_count, sizeof *code->patches);
}

static void replace_ways(const struct decision *d, struct plan_code *code) {
    const struct plan_code *from = &d->code;
    size_t kept = leave_out_owned(d, code->ways, code->way_count, sizeof *code->ways,
                                  offsetof(struct way, site));
    code->ways =
        mem_resize(code->ways, kept + from->way_count + d->round.count.ways, sizeof *code->ways);
    for (size_t i = 0; i < from->way_count; i++)
        code->ways[kept++] = from->ways[i];
    for (size_t i = 0; i < d->round.count.ways; i++)
        if (!is_dropped(d, owner_of(&d->round, d->round.ways[i].site)))
            code->ways[kept++] = d->round.ways[i];
    code->way_count = kept;
    sort_by_address(code->ways, code->way_count, sizeof *code->ways);
}

static void replace_traps(const struct decision *d, struct plan_code *code) {
    const struct plan_code *from = &d->code;
    size_t kept = leave_out_owned(d, code->traps, code->trap_count, sizeof *code->traps,
                                  offsetof(struct trap, at));
    code->traps = mem_resize(code->traps, kept + from->trap_count, sizeof *code->traps);
    for (size_t i = 0; i < from->trap_count; i++)
        code->traps[kept++] = from->traps[i];
    code->trap_count = kept;
    sort_by_address(code->traps, code->trap_count, sizeof *code->traps);
}

/* What the code lacks, or has traps for, because of puns. */
static void replace_losses(const struct decision *d, struct plan_code *code) {
    const struct plan_code *from = &d->code;
    struct pun_log *log = &code->pun_log;
    for (size_t i = 0; i < d->round.count.puns; i++) {
        const struct pun_site *p = &d->puns[i];
        if (!p->lacks_more)
            bitmap_clear(p->entry ? code->missed : code->inexact, p->function);
        if (p->entry)
            bitmap_clear(code->trapped, p->function);
    }
    for (size_t i = 0; i < function_bytes(d->plan); i++) {
        code->missed[i] |= from->missed[i];
        code->inexact[i] |= from->inexact[i];
        code->trapped[i] |= from->trapped[i];
    }
    for (int t = 0; t < TIER_COUNT; t++) {
        code->missed_exits[t] += from->missed_exits[t] - log->missed_exits[t];
        code->trapped_exits[t] += from->trapped_exits[t] - log->trapped_exits[t];
        log->missed_exits[t] = from->missed_exits[t];
        log->trapped_exits[t] = from->trapped_exits[t];
    }
}

/* ---- all rounds ---- */

/* Whether A and B lose the same functions that must not be in the next round's code. */
static bool go_alike(const struct pun_site *a, const struct pun_site *b, size_t count) {
    bool alike = true;
    for (size_t i = 0; i < count && alike; i++)
        alike = a[i].if_lost != LOST_WITH_CODE || a[i].lost == b[i].lost;
    return alike;
}

/* Decides on the log's rounds, *D (with a plan, a request, and `farther`) on the last one. Those
 * before it must lead to the same code. The caller ends D. */
static enum outcome decide_all(const struct pun_log *log, struct decision *d) {
    const struct decision like = *d;
    span_array lost = {0};
    enum outcome outcome = DECIDED;
    for (size_t i = 0; i < log->rounds.count && outcome != UNREACHED; i++) {
        decision_done(d);
        *d = like;
        d->round = round_of(log, i);
        outcome = decide(d);
        ARRAY_MOVE(&lost, &d->lost);
        if (i + 1 < log->rounds.count && !go_alike(d->puns, d->round.puns, d->round.count.puns))
            outcome = UNREACHED;
    }
    d->lost = lost;
    return outcome;
}

bool puns_fit(const struct plan *plan, const struct plan_request *request,
              const struct pun_log *log, uint64_t farther) {
    struct decision d = {.plan = plan, .request = request, .farther = farther};
    const enum outcome outcome = decide_all(log, &d);
    decision_done(&d);
    return outcome == DECIDED;
}

static void apply(struct decision *d, struct plan_code *code) {
    struct pun_log *log = &code->pun_log;
    replace_patches(d, code);
    replace_ways(d, code);
    replace_traps(d, code);
    replace_losses(d, code);
    code->islands = steal(d->code.islands);
    code->island_count = d->code.island_count;
    d->code.island_count = 0;
    code->lost = steal(d->lost.at);
    code->lost_count = d->lost.count;
    struct pun_site *logged = log->puns.at + log->puns.count - d->round.count.puns;
    for (size_t i = 0; i < d->round.count.puns; i++)
        logged[i].lost = d->puns[i].lost;
}

bool puns_settle(const struct plan *plan, const struct plan_request *request, uint64_t farther,
                 struct plan_code *code) {
    struct decision d = {.plan = plan, .request = request, .farther = farther};
    const enum outcome outcome = decide_all(&code->pun_log, &d);
    if (outcome != UNREACHED)
        apply(&d, code);
    decision_done(&d);
    return outcome == DECIDED;
}
