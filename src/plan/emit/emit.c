/*
 * Emits trampolines and patches for one load address.
 *
 *     entry window     [hook stub] [entry stub] insn… [jmp behind the window]
 *     control window   [control stub] insn… [jmp behind the window]
 *     exit window      insn… stub(RETURN|TAIL) insn
 *     conditional      insn… j!cc 1f; stub(TAIL); jmp target; 1: insn…    likewise returns
 *     loop             insn… jmp behind the entry's stub
 *
 * Stubs for events of Go's stacks stand before those of the entry or return (go_stacks.c). A stub
 * that copies a slice of the stack stands before the entry's (STUB_SLICE). Stubs of filtered
 * functions test where the call comes from (STUB_CALLER).
 *
 * A hop has two patches: the short jump, and the jump in the hole. Puns are written after all
 * other patches (puns.c); where one cannot be, a trap may take its place. From a trap, the tool
 * moves the thread to the trampoline.
 *
 * All arithmetic is in link-time addresses, as if the area were mapped at area − bias.
 */
#include <errno.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/search.h"
#include "elf/sort.h"
#include "plan/emit/emitter.h"

static struct patch *new_patch(struct emitter *e, vaddr_t at, uint8_t size, uint64_t window) {
    struct plan_code *c = e->code;
    if (c->patch_count == e->patch_room) {
        e->patch_room = e->patch_room ? e->patch_room * 2 : 256;
        c->patches = mem_resize(c->patches, e->patch_room, sizeof *c->patches);
        mem_will_fill(c->patches, e->patch_room * sizeof *c->patches);
    }
    struct patch *p = &c->patches[c->patch_count++];
    *p = (struct patch){.at = at, .window = (uint8_t)window, .size = size, .reads = size};
    memcpy(p->before, module_bytes(e->plan->module, at, size), size);
    return p;
}

static void put_way(struct emitter *e, vaddr_t at, vaddr_t site) {
    struct plan_code *c = e->code;
    if (c->way_count == e->way_room) {
        e->way_room = e->way_room ? e->way_room * 2 : 64;
        c->ways = mem_resize(c->ways, e->way_room, sizeof *c->ways);
    }
    c->ways[c->way_count++] = (struct way){at, site};
}

static void put_trap(struct emitter *e, const struct site *site) {
    struct plan_code *c = e->code;
    if (c->trap_count == e->trap_room) {
        e->trap_room = e->trap_room ? e->trap_room * 2 : 16;
        c->traps = mem_resize(c->traps, e->trap_room, sizeof *c->traps);
    }
    c->traps[c->trap_count++] = (struct trap){site->start, (uint32_t)c->area_used, site->function,
                                              (uint8_t)(site->end - site->start)};
}

static uint32_t exit_count(const struct plan *plan, const struct site *site) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < site->step_count; i++)
        count += plan->steps.at[site->first_step + i].exit;
    return count;
}

/* Writes to OUT the jump from AT, in SITE's window or hole, to TRAMPOLINE. Returns its size; 0:
 * none reaches it. */
static uint8_t make_jump(const struct emitter *e, const struct site *site, vaddr_t at,
                         vaddr_t trampoline, uint8_t out[PATCH_MAX_BYTES]) {
    const struct arch *arch = site_arch(e->plan, site);
    if (arch->jump(out, at, trampoline) == 0)
        return arch->jump_bytes;
    e->code->far |= site->far;
    return site->far ? arch->far_jump(out, at, trampoline + e->request->bias) : 0;
}

static int put_hop(struct emitter *e, const struct site *site, vaddr_t trampoline) {
    const struct arch *arch = site_arch(e->plan, site);
    uint8_t bytes[PATCH_MAX_BYTES], size = make_jump(e, site, site->hole, trampoline, bytes);
    struct patch *hop = new_patch(e, site->start, arch->hop_bytes, site->end - site->start);
    hop->yields = site->in_sled;
    int r = arch->hop(hop->after, site->start, site->hole);
    if (r || !size)
        return -ERANGE;
    put_way(e, site->hole, site->start);
    memcpy(new_patch(e, site->hole, size, 0)->after, bytes, size);
    return 0;
}

static bool is_hook(const struct emitter *e, const struct site *site) {
    const vaddr_t hook = e->request->hook;
    return hook && site->entry && e->plan->functions.at[site->function].addr == hook;
}

/* The variant of the stub at SITE that waits for the tool; 0: none does. A hook is never a trap: a
 * program that outlives the tool would die of it. */
static uint8_t waiting_variant(const struct emitter *e, const struct site *site) {
    const struct plan_request *r = e->request;
    vaddr_t at = site->entry ? e->plan->functions.at[site->function].addr : 0;
    if (!at || site->tier == TIER_TRAP)
        return 0;
    for (int i = 0; i < PLAN_GUARDS; i++)
        if (r->guards[i] == at)
            return GUARD_VARIANT;
    return is_hook(e, site) || (!r->first && lane_guard_is_at(e->plan, site)) ? HOOK_VARIANT : 0;
}

static bool may_trap(const struct emitter *e, const struct site *site) {
    bool permitted = site->entry ? trap_permits_entry(e->plan, site->function)
                                 : trap_permits(e->plan, site->function);
    return permitted && request_has_traps(e->request, site->function) && !waiting_variant(e, site);
}

/* Writes a trap in place of SITE's jump to OUT, and counts it. Returns its size. */
static uint8_t trap_instead(struct emitter *e, const struct site *site, uint8_t *out) {
    struct plan_code *c = e->code;
    put_trap(e, site);
    c->trapped_exits[site->tier] += exit_count(e->plan, site);
    if (site->entry)
        bitmap_set(c->trapped, site->function);
    const struct arch *arch = site_arch(e->plan, site);
    memcpy(out, arch->trap, arch->trap_bytes);
    return arch->trap_bytes;
}

/* If no jump reaches the trampoline, a function that the user has named gets a trap. */
static int put_jump(struct emitter *e, const struct site *site, vaddr_t trampoline) {
    const uint64_t window = site->end - site->start;
    uint8_t bytes[PATCH_MAX_BYTES], size = make_jump(e, site, site->start, trampoline, bytes);
    if (!size && !may_trap(e, site))
        return -ERANGE;
    if (!size)
        size = trap_instead(e, site, bytes);
    memcpy(new_patch(e, site->start, size, window)->after, bytes, size);
    return 0;
}

static int put_patch(struct emitter *e, const struct site *site, vaddr_t trampoline) {
    const struct arch *arch = site_arch(e->plan, site);
    const uint64_t window = site->end - site->start;
    if (site->hole)
        return put_hop(e, site, trampoline);
    if (site->tier == TIER_TRAP) {
        struct patch *trap = new_patch(e, site->start, arch->trap_bytes, window);
        memcpy(trap->after, arch->trap, arch->trap_bytes);
        put_trap(e, site);
        return 0;
    }
    if (site->tier == TIER_PUN) {
        new_patch(e, site->start, site->owned, window);
        ARRAY_PUSH(&e->puns, ((struct pun_site){.at = site->start,
                                                .trampoline = trampoline,
                                                .function = site->function,
                                                .exits = exit_count(e->plan, site),
                                                .entry = site->entry}));
        return 0;
    }
    return put_jump(e, site, trampoline);
}

static bool has_wanted_probe(const struct emitter *e, const struct site *site) {
    for (uint32_t i = 0; i < site->step_count; i++)
        if (request_probe(e, &e->plan->steps.at[site->first_step + i]))
            return true;
    return false;
}

static bool is_wanted(const struct emitter *e, const struct site *site, bool start) {
    if (site->tier == TIER_TRAP && !request_has_traps(e->request, site->function))
        return false;
    if (site->tier == TIER_TRAP && !trap_permits_site(e->plan, site))
        return has_wanted_probe(e, site);
    bool wanted =
        start || (site->control && event_owner(e, site->function, EVENT_CONTROL) != UINT32_MAX);
    for (uint32_t i = 0; !wanted && i < site->step_count; i++) {
        const struct step *s = &e->plan->steps.at[site->first_step + i];
        wanted =
            exit_owner(e, s) != UINT32_MAX || go_stacks_step(e->plan, s) || request_probe(e, s);
    }
    return wanted || go_stacks_entry(e->plan, site);
}

static bool holds_call(const struct plan *plan, const struct site *site) {
    return emitter_is_call(plan->steps.at[site->first_step + site->step_count - 1].insn.kind);
}

/* Fills emitter.wanted. A window with the hole of a wanted one is wanted, too. */
static void mark_wanted(struct emitter *e) {
    const struct plan *plan = e->plan;
    e->wanted = mem_alloc(plan->sites.count * sizeof *e->wanted + 1);
    for (size_t i = 0; i < plan->sites.count; i++) {
        const struct site *s = &plan->sites.at[i];
        bool wanted =
            is_wanted(e, s, waiting_variant(e, s) || (s->entry && request_traces(e, s->function)));
        if (wanted && reach_is_served(e, s))
            wanted = false;
        if (wanted && e->request->keep_calls && holds_call(plan, s)) {
            wanted = false;
            if (s->entry)
                bitmap_set(e->code->missed, s->function);
        }
        if (wanted && (reach_has_lost(e, i) || reach_is_blocked(e, s))) {
            wanted = false;
            if (e->losses)
                reach_count_lost(e, i);
        }
        e->wanted[i] |= wanted;
        if (wanted && s->hole_site)
            e->wanted[s->hole_site - 1] = true;
    }
}

/* What a stub that judges calls adds to that. */
static uint32_t judge_room(const struct emitter *e, enum judged judged,
                           const struct predicate *predicate) {
    return e->plan->arch->stub_judge_bytes(judged, predicate) + STUB_MAX_BYTES;
}

/* What the capture of an EVENT for OWNER adds to a stub: its code, and that of more saved
 * registers, which is in rooms of hooks. */
static uint32_t capture_room(const struct emitter *e, uint32_t owner, uint8_t event) {
    const struct plan_capture *c = owner == UINT32_MAX ? NULL : request_capture(e, owner, event);
    return c ? c->bytes + STUB_MAX_BYTES : 0;
}

static uint32_t entry_room(const struct emitter *e, uint32_t function) {
    const struct predicate *judge = request_judge(e, function);
    return capture_room(e, function, EVENT_ENTRY) +
           (judge ? judge_room(e, JUDGED_ENTRY, judge) : 0);
}

static uint32_t exit_room(const struct emitter *e, const struct step *s) {
    const uint32_t owner = exit_owner(e, s);
    const bool judged = owner != UINT32_MAX && request_judges_exit(e, s->function);
    return capture_room(e, owner, s->event) +
           (judged ? judge_room(e, JUDGED_EXIT, NULL) + judge_room(e, JUDGED_END, NULL) : 0);
}

/* The bytes that captures add to SITE's trampoline, at most. */
static uint32_t captures_room(const struct emitter *e, const struct site *site) {
    uint32_t sum = 0;
    if (!e->request->capture_count && !e->request->probe_count)
        return 0;
    if (site->entry && request_traces(e, site->function))
        sum = entry_room(e, site->function);
    for (uint32_t i = 0; i < site->step_count; i++) {
        const struct step *s = &e->plan->steps.at[site->first_step + i];
        const struct plan_probe *probe = request_probe(e, s);
        sum += exit_room(e, s) +
               (probe && probe->capture.bytes ? probe->capture.bytes + STUB_MAX_BYTES : 0);
    }
    return sum;
}

/* Upper bound of SITE's trampoline, in bytes. */
static uint32_t room_of(const struct emitter *e, const struct site *site) {
    bool event = site->entry && request_traces(e, site->function);
    bool slice = event && request_slices(e, site->function);
    return site->room + (waiting_variant(e, site) ? e->plan->hook_room : 0) +
           (slice ? e->plan->slice_room : 0) + captures_room(e, site);
}

static int out_of_reach(const struct plan *plan, struct err *err) {
    return err_set(err, ERANGE, "out-of-reach",
                   "%s: no room for trampolines within reach of its code", plan->module->name);
}

/* Emits site NUMBER. If it is out of reach, it is lost; for the hook that is an error. */
static int put_site(struct emitter *e, size_t number, struct err *err) {
    const struct plan *plan = e->plan;
    const struct site *site = &plan->sites.at[number];
    struct plan_code *c = e->code;
    e->arch = site_arch(plan, site);
    e->bytes = module_bytes(plan->module, site->start, site->end - site->start);
    uint8_t waits = waiting_variant(e, site);
    bool event = site->entry && request_traces(e, site->function);
    if (e->request->area_size - c->area_used < room_of(e, site))
        return err_set(err, ENOSPC, "no-room", "%s: the trampoline area is too small",
                       plan->module->name);
    if (c->area_used % TRAMPOLINE_ALIGN) {
        trampoline_mark(e, (struct mark){.kind = MARK_NONE});
        c->area_used += TRAMPOLINE_ALIGN - c->area_used % TRAMPOLINE_ALIGN;
    }
    int r = put_patch(e, site, e->area + c->area_used);
    if (!r)
        r = trampoline_write(e, site, waits, event);
    if (r && is_hook(e, site))
        return out_of_reach(plan, err);
    if (r)
        reach_lose(e, number);
    return 0;
}

static bool hook_exists(const struct plan *plan, vaddr_t hook) {
    for (size_t i = 0; i < plan->sites.count; i++) {
        const struct site *s = &plan->sites.at[i];
        if (s->entry && s->tier != TIER_TRAP && plan->functions.at[s->function].addr == hook)
            return true;
    }
    return false;
}

/* Sorts all patches, and notes the puns, which are not written yet. */
static void finish(struct emitter *e) {
    struct plan_code *c = e->code;
    sort_by_address(c->patches, c->patch_count, sizeof *c->patches);
    sort_by_address(c->ways, c->way_count, sizeof *c->ways);
    sort_by_address(c->traps, c->trap_count, sizeof *c->traps);
    puns_note(e);
}

static void emitter_done(struct emitter *e) {
    ARRAY_FREE(&e->puns);
    free(e->wanted);
    free(e->first_traced);
    free(e->unfiltered);
    free(e->judged);
    free(e->carried);
    free(e->behind_entry);
}

static void make_area(struct emitter *e) {
    const struct plan *plan = e->plan;
    size_t most = plan->area_size + (e->request->sliced ? plan_slices_size(plan) : 0);
    const bool captures = e->request->capture_count || e->request->probe_count;
    for (size_t i = 0; i < plan->sites.count && captures; i++)
        most += e->wanted[i] ? captures_room(e, &plan->sites.at[i]) : 0;
    size_t room = most < e->request->area_size ? most : e->request->area_size;
    e->code->area = mem_alloc(room);
    mem_will_fill(e->code->area, room);
}

/* Emits all but the sites in LOSSES, and the puns. If more sites are lost, *RET is of no use. */
static int emit_once(const struct plan *plan, const struct plan_request *request,
                     struct losses *losses, struct plan_code *ret, struct err *err) {
    struct plan_code code = {.word_bytes = plan->arch->word_bytes,
                             .overflow = request->overflow,
                             .caller = request->caller};
    if (!plan->arch->agent_size)
        return err_set(err, ENOTSUP, "foreign-machine", "%s: its code can be planned for only",
                       plan->module->name);
    size_t agent = *plan->arch->agent_size;
    if (request->area_size < agent)
        return err_set(err, ENOSPC, "no-room", "%s: the trampoline area is too small",
                       plan->module->name);
    if (request->hook && !hook_exists(plan, request->hook))
        return err_set(err, ENOENT, "no-hook", "%s: no patchable function at %#lx",
                       plan->module->name, (unsigned long)request->hook);
    struct emitter e = {.plan = plan, .request = request, .losses = losses, .code = &code};
    e.area = request->area - request->bias;
    code.missed = mem_alloc(plan->functions.count / 8 + 1);
    code.beyond = mem_alloc(plan->functions.count / 8 + 1);
    code.inexact = mem_alloc(plan->functions.count / 8 + 1);
    code.trapped = mem_alloc(plan->functions.count / 8 + 1);
    request_resolve(&e);
    mark_wanted(&e);
    make_area(&e);
    trampoline_mark(&e, (struct mark){.kind = MARK_NONE});
    memcpy(code.area, plan->arch->agent, agent);
    code.area_used = agent;
    int r = 0;
    for (size_t i = 0; !r && i < plan->sites.count; i++)
        r = e.wanted[i] ? put_site(&e, i, err) : 0;
    trampoline_mark(&e, (struct mark){.kind = MARK_NONE});
    if (!r && !losses->more)
        finish(&e);
    emitter_done(&e);
    if (r)
        plan_code_done(&code);
    else
        *ret = code;
    return r;
}

struct plan_need plan_need(const struct plan *plan, const struct plan_request *request) {
    struct plan_need need = {.bytes = plan->arch->agent_size ? *plan->arch->agent_size : 0};
    struct plan_code code = {.missed = mem_alloc(plan->functions.count / 8 + 1)};
    struct emitter e = {.plan = plan, .request = request, .code = &code};
    request_resolve(&e);
    mark_wanted(&e);
    for (size_t i = 0; i < plan->sites.count; i++) {
        if (!e.wanted[i])
            continue;
        const struct site *s = &plan->sites.at[i];
        need.bytes += room_of(&e, s);
        need.sites++;
        if (reach_is_far(plan, s)) {
            need.far++;
            continue;
        }
        need.near.start = need.near.end ? need.near.start : s->start;
        need.near.end = s->end;
    }
    emitter_done(&e);
    plan_code_done(&code);
    return need;
}

/* SELECTED becomes ALL for functions below COUNT, and empty for others. */
static void select_first(uint8_t *selected, const uint8_t *all, size_t bytes, size_t count) {
    memset(selected, 0, bytes);
    memcpy(selected, all, count / 8);
    if (count % 8)
        selected[count / 8] = all[count / 8] & (uint8_t)((1u << count % 8) - 1);
}

static bool fits(const struct plan *plan, const struct plan_request *request) {
    size_t most = request->capture_count || request->probe_count
                      ? SIZE_MAX
                      : plan->area_size + plan_slices_size(plan) +
                            plan->sites.count * (request->site_bytes + plan->hook_room);
    if (most <= request->area_size)
        return true;
    struct plan_need need = plan_need(plan, request);
    return need.bytes + need.sites * request->site_bytes <= request->area_size;
}

/* If the area is too small for the request, moves the last functions in SELECTED to MISSED. */
static void fit(const struct plan *plan, const struct plan_request *request, uint8_t *selected,
                uint8_t *missed) {
    size_t count = plan->functions.count, bytes = count / 8 + 1;
    if (fits(plan, request))
        return;
    AUTO_FREE uint8_t *all = mem_alloc(bytes);
    memcpy(all, selected, bytes);
    size_t most =
        SEARCH(i, count, (select_first(selected, all, bytes, i + 1), fits(plan, request)));
    select_first(selected, all, bytes, most);
    for (size_t i = most; i < count; i++)
        if (plan->functions.at[i].entry != TIER_NONE && bitmap_test(all, i))
            bitmap_set(missed, i);
}

/* Adds functions to GONE whose entries CODE misses, and that must not be in code then. */
static void add_lost_with_code(const struct plan_code *code, uint8_t *gone) {
    for (size_t i = 0; i < code->pun_log.puns.count; i++) {
        const struct pun_site *p = &code->pun_log.puns.at[i];
        if (p->if_lost == LOST_WITH_CODE && bitmap_test(code->missed, p->function))
            bitmap_set(gone, p->function);
    }
}

static void add_bits(uint8_t *to, const uint8_t *from, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        to[i] |= from[i];
}

/* Moves the functions GONE from SELECTED to MISSED. */
static void deselect(const uint8_t *gone, uint8_t *selected, uint8_t *missed, size_t bytes) {
    add_bits(missed, gone, bytes);
    for (size_t i = 0; i < bytes; i++)
        selected[i] &= (uint8_t)~gone[i];
}

/* Repeats until no more sites are lost. */
static int emit_reachable(const struct plan *plan, const struct plan_request *request,
                          struct losses *losses, struct plan_code *ret, struct err *err) {
    for (;;) {
        losses->more = false;
        int r = emit_once(plan, request, losses, ret, err);
        if (r || !losses->more)
            return r;
        losses->any = true;
        plan_code_done(ret);
    }
}

typedef ARRAY(struct span) span_array;

struct rounds { /* what is known of the puns of all rounds */
    span_array lost;
    struct pun_log log;
};

/* Moves what CODE's round says to the end of RET. */
static void join_round(struct rounds *ret, struct plan_code *code) {
    span_array lost = {code->lost, code->lost_count, code->lost_count};
    ARRAY_MOVE(&ret->lost, &lost);
    ARRAY_MOVE(&ret->log.rounds, &code->pun_log.rounds);
    ARRAY_MOVE(&ret->log.puns, &code->pun_log.puns);
    ARRAY_MOVE(&ret->log.patches, &code->pun_log.patches);
    ARRAY_MOVE(&ret->log.ways, &code->pun_log.ways);
    memcpy(ret->log.missed_exits, code->pun_log.missed_exits, sizeof ret->log.missed_exits);
    memcpy(ret->log.trapped_exits, code->pun_log.trapped_exits, sizeof ret->log.trapped_exits);
    code->lost = NULL;
    code->lost_count = 0;
}

static void free_rounds(struct rounds *rounds) {
    ARRAY_FREE(&rounds->lost);
    pun_log_done(&rounds->log);
}

static bool has_common(const uint8_t *a, const uint8_t *b, size_t bytes) {
    bool any = false;
    for (size_t i = 0; i < bytes && !any; i++)
        any = a[i] & b[i];
    return any;
}

/* Exits of a function whose entry cannot be patched must not be patched. So code is emitted again
 * without such functions, unless it is enough to leave out their patches. Those stay in the code of
 * later rounds. So that code depends on nothing but the few functions that must not be in it. */
int plan_emit(const struct plan *plan, const struct plan_request *request, struct plan_code *ret,
              struct err *err) {
    enum { TRIES = 4 };
    struct plan_request reduced = *request;
    size_t bytes = plan->functions.count / 8 + 1;
    AUTO_FREE uint8_t *selected = mem_alloc(bytes), *missed = mem_alloc(bytes);
    AUTO_FREE uint8_t *beyond = mem_alloc(bytes), *gone = mem_alloc(bytes);
    memset(selected, 0xff, bytes);
    if (request->selected)
        memcpy(selected, request->selected, bytes);
    reduced.selected = selected;
    AUTO_FREE uint8_t *lost = mem_alloc(plan->sites.count / 8 + 1);
    struct losses losses = {.sites = lost, .any = reach_deselect(plan, request, selected, missed)};
    fit(plan, &reduced, selected, missed);
    memcpy(beyond, missed, bytes);
    struct plan_code code = {.area = NULL};
    struct rounds rounds = {0};
    for (int i = 0;; i++) {
        int r = emit_reachable(plan, &reduced, &losses, &code, err);
        if (r || !code.missed) {
            free_rounds(&rounds);
            return r;
        }
        memcpy(gone, code.missed, bytes);
        const bool decided = !has_common(gone, selected, bytes);
        rounds.log.undecided = !puns_settle(plan, &reduced, 0, &code) || !decided;
        add_lost_with_code(&code, gone);
        join_round(&rounds, &code);
        add_bits(beyond, code.beyond, bytes);
        deselect(gone, selected, missed, bytes);
        if (!rounds.log.undecided || i == TRIES)
            break;
        plan_code_done(&code);
    }
    reach_count_regained(plan, &reduced, &code);
    code.lost = rounds.lost.at;
    code.lost_count = rounds.lost.count;
    code.pun_log = rounds.log;
    code.lacks_sites = losses.any;
    if (losses.any && !code.patch_count) {
        plan_code_done(&code);
        return out_of_reach(plan, err);
    }
    add_bits(code.missed, missed, bytes);
    for (size_t i = 0; i < bytes; i++) /* events of Go's stacks do not belong to the selection */
        code.beyond[i] = beyond[i] & (request->selected ? request->selected[i] : 0xff);
    *ret = code;
    return 0;
}

bool plan_code_serves(const struct plan *plan, const struct plan_code *code,
                      const struct plan_request *request, uint64_t moved) {
    return !code->far && code->island_count <= request->most_islands &&
           puns_serve(plan, request, code, moved) && !puns_have_places(plan, request, code);
}

void plan_code_done(struct plan_code *code) {
    free(code->patches);
    free(code->ways);
    for (size_t i = 0; i < code->island_count; i++)
        free(code->islands[i].bytes);
    free(code->islands);
    free(code->lost);
    free(code->traps);
    if (code->pages) {
        if (code->source)
            code->source->close(code->source);
        else
            mem_unmap(code->pages, code->pages_size);
        *code = (struct plan_code){0};
        return;
    }
    free(code->area);
    free(code->marks);
    free(code->addresses);
    free(code->displaced);
    pun_log_done(&code->pun_log);
    free(code->missed);
    free(code->beyond);
    free(code->inexact);
    free(code->trapped);
    *code = (struct plan_code){0};
}
