/*
 * Trampolines and patches for one load address.
 *
 *     entry window     [hook stub] [entry stub] insn… [jmp behind the window]
 *     control window   [control stub] insn… [jmp behind the window]
 *     exit window      insn… stub(RETURN|TAIL) insn
 *     conditional      insn… j!cc 1f; stub(TAIL); jmp target; 1: insn…
 *     loop             insn… jmp behind the entry's stub
 *
 * Where Go's runtime makes, frees and moves stacks, stubs that tell of that stand before those of
 * the entry or return (go_stacks.c).
 *
 * Where the stack is asked for a stub that copies some of it stands before the entry's
 * (STUB_SLICE).
 *
 * Stubs of filtered functions' entries and exits ask where the call comes from (STUB_CALLER).
 *
 * The patch of a hop is two: the short jump, and the jump in the hole. That of a pun is written
 * when all others are known (puns.c); where it leads nowhere a trap may take its place. From a trap
 * it is the tool that leads to the trampoline.
 *
 * All arithmetic is in link-time addresses: the area is thought of as mapped
 * at area − bias.
 */
#include <errno.h>
#include <string.h>

#include "elf/sort.h"
#include "plan/internal.h"

struct emitter {
    const struct plan *plan;
    const struct arch *arch; /* of the site that is being written */
    const struct plan_request *request;
    vaddr_t area;
    bool *wanted;     /* by site */
    uint32_t *chosen; /* by group: its first function that is traced, UINT32_MAX if none */
    bool *open;       /* by group: one of its functions is traced whoever calls it */
    uint8_t *carried; /* bitmap by function: carried.c */
    vaddr_t *behind;  /* by function: what follows its entry stub, 0 if there is none (yet) */
    struct plan_code *code;
    size_t patch_room, mark_room, way_room, trap_room;
    pending_array pending;
};

static bool is_selected(const struct plan_request *r, uint32_t function) {
    return !r->selected || r->selected[function / 8] >> (function % 8) & 1;
}

static bool has_traps(const struct plan_request *r, uint32_t function) {
    return !r->without_traps || !(r->without_traps[function / 8] >> (function % 8) & 1);
}

static bool is_traced(const struct emitter *e, uint32_t function) {
    enum tier tier = e->plan->functions.at[function].entry;
    return tier != TIER_NONE && is_selected(e->request, function) &&
           (tier != TIER_TRAP || has_traps(e->request, function));
}

/* Whether calls of FUNCTION, which is traced, count only if they come from the caller. */
static bool is_filtered(const struct plan_request *r, uint32_t function) {
    return r->filtered && r->filtered[function / 8] >> (function % 8) & 1;
}

static bool is_sliced(const struct emitter *e, uint32_t function) {
    const uint8_t *sliced = e->plan->arch->has_slices ? e->request->sliced : NULL;
    return sliced && sliced[function / 8] >> (function % 8) & 1;
}

static bool is_carried(const struct emitter *e, uint32_t function) {
    return e->carried[function / 8] >> (function % 8) & 1;
}

static vaddr_t here(const struct emitter *e) { return e->area + e->code->area_used; }

static void mark(struct emitter *e, struct mark m) {
    struct plan_code *c = e->code;
    if (c->mark_count == e->mark_room) {
        e->mark_room = e->mark_room ? e->mark_room * 2 : 256;
        c->marks = mem_resize(c->marks, e->mark_room, sizeof *c->marks);
    }
    m.offset = (uint32_t)c->area_used;
    c->marks[c->mark_count++] = m;
}

static void put(struct emitter *e, const uint8_t *bytes, size_t size) {
    memcpy(e->code->area + e->code->area_used, bytes, size);
    e->code->area_used += size;
}

static size_t make_stub(const struct emitter *e, uint8_t *out, vaddr_t at, uint8_t variant,
                        uint32_t site) {
    struct stub_spec spec = {.variant = variant,
                             .site = site,
                             .ring_bytes = e->request->ring_bytes,
                             .overflow = e->request->overflow,
                             .caller = e->request->caller,
                             .agent = (int64_t)(e->area + e->arch->agent_code - at)};
    return e->arch->stub_emit(out, &spec);
}

static void put_stub(struct emitter *e, uint8_t variant, uint32_t site, vaddr_t orig, bool start) {
    mark(e, (struct mark){.kind = MARK_STUB, .variant = variant, .at_start = start, .orig = orig});
    e->code->area_used += make_stub(e, e->code->area + e->code->area_used, here(e), variant, site);
}

static uint32_t event_id(const struct emitter *e, uint32_t function, uint8_t event) {
    return (e->request->first_id + function) << 2 | event;
}

static int put_jump(struct emitter *e, vaddr_t to) {
    mark(e, (struct mark){.kind = MARK_INSN, .at_start = true, .orig = to});
    int r = e->arch->jump(e->code->area + e->code->area_used, here(e), to);
    e->code->area_used += e->arch->jump_bytes;
    return r;
}

static int put_insn(struct emitter *e, const struct site *site, const struct insn *insn) {
    struct relocated out = {0};
    int r = site->arch->relocate(insn, site->bytes + (insn->addr - site->start), here(e), &out);
    for (int i = 0; i < out.part_count; i++) {
        vaddr_t orig = out.parts[i].resume;
        bool outside = orig <= site->start || orig >= site->end;
        e->code->area_used += out.parts[i].offset;
        mark(e, (struct mark){.kind = out.parts[i].through ? MARK_THROUGH : MARK_INSN,
                              .at_start = outside,
                              .orig = orig});
        e->code->area_used -= out.parts[i].offset;
    }
    if (out.address_at) {
        uint64_t address = out.address + e->request->bias;
        memcpy(out.bytes + out.address_at, &address, site->arch->word_bytes);
    }
    if (out.copy_bytes)
        memcpy(out.bytes + out.copy_at, module_bytes(e->plan->module, out.copy, out.copy_bytes),
               out.copy_bytes);
    put(e, out.bytes, out.size);
    return r;
}

/* A conditional tail call: the event belongs to the taken side only. */
static int put_branch(struct emitter *e, const struct site *site, const struct step *s,
                      uint8_t variant, uint32_t id) {
    uint8_t stub[STUB_MAX_BYTES], skip[RELOCATED_MAX_BYTES];
    const struct arch *arch = site->arch;
    size_t size = make_stub(e, stub, here(e), variant, id);
    const uint8_t *bytes = site->bytes + (s->insn.addr - site->start);
    size_t n = arch->skip_unless(&s->insn, bytes, (uint32_t)size + arch->jump_bytes, skip);
    bool start = s->insn.addr == site->start;
    mark(e, (struct mark){.kind = MARK_INSN, .at_start = start, .orig = s->insn.addr});
    put(e, skip, n);
    put_stub(e, variant, id, s->insn.addr, start);
    return put_jump(e, s->insn.target);
}

/* A return with a condition: the event belongs to where it holds. Its bytes know no place. */
static int put_conditional_return(struct emitter *e, const struct site *site, const struct step *s,
                                  uint8_t variant, uint32_t id) {
    uint8_t stub[STUB_MAX_BYTES], skip[RELOCATED_MAX_BYTES];
    const uint8_t *bytes = site->bytes + (s->insn.addr - site->start);
    size_t size = make_stub(e, stub, here(e), variant, id) + s->insn.size;
    size_t n = site->arch->skip_unless(&s->insn, bytes, (uint32_t)size, skip);
    bool start = s->insn.addr == site->start;
    mark(e, (struct mark){.kind = MARK_INSN, .at_start = start, .orig = s->insn.addr});
    put(e, skip, n);
    put_stub(e, variant, id, s->insn.addr, start);
    mark(e, (struct mark){.kind = MARK_INSN, .at_start = start, .orig = s->insn.addr});
    put(e, bytes, s->insn.size);
    return 0;
}

/* A branch to a return that has no room of its own: where it is taken, it returns itself. The stub
 * of a conditional one stands for that return: it leaves no flags by which to branch once more. */
static int put_return(struct emitter *e, const struct site *site, const struct step *s,
                      uint8_t variant, uint32_t id) {
    uint8_t stub[STUB_MAX_BYTES], skip[RELOCATED_MAX_BYTES];
    const struct arch *arch = site->arch;
    const vaddr_t from = s->insn.addr, to = s->insn.target;
    const bool conditional = s->insn.kind == INSN_BRANCH, start = from == site->start;
    if (conditional) {
        size_t size = make_stub(e, stub, here(e), variant, id);
        size_t n = arch->skip_unless(&s->insn, site->bytes + (from - site->start),
                                     (uint32_t)size + s->return_bytes, skip);
        mark(e, (struct mark){.kind = MARK_INSN, .at_start = start, .orig = from});
        put(e, skip, n);
    }
    put_stub(e, variant, id, conditional ? to : from, !conditional && start);
    mark(e, (struct mark){.kind = MARK_INSN, .at_start = true, .orig = to});
    put(e, module_bytes(e->plan->module, to, s->return_bytes), s->return_bytes);
    return 0;
}

/* Whose EVENT an exit or control of FUNCTION is: its own, or that of one that shares the code;
 * UINT32_MAX: there is to be none. */
static uint32_t owner_of(const struct emitter *e, uint32_t function, uint8_t event) {
    uint32_t owner = is_traced(e, function) ? function : e->chosen[e->plan->groups.at[function]];
    bool any = event == EVENT_CONTROL ? e->request->controls : is_carried(e, function);
    return owner == UINT32_MAX && any ? function : owner;
}

/* The stub of an EVENT of OWNER's. A return of code that functions share ends each one's calls. */
static uint8_t filter(const struct emitter *e, uint8_t variant, uint32_t owner, uint8_t event) {
    bool shared = event != EVENT_ENTRY && e->open[e->plan->groups.at[owner]];
    bool filtered = is_filtered(e->request, owner) || is_carried(e, owner);
    return variant | (event != EVENT_CONTROL && filtered && !shared ? STUB_CALLER : 0);
}

/* Whose event the exit S is; UINT32_MAX: none. */
static uint32_t exit_owner(const struct emitter *e, const struct step *s) {
    uint32_t owner = s->exit ? owner_of(e, s->function, s->event) : UINT32_MAX;
    bool goes_on =
        owner != UINT32_MAX && filter(e, 0, owner, s->event) && carried_on(e->plan, e->carried, s);
    return goes_on ? UINT32_MAX : owner;
}

/* A jump back to the entry is no call: it goes on behind the entry's stub. */
static int put_loop(struct emitter *e, const struct site *site, const struct step *s) {
    struct insn insn = s->insn;
    if (e->behind[s->function])
        insn.target = e->behind[s->function];
    return put_insn(e, site, &insn);
}

/* Two words tell where a stack is, or one event that it moves. */
static void put_stack(struct emitter *e, uint8_t variant, enum stack_event first, vaddr_t orig,
                      bool start) {
    if (first == STACK_MOVES) {
        put_stub(e, variant, (uint32_t)first << 2 | EVENT_CONTROL, orig, start);
        return;
    }
    put_stub(e, variant | STUB_GO_FIRST, (uint32_t)first << 2 | EVENT_CONTROL, orig, start);
    put_stub(e, variant | STUB_GO_SECOND, ((uint32_t)first + 1) << 2 | EVENT_CONTROL, orig, start);
}

static int put_step(struct emitter *e, const struct site *site, const struct step *s) {
    if (site->tier == TIER_PAD)
        return 0; /* nops */
    uint32_t owner = exit_owner(e, s);
    if (go_stacks_step(e->plan, s))
        put_stack(e, s->variant, STACK_MADE_LOW, s->insn.addr, s->insn.addr == site->start);
    if (owner == UINT32_MAX)
        return s->beside ? 0 : put_insn(e, site, &s->insn);
    if (s->loops)
        return put_loop(e, site, s);
    uint32_t id = event_id(e, owner, s->event);
    uint8_t variant = filter(e, s->variant, owner, s->event);
    e->code->sites++;
    if (s->return_bytes)
        return put_return(e, site, s, variant, id);
    if (insn_may_return(&s->insn) && !s->falls)
        return put_conditional_return(e, site, s, variant, id);
    if (s->insn.kind == INSN_BRANCH && !s->falls)
        return put_branch(e, site, s, variant, id);
    put_stub(e, variant, id, s->insn.addr, s->insn.addr == site->start);
    return s->beside ? 0 : put_insn(e, site, &s->insn);
}

static bool is_call(uint8_t kind) { return kind == INSN_CALL || kind == INSN_CALL_INDIRECT; }

static bool goes_on(const struct site *site, const struct plan *plan) {
    uint8_t kind = plan->steps.at[site->first_step + site->step_count - 1].insn.kind;
    return kind != INSN_RETURN && kind != INSN_JUMP && kind != INSN_JUMP_INDIRECT &&
           kind != INSN_TRAP && !is_call(kind);
}

static void put_control(struct emitter *e, const struct site *site) {
    uint32_t owner = site->control ? owner_of(e, site->function, EVENT_CONTROL) : UINT32_MAX;
    if (owner == UINT32_MAX)
        return;
    put_stub(e, site->variant, event_id(e, owner, EVENT_CONTROL), site->start, true);
    e->code->sites++;
}

static void put_entry(struct emitter *e, const struct site *site, bool hook, bool event) {
    if (hook)
        put_stub(e, HOOK_VARIANT, 0, site->start, true);
    if (go_stacks_entry(e->plan, site))
        put_stack(e, site->variant,
                  site->function == e->plan->go.mover ? STACK_MOVES : STACK_FREED_LOW, site->start,
                  true);
    if (!event)
        return;
    uint8_t variant = filter(e, site->variant, site->function, EVENT_ENTRY);
    if (is_sliced(e, site->function))
        put_stub(e, variant | STUB_SLICE, 0, site->start, true);
    put_stub(e, variant, event_id(e, site->function, EVENT_ENTRY), site->start, true);
    e->behind[site->function] = here(e);
    e->code->sites++;
}

static struct patch *new_patch(struct emitter *e, vaddr_t at, uint8_t size, uint64_t window) {
    struct plan_code *c = e->code;
    if (c->patch_count == e->patch_room) {
        e->patch_room = e->patch_room ? e->patch_room * 2 : 256;
        c->patches = mem_resize(c->patches, e->patch_room, sizeof *c->patches);
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

static int put_hop(struct emitter *e, const struct site *site, vaddr_t trampoline) {
    const struct arch *arch = site->arch;
    struct patch *hop = new_patch(e, site->start, arch->hop_bytes, site->end - site->start);
    hop->yields = site->in_sled;
    int r = arch->hop(hop->after, site->start, site->hole);
    put_way(e, site->hole, site->start);
    struct patch *jump = new_patch(e, site->hole, arch->jump_bytes, 0);
    return r ? r : arch->jump(jump->after, site->hole, trampoline);
}

static int put_patch(struct emitter *e, const struct site *site, vaddr_t trampoline) {
    const struct arch *arch = site->arch;
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
        ARRAY_PUSH(&e->pending, ((struct pending){site->start, trampoline, site->function,
                                                  exit_count(e->plan, site), site->entry}));
        return 0;
    }
    struct patch *jump = new_patch(e, site->start, arch->jump_bytes, window);
    return arch->jump(jump->after, site->start, trampoline);
}

static bool is_wanted(const struct emitter *e, const struct site *site, bool start) {
    if (site->tier == TIER_TRAP &&
        (!trap_permits_site(e->plan, site) || !has_traps(e->request, site->function)))
        return false;
    bool wanted =
        start || (site->control && owner_of(e, site->function, EVENT_CONTROL) != UINT32_MAX);
    for (uint32_t i = 0; !wanted && i < site->step_count; i++) {
        const struct step *s = &e->plan->steps.at[site->first_step + i];
        wanted = exit_owner(e, s) != UINT32_MAX || go_stacks_step(e->plan, s);
    }
    return wanted || go_stacks_entry(e->plan, site);
}

/* Never a trap: a program that outlives the tool would die of it. */
static bool is_hook(const struct emitter *e, const struct site *site) {
    return site->entry && site->tier != TIER_TRAP && e->request->hook &&
           e->plan->functions.at[site->function].addr == e->request->hook;
}

static bool holds_call(const struct plan *plan, const struct site *site) {
    return is_call(plan->steps.at[site->first_step + site->step_count - 1].insn.kind);
}

/* A window that holds the hole of a wanted one is wanted too. */
static void want(struct emitter *e) {
    const struct plan *plan = e->plan;
    e->wanted = mem_alloc(plan->sites.count * sizeof *e->wanted + 1);
    for (size_t i = 0; i < plan->sites.count; i++) {
        const struct site *s = &plan->sites.at[i];
        bool wanted = is_wanted(e, s, is_hook(e, s) || (s->entry && is_traced(e, s->function)));
        if (wanted && e->request->keep_calls && holds_call(plan, s)) {
            wanted = false;
            if (s->entry)
                e->code->missed[s->function / 8] |= (uint8_t)(1u << s->function % 8);
        }
        e->wanted[i] |= wanted;
        if (wanted && s->maker)
            e->wanted[s->maker - 1] = true;
    }
}

static int put_site(struct emitter *e, const struct site *site, struct err *err) {
    const struct plan *plan = e->plan;
    struct plan_code *c = e->code;
    e->arch = site->arch;
    bool hook = is_hook(e, site);
    bool event = site->entry && is_traced(e, site->function);
    bool slice = event && is_sliced(e, site->function);
    uint32_t room = site->room + (hook ? plan->hook_room : 0) + (slice ? plan->slice_room : 0);
    if (e->request->area_size - c->area_used < room)
        return err_set(err, ENOSPC, "no-room", "%s: the trampoline area is too small",
                       plan->module->name);
    if (c->area_used % TRAMPOLINE_ALIGN) {
        mark(e, (struct mark){.kind = MARK_NONE});
        c->area_used += TRAMPOLINE_ALIGN - c->area_used % TRAMPOLINE_ALIGN;
    }
    int r = put_patch(e, site, here(e));
    put_entry(e, site, hook, event);
    put_control(e, site);
    for (uint32_t i = 0; !r && i < site->step_count; i++)
        r = put_step(e, site, &plan->steps.at[site->first_step + i]);
    if (!r && goes_on(site, plan))
        r = put_jump(e, site->end);
    if (r)
        err_set(err, ERANGE, "out-of-reach", "%s: no room for trampolines within reach of its code",
                plan->module->name);
    return r;
}

static void choose(struct emitter *e) {
    const struct plan *plan = e->plan;
    e->behind = mem_alloc(plan->functions.count * sizeof *e->behind + 1);
    e->chosen = mem_alloc(plan->group_count * sizeof *e->chosen + 1);
    e->carried = carried_find(plan, e->request);
    e->open = mem_alloc(plan->group_count * sizeof *e->open + 1);
    memset(e->chosen, 0xff, plan->group_count * sizeof *e->chosen);
    for (uint32_t i = (uint32_t)plan->functions.count; i-- > 0;) {
        if (!is_traced(e, i))
            continue;
        e->chosen[plan->groups.at[i]] = i;
        e->open[plan->groups.at[i]] |= !is_filtered(e->request, i);
    }
}

static bool hook_exists(const struct plan *plan, vaddr_t hook) {
    for (size_t i = 0; i < plan->sites.count; i++) {
        const struct site *s = &plan->sites.at[i];
        if (s->entry && s->tier != TIER_TRAP && plan->functions.at[s->function].addr == hook)
            return true;
    }
    return false;
}

/* Writes what is still pending, and puts all in order. */
static void complete(struct emitter *e) {
    struct plan_code *c = e->code;
    sort_by_address(c->patches, c->patch_count, sizeof *c->patches);
    puns_write(e->plan, e->request, c, &e->pending);
    size_t kept = 0;
    for (size_t i = 0; i < c->patch_count; i++) {
        if (c->patches[i].size)
            c->patches[kept++] = c->patches[i];
    }
    c->patch_count = kept;
    sort_by_address(c->ways, c->way_count, sizeof *c->ways);
    sort_by_address(c->traps, c->trap_count, sizeof *c->traps);
}

static int emit_once(const struct plan *plan, const struct plan_request *request,
                     struct plan_code *ret, struct err *err) {
    struct plan_code code = {.overflow = request->overflow, .caller = request->caller};
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
    size_t most = plan->area_size + (request->sliced ? plan_slices_size(plan) : 0);
    size_t room = most < request->area_size ? most : request->area_size;
    struct emitter e = {.plan = plan, .request = request, .code = &code};
    e.area = request->area - request->bias;
    code.area = mem_alloc(room);
    code.missed = mem_alloc(plan->functions.count / 8 + 1);
    code.inexact = mem_alloc(plan->functions.count / 8 + 1);
    code.trapped = mem_alloc(plan->functions.count / 8 + 1);
    choose(&e);
    want(&e);
    mark(&e, (struct mark){.kind = MARK_NONE});
    put(&e, plan->arch->agent, agent);
    int r = 0;
    for (size_t i = 0; !r && i < plan->sites.count; i++)
        r = e.wanted[i] ? put_site(&e, &plan->sites.at[i], err) : 0;
    mark(&e, (struct mark){.kind = MARK_NONE});
    if (!r)
        complete(&e);
    ARRAY_FREE(&e.pending);
    free(e.wanted);
    free(e.chosen);
    free(e.open);
    free(e.carried);
    free(e.behind);
    if (r)
        plan_code_done(&code);
    else
        *ret = code;
    return r;
}

/* Moves functions that are in MISSED from SELECTED to ALL. Returns whether there were any. */
static bool deselect(const uint8_t *missed, uint8_t *selected, uint8_t *all, size_t bytes) {
    bool any = false;
    for (size_t i = 0; i < bytes; i++) {
        any |= missed[i] & selected[i];
        all[i] |= missed[i];
        selected[i] &= (uint8_t)~missed[i];
    }
    return any;
}

/* A function whose entry cannot be patched shall not have its exits patched either: once more. */
int plan_emit(const struct plan *plan, const struct plan_request *request, struct plan_code *ret,
              struct err *err) {
    enum { TRIES = 4 };
    struct plan_request again = *request;
    size_t bytes = plan->functions.count / 8 + 1;
    AUTO_FREE uint8_t *selected = mem_alloc(bytes), *missed = mem_alloc(bytes);
    memset(selected, 0xff, bytes);
    if (request->selected)
        memcpy(selected, request->selected, bytes);
    again.selected = selected;
    for (int i = 0;; i++) {
        struct plan_code code = {.area = NULL};
        int r = emit_once(plan, &again, &code, err);
        if (r || !code.missed)
            return r;
        if (!deselect(code.missed, selected, missed, bytes) || i == TRIES) {
            memcpy(code.missed, missed, bytes);
            *ret = code;
            return 0;
        }
        plan_code_done(&code);
    }
}

void plan_code_done(struct plan_code *code) {
    free(code->area);
    free(code->patches);
    free(code->marks);
    for (size_t i = 0; i < code->island_count; i++)
        free(code->islands[i].bytes);
    free(code->islands);
    free(code->ways);
    free(code->missed);
    free(code->inexact);
    free(code->traps);
    free(code->trapped);
    *code = (struct plan_code){0};
}
