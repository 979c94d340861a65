/*
 * Writes puns and the islands that they jump to. The upper bytes of a pun's displacement are those
 * of the instructions behind it, so it reaches few addresses. A page (an *island*) is mapped at
 * one of them, with a jump to the trampoline. The more bytes a pun borrows, the fewer addresses it
 * reaches: exactly one when all bytes are borrowed.
 *
 * Borrowed bytes may belong to other patches. So puns are written from the highest address
 * downwards, each from the bytes that will finally be behind it.
 */
#include <string.h>

#include "base/bitmap.h"
#include "base/search.h"
#include "plan/emit/emitter.h"

static const taddr_t LOWEST = 1 << 20, HIGHEST = 0x7ffff0000000;
/* Address sanitizers of programs at a fixed address map their shadow here, later than spoor. */
static const struct span SHADOW = {0x7fff0000, 0x100000000};

struct draft { /* an island while it is filled */
    taddr_t at;
    uint8_t *bytes;
    bool occupied;
    uint16_t free; /* bytes before it are taken; for those behind it see used[] */
    uint8_t used[ISLAND_BYTES / 8];
};

struct writer {
    const struct plan *plan;
    const struct plan_request *request;
    struct plan_code *code;
    ARRAY(struct draft) drafts; /* by address */
    size_t way_room;
    ARRAY(struct span) lost; /* run-time addresses: room where some places are occupied */
};

/* Whether no process has room for an island at PAGE. */
static bool is_page_barred(const struct plan *plan, const struct plan_request *r, taddr_t page) {
    const struct module *m = plan->module;
    taddr_t end = page + ISLAND_BYTES;
    bool module = page < m->high + r->bias && end > m->low + r->bias;
    return module || page < LOWEST || end > HIGHEST || (page < SHADOW.end && end > SHADOW.start);
}

static bool is_page_occupied(const struct plan_request *r, taddr_t page) {
    taddr_t end = page + ISLAND_BYTES;
    bool area = page < r->area + r->area_size && end > r->area;
    size_t low = SEARCH(i, r->taken_count, r->taken[i].end <= page);
    return area || (low < r->taken_count && r->taken[low].start < end);
}

static bool is_page_taken(const struct plan *plan, const struct plan_request *r, taddr_t page) {
    return is_page_barred(plan, r, page) || is_page_occupied(r, page);
}

/* The index of the first draft at or above PAGE. */
static size_t draft_from(const struct writer *s, taddr_t page) {
    return SEARCH(i, s->drafts.count, s->drafts.at[i].at < page);
}

static struct draft *draft_new(struct writer *s, taddr_t page) {
    if (s->drafts.count >= s->request->most_islands)
        return NULL;
    size_t i = draft_from(s, page);
    ARRAY_PUSH(&s->drafts, ((struct draft){0}));
    memmove(&s->drafts.at[i + 1], &s->drafts.at[i],
            (s->drafts.count - 1 - i) * sizeof *s->drafts.at);
    struct draft *new = &s->drafts.at[i];
    *new = (struct draft){.at = page, .bytes = mem_alloc(ISLAND_BYTES)};
    return new;
}

static bool is_free(const struct draft *draft, unsigned offset, unsigned size) {
    for (unsigned i = offset; i < offset + size; i++) {
        if (bitmap_test(draft->used, i))
            return false;
    }
    return true;
}

/* A free place of SIZE bytes on DRAFT that starts in [LOW, END); 0: none. */
static taddr_t place_on(struct draft *draft, taddr_t low, taddr_t end, unsigned size) {
    unsigned first = low > draft->at ? (unsigned)(low - draft->at) : 0;
    unsigned last = ISLAND_BYTES - size;
    if (end - 1 - draft->at < last)
        last = (unsigned)(end - 1 - draft->at);
    bool whole = first <= draft->free;
    if (whole)
        first = draft->free;
    for (unsigned i = first; i <= last; i++) {
        if (!is_free(draft, i, size))
            continue;
        if (whole)
            draft->free = (uint16_t)(i + size);
        return draft->at + i;
    }
    return 0;
}

/* A place of SIZE bytes that starts in [LOW, END), on a known island or a new one; 0: none. */
static taddr_t find_place(struct writer *s, taddr_t low, taddr_t end, unsigned size) {
    const taddr_t mask = ~(taddr_t)(ISLAND_BYTES - 1);
    if (low < LOWEST)
        low = LOWEST;
    if (end > HIGHEST)
        end = HIGHEST;
    if (low >= end)
        return 0;
    for (size_t i = draft_from(s, low & mask); i < s->drafts.count && s->drafts.at[i].at < end;
         i++) {
        taddr_t at = place_on(&s->drafts.at[i], low, end, size);
        if (at)
            return at;
    }
    bool occupied = false;
    for (taddr_t page = low & mask; page < end; page += ISLAND_BYTES) {
        size_t i = draft_from(s, page);
        bool there = i < s->drafts.count && s->drafts.at[i].at == page;
        bool room = page + ISLAND_BYTES - size >= low;
        if (there || !room || is_page_barred(s->plan, s->request, page))
            continue;
        struct draft *draft = is_page_occupied(s->request, page) ? NULL : draft_new(s, page);
        if (draft)
            return place_on(draft, low, end, size);
        occupied = true;
    }
    if (occupied)
        ARRAY_PUSH(&s->lost, ((struct span){low, end}));
    return 0;
}

/* A place for a jump to TRAMPOLINE that PUN reaches; 0: none. */
static taddr_t find_place_for(struct writer *s, const struct pun *pun, taddr_t trampoline) {
    const struct arch *arch = s->plan->arch;
    taddr_t low = trampoline > arch->reach ? trampoline - arch->reach : 0;
    taddr_t end = trampoline + arch->reach;
    return find_place(s, pun->low > low ? pun->low : low,
                      pun->low + pun->span < end ? pun->low + pun->span : end, arch->jump_bytes);
}

static void occupy(struct writer *s, taddr_t at, const uint8_t *bytes, unsigned size) {
    struct draft *draft = &s->drafts.at[draft_from(s, at & ~(taddr_t)(ISLAND_BYTES - 1))];
    unsigned offset = (unsigned)(at - draft->at);
    draft->occupied = true;
    memcpy(draft->bytes + offset, bytes, size);
    for (unsigned i = offset; i < offset + size; i++)
        bitmap_set(draft->used, i);
}

/* The index of the patch that covers AT, or of the first one behind it; else patch_count. */
static size_t patch_from(const struct plan_code *c, vaddr_t at) {
    return SEARCH(i, c->patch_count, c->patches[i].at + c->patches[i].size <= at);
}

/* The bytes at AT after patching. False: AT is too near the segment's end. */
static bool final_bytes(const struct writer *s, vaddr_t at, uint8_t bytes[PUN_MAX_BYTES]) {
    const uint8_t *text = module_bytes(s->plan->module, at, PUN_MAX_BYTES);
    if (!text)
        return false;
    memcpy(bytes, text, PUN_MAX_BYTES);
    const struct plan_code *c = s->code;
    for (size_t i = patch_from(c, at); i < c->patch_count; i++) {
        const struct patch *p = &c->patches[i];
        if (p->at >= at + PUN_MAX_BYTES)
            break;
        for (uint8_t j = 0; j < p->size; j++) {
            if (p->at + j >= at && p->at + j < at + PUN_MAX_BYTES)
                bytes[p->at + j - at] = p->after[j];
        }
    }
    return true;
}

static void note_way(struct writer *s, vaddr_t at, vaddr_t site) {
    struct plan_code *c = s->code;
    c->ways = mem_resize(c->ways, c->way_count + 1, sizeof *c->ways);
    c->ways[c->way_count++] = (struct way){at, site};
}

static bool write_pun(struct writer *s, struct patch *p, vaddr_t trampoline) {
    const struct arch *arch = s->plan->arch;
    taddr_t bias = s->request->bias;
    uint8_t bytes[PUN_MAX_BYTES], jump[PUN_MAX_BYTES];
    if (!final_bytes(s, p->at, bytes))
        return false;
    for (int form = 0; form < PUN_FORMS; form++) {
        struct pun pun;
        if (!arch->pun(bytes, p->at + bias, p->size, (uint8_t)form, &pun))
            continue;
        taddr_t at = find_place_for(s, &pun, trampoline + bias);
        if (!at || arch->jump(jump, at - bias, trampoline))
            continue;
        occupy(s, at, jump, arch->jump_bytes);
        note_way(s, at - bias, p->at);
        arch->pun_write(p->after, p->at + bias, p->size, (uint8_t)form, at);
        p->reads = pun.size;
        return true;
    }
    return false;
}

static void finish(struct writer *s) {
    struct plan_code *c = s->code;
    c->islands = mem_alloc(s->drafts.count * sizeof *c->islands + 1);
    for (size_t i = 0; i < s->drafts.count; i++) {
        const struct draft *draft = &s->drafts.at[i];
        if (draft->occupied)
            c->islands[c->island_count++] = (struct island){draft->at, draft->bytes};
        else
            free(draft->bytes);
    }
    ARRAY_FREE(&s->drafts);
    for (size_t i = 0; i < s->lost.count; i++) {
        s->lost.at[i].start -= s->request->bias;
        s->lost.at[i].end -= s->request->bias;
    }
    c->lost = s->lost.at;
    c->lost_count = s->lost.count;
}

/* A function that the user has named gets a trap where its pun cannot be written. */
static bool make_trap(struct writer *s, struct patch *p, const struct pun_site *pun) {
    const struct arch *arch = s->plan->arch;
    struct plan_code *c = s->code;
    bool permitted = pun->entry ? trap_permits_entry(s->plan, pun->function)
                                : trap_permits(s->plan, pun->function);
    if (!permitted || !request_has_traps(s->request, pun->function))
        return false;
    p->size = p->reads = arch->trap_bytes;
    memcpy(p->after, arch->trap, arch->trap_bytes);
    vaddr_t area = s->request->area - s->request->bias;
    c->traps = mem_resize(c->traps, c->trap_count + 1, sizeof *c->traps);
    c->traps[c->trap_count++] =
        (struct trap){p->at, (uint32_t)(pun->trampoline - area), pun->function, p->window};
    c->trapped_exits[TIER_PUN] += pun->exits;
    if (pun->entry)
        bitmap_set(c->trapped, pun->function);
    return true;
}

void puns_write(const struct plan *plan, const struct plan_request *request, struct plan_code *code,
                struct pun_site *puns, size_t count) {
    struct writer writer = {.plan = plan, .request = request, .code = code};
    for (size_t i = count; i-- > 0;) { /* sorted by address */
        struct pun_site *p = &puns[i];
        struct patch *patch = &code->patches[patch_from(code, p->at)];
        const size_t lost = writer.lost.count;
        p->lost = !write_pun(&writer, patch, p->trampoline);
        if (!p->lost) {
            writer.lost.count = lost;
            continue;
        }
        if (make_trap(&writer, patch, p))
            continue;
        patch->size = 0;
        if (!reach_first_counts(plan, request, p->function))
            code->missed_exits[TIER_PUN] += p->exits;
        bitmap_set(p->entry ? code->missed : code->inexact, p->function);
    }
    finish(&writer);
}

bool puns_serve(const struct plan *plan, const struct plan_request *request,
                const struct plan_code *code, uint64_t moved) {
    bool serve = true;
    for (size_t i = 0; i < code->island_count && serve; i++)
        serve = !is_page_taken(plan, request, code->islands[i].at + moved);
    return serve;
}

/* Whether an island could be in ROOM, run-time addresses. */
static bool has_place(const struct plan *plan, const struct plan_request *r, struct span room) {
    bool taken = true;
    for (taddr_t page = room.start & ~(taddr_t)(ISLAND_BYTES - 1); page < room.end && taken;
         page += ISLAND_BYTES)
        taken = page + ISLAND_BYTES - plan->arch->jump_bytes < room.start ||
                is_page_taken(plan, r, page);
    return !taken;
}

bool puns_have_places(const struct plan *plan, const struct plan_request *request,
                      const struct plan_code *code) {
    bool any = false;
    for (size_t i = 0; i < code->lost_count && !any; i++)
        any = has_place(
            plan, request,
            (struct span){code->lost[i].start + request->bias, code->lost[i].end + request->bias});
    return any;
}
