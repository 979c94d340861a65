/*
 * The puns of kept code, for another process. A pun's upper bytes may be those of a jump into the
 * area, which depend on the area's distance. So where a pun leads, and whether there is room for
 * it, is decided anew, from the same patches as in a new emission. Where a pun was lost, further
 * code depends on that: then the same ones must be lost again, in all rounds of plan_emit().
 */
#include <string.h>

#include "base/search.h"
#include "elf/sort.h"
#include "plan/emit/puns.h"

void pun_log_done(struct pun_log *log) {
    ARRAY_FREE(&log->rounds);
    ARRAY_FREE(&log->puns);
    ARRAY_FREE(&log->patches);
}

static bool are_lost_alike(const struct pun_site *a, const struct pun_site *b, size_t count) {
    bool alike = true;
    for (size_t i = 0; i < count && alike; i++)
        alike = a[i].lost == b[i].lost;
    return alike;
}

struct round { /* views of the log */
    const struct pun_site *puns;
    const struct patch *patches;
    struct pun_round count;
};

/* Decides on the puns of one round. RET has its patches, islands and ways. */
static bool decide(const struct plan *plan, const struct plan_request *request, struct round round,
                   uint64_t farther, struct plan_code *ret) {
    const size_t bytes = plan->functions.count / 8 + 1, count = round.count.puns;
    AUTO_FREE struct pun_site *puns = mem_alloc(count * sizeof *puns + 1);
    *ret = (struct plan_code){.patches = mem_alloc(round.count.patches * sizeof *ret->patches + 1),
                              .patch_count = round.count.patches,
                              .missed = mem_alloc(bytes),
                              .inexact = mem_alloc(bytes),
                              .trapped = mem_alloc(bytes)};
    memcpy(ret->patches, round.patches, round.count.patches * sizeof *ret->patches);
    memcpy(puns, round.puns, count * sizeof *puns);
    bool fit = true;
    for (size_t i = 0; i < ret->patch_count && fit; i++)
        fit = kept_move_jump(plan->arch, &ret->patches[i], farther);
    for (size_t i = 0; i < count; i++)
        puns[i].trampoline += farther;
    if (fit)
        puns_write(plan, request, ret, puns, count);
    return fit && are_lost_alike(ret->pun_log.puns.at, round.puns, count);
}

static void replace_ways(struct plan_code *code, const struct plan_code *from) {
    size_t kept = 0;
    for (size_t i = 0; i < code->way_count; i++) {
        const vaddr_t site = code->ways[i].site;
        size_t k = SEARCH(n, from->pun_log.puns.count, from->pun_log.puns.at[n].at < site);
        if (k == from->pun_log.puns.count || from->pun_log.puns.at[k].at != site)
            code->ways[kept++] = code->ways[i];
    }
    code->ways = mem_resize(code->ways, kept + from->way_count + 1, sizeof *code->ways);
    for (size_t i = 0; i < from->way_count; i++)
        code->ways[kept++] = from->ways[i];
    code->way_count = kept;
    sort_by_address(code->ways, code->way_count, sizeof *code->ways);
}

/* FROM is the last round. */
static void replace_puns(struct plan_code *code, struct plan_code *from) {
    for (size_t i = 0; i < from->pun_log.puns.count; i++) {
        const struct pun_site *p = &from->pun_log.puns.at[i];
        size_t k = SEARCH(n, code->patch_count, code->patches[n].at < p->at);
        size_t j = SEARCH(n, from->patch_count, from->patches[n].at < p->at);
        if (!p->lost)
            code->patches[k] = from->patches[j];
    }
    replace_ways(code, from);
    code->islands = from->islands;
    code->island_count = from->island_count;
    from->islands = NULL;
    from->island_count = 0;
}

bool puns_write_again(const struct plan *plan, const struct plan_request *request,
                      const struct pun_log *log, uint64_t farther, struct plan_code *code) {
    struct round round = {log->puns.at, log->patches.at, {0}};
    ARRAY(struct span) lost = {0};
    bool alike = true;
    for (size_t i = 0; i < log->rounds.count && alike; i++) {
        struct plan_code decided;
        round.count = log->rounds.at[i];
        alike = decide(plan, request, round, farther, &decided);
        for (size_t k = 0; k < decided.lost_count; k++)
            ARRAY_PUSH(&lost, decided.lost[k]);
        if (alike && code && i + 1 == log->rounds.count)
            replace_puns(code, &decided);
        plan_code_done(&decided);
        round.puns += round.count.puns;
        round.patches += round.count.patches;
    }
    if (code && alike) {
        code->lost = lost.at;
        code->lost_count = lost.count;
    } else {
        ARRAY_FREE(&lost);
    }
    return alike;
}
