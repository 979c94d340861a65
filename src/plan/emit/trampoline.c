/* Writes the trampoline of one site: emit.c has a drawing. */
#include <string.h>

#include "plan/emit/emitter.h"

struct stub_event { /* what a stub records, and how */
    uint32_t id;
    uint16_t pops;
    uint8_t behind, variant;
    const struct plan_capture *capture; /* NULL: none */
    enum judged judged;                 /* STUB_JUDGE: for what, and … */
    const struct predicate *predicate;
    uint32_t skip; /* … how many bytes of stubs for the event are behind it */
};

static vaddr_t here(const struct emitter *e) { return e->area + e->code->area_used; }

void trampoline_mark(struct emitter *e, struct mark m) {
    struct plan_code *c = e->code;
    if (c->mark_count == e->mark_room) {
        e->mark_room = e->mark_room ? e->mark_room * 2 : 256;
        c->marks = mem_resize(c->marks, e->mark_room, sizeof *c->marks);
        mem_will_fill(c->marks, e->mark_room * sizeof *c->marks);
    }
    m.offset = (uint32_t)c->area_used;
    m.other = e->arch && e->arch != e->plan->arch;
    m.at_start &= !e->recorded || m.orig != e->start;
    c->marks[c->mark_count++] = m;
}

static void put(struct emitter *e, const uint8_t *bytes, size_t size) {
    memcpy(e->code->area + e->code->area_used, bytes, size);
    e->code->area_used += size;
}

static size_t make_stub(const struct emitter *e, uint8_t *out, vaddr_t at, struct stub_event t) {
    struct stub_spec spec = {.variant = t.variant,
                             .site = t.id,
                             .ring_bytes = e->request->ring_bytes,
                             .overflow = e->request->overflow,
                             .caller = e->request->caller,
                             .pops = t.pops,
                             .behind = t.behind,
                             .capture = t.capture ? t.capture->capture : NULL,
                             .capture_number = t.capture ? t.capture->number : 0,
                             .judged = t.judged,
                             .predicate = t.predicate,
                             .skip = t.skip,
                             .module = -(int64_t)at,
                             .agent = (int64_t)(e->area + e->arch->agent_code - at)};
    return e->arch->stub_emit(out, &spec);
}

/* PLACE: where a thread at the stub is in the program. */
static void put_stub(struct emitter *e, struct stub_event t, struct mark place) {
    place.kind = MARK_STUB;
    place.variant = t.variant;
    place.behind = t.behind < MARK_ALL_BEHIND ? t.behind & MARK_ALL_BEHIND : MARK_ALL_BEHIND;
    place.pops = (uint8_t)(t.pops / e->plan->arch->word_bytes);
    trampoline_mark(e, place);
    e->recorded |= !stub_judges(t.variant) || t.judged == JUDGED_END;
    e->code->area_used += make_stub(e, e->code->area + e->code->area_used, here(e), t);
}

static uint32_t stub_bytes(const struct emitter *e, struct stub_event t) {
    uint8_t stub[STUB_MAX_BYTES + STUB_CAPTURE_BYTES];
    return (uint32_t)make_stub(e, stub, here(e), t);
}

/* The stub that judges calls for the stub T, with SKIP bytes of stubs behind it. */
static struct stub_event judge_for(struct stub_event t, enum judged judged, uint32_t skip) {
    enum { KEPT = STUB_SAVE_FLAGS | STUB_SKIP_RED_ZONE };
    return (struct stub_event){.variant = (t.variant & KEPT) | STUB_JUDGE,
                               .pops = t.pops,
                               .behind = t.behind,
                               .judged = judged,
                               .skip = skip};
}

/* The stubs that record an exit by T. JUDGED: only if its call's entry was recorded. */
static void put_exit(struct emitter *e, struct stub_event t, bool judged, struct mark place) {
    const struct stub_event end = judge_for(t, JUDGED_END, 0);
    if (judged)
        put_stub(e, judge_for(t, JUDGED_EXIT, stub_bytes(e, t) + stub_bytes(e, end)), place);
    put_stub(e, t, place);
    if (judged)
        put_stub(e, end, place);
}

/* How many bytes put_exit() writes. */
static uint32_t exit_bytes(const struct emitter *e, struct stub_event t, bool judged) {
    return stub_bytes(e, t) + (judged ? stub_bytes(e, judge_for(t, JUDGED_EXIT, 0)) +
                                            stub_bytes(e, judge_for(t, JUDGED_END, 0))
                                      : 0);
}

static struct mark place_of(const struct site *site, vaddr_t orig) {
    return (struct mark){.kind = MARK_INSN, .at_start = orig == site->start, .orig = orig};
}

static uint32_t event_id(const struct emitter *e, uint32_t function, uint8_t event) {
    return (e->request->first_id + function) << 2 | event;
}

/* True if a jump to TO, written next, must be a far one. */
static bool is_far(const struct emitter *e, vaddr_t to) {
    const vaddr_t at = here(e), apart = to > at ? to - at : at - to;
    return e->arch->far_jump && apart > e->arch->reach;
}

static size_t jump_bytes(const struct emitter *e, bool far) {
    return far ? e->arch->far_bytes : e->arch->jump_bytes;
}

/* AT: the offset in the area of a displacement to a place outside it. */
static void note_displaced(struct emitter *e, size_t at) {
    struct plan_code *c = e->code;
    if (c->displaced_count == e->displaced_room) {
        e->displaced_room = e->displaced_room ? e->displaced_room * 2 : 256;
        c->displaced = mem_resize(c->displaced, e->displaced_room, sizeof *c->displaced);
    }
    c->displaced[c->displaced_count++] = (uint32_t)at;
}

static int put_jump(struct emitter *e, vaddr_t to, bool far) {
    trampoline_mark(e, (struct mark){.kind = MARK_INSN, .at_start = true, .orig = to});
    uint8_t *out = e->code->area + e->code->area_used;
    int r = 0;
    e->code->far |= far;
    if (far)
        e->arch->far_jump(out, here(e), to + e->request->bias);
    else
        r = e->arch->jump(out, here(e), to);
    if (e->arch->displacement_at)
        note_displaced(e, e->code->area_used + e->arch->displacement_at);
    e->code->area_used += jump_bytes(e, far);
    return r;
}

static void put_address(struct emitter *e, const struct arch *arch, struct relocated *out) {
    struct plan_code *c = e->code;
    uint64_t address = out->address + e->request->bias;
    memcpy(out->bytes + out->address_at, &address, arch->word_bytes);
    if (c->address_count == e->address_room) {
        e->address_room = e->address_room ? e->address_room * 2 : 16;
        c->addresses = mem_resize(c->addresses, e->address_room, sizeof *c->addresses);
    }
    c->addresses[c->address_count++] = (uint32_t)(c->area_used + out->address_at);
}

static void put_relocated(struct emitter *e, const struct site *site, struct relocated *out) {
    for (int i = 0; i < out->part_count; i++) {
        vaddr_t orig = out->parts[i].resume;
        bool outside = orig <= site->start || orig >= site->end;
        e->code->area_used += out->parts[i].offset;
        trampoline_mark(e, (struct mark){.kind = out->parts[i].through ? MARK_THROUGH : MARK_INSN,
                                         .at_start = outside,
                                         .it = out->parts[i].it,
                                         .pushed = out->parts[i].pushed,
                                         .orig = orig});
        e->code->area_used -= out->parts[i].offset;
    }
    if (out->address_at)
        put_address(e, e->arch, out);
    if (out->displacement_at)
        note_displaced(e, e->code->area_used + out->displacement_at);
    if (out->copy_bytes)
        memcpy(out->bytes + out->copy_at, module_bytes(e->plan->module, out->copy, out->copy_bytes),
               out->copy_bytes);
    put(e, out->bytes, out->size);
}

static int put_insn(struct emitter *e, const struct site *site, const struct insn *insn) {
    struct relocated out = {0};
    int r = e->arch->relocate(insn, e->bytes + (insn->addr - site->start), here(e), &out);
    put_relocated(e, site, &out);
    return r;
}

/* Copies the return at insn.target, which has no window of its own. */
static void put_return(struct emitter *e, const struct step *s) {
    vaddr_t to = s->insn.target;
    trampoline_mark(e, (struct mark){.kind = MARK_INSN, .at_start = true, .orig = to});
    put(e, module_bytes(e->plan->module, to, s->return_bytes), s->return_bytes);
}

static bool leads(const struct step *s) {
    return s->insn.target && s->insn.kind != INSN_JUMP_INDIRECT;
}

struct leave { /* how to leave where the condition holds */
    const struct insn *exit;
    struct mark place; /* the exit's mark */
    bool far;          /* by a far jump */
};

/* Leaves where the condition of S holds. An exit without a known target is copied: its bytes hold
 * no address. */
static int put_leave(struct emitter *e, const struct site *site, const struct step *s,
                     struct leave l) {
    if (s->return_bytes) {
        put_return(e, s);
        return 0;
    }
    if (leads(s))
        return put_jump(e, s->insn.target, l.far);
    trampoline_mark(e, l.place);
    put(e, e->bytes + (l.exit->addr - site->start), l.exit->size);
    return 0;
}

/* A conditional exit. Its event belongs to the taken side only. The exit may also be a branch to a
 * return without its own window, which the trampoline then makes. The mark of that stub is the
 * return: after the stub, flags may be gone, and so the branch cannot run again. */
static int put_conditional(struct emitter *e, const struct site *site, const struct step *s,
                           struct stub_event t, bool judged) {
    uint8_t skip[RELOCATED_MAX_BYTES];
    const struct arch *arch = e->arch;
    const uint8_t *bytes = e->bytes + (s->insn.addr - site->start);
    struct exit_parts parts = {.last = s->insn};
    struct mark place = place_of(site, s->insn.addr);
    int r = arch->split_exit ? arch->split_exit(&s->insn, bytes, here(e), &parts) : 0;
    if (parts.before.size) {
        put_relocated(e, site, &parts.before);
        place = place_of(site, parts.last.addr);
        place.it = parts.it;
    }
    bool far = leads(s) && is_far(e, s->insn.target);
    size_t leave = leads(s) ? jump_bytes(e, far) : parts.last.size;
    leave = s->return_bytes ? s->return_bytes : leave;
    size_t size = exit_bytes(e, t, judged);
    size_t n = arch->skip_unless(&s->insn, bytes, (uint32_t)(size + leave), skip);
    trampoline_mark(e, place);
    put(e, skip, n);
    const struct mark of_return = {.orig = s->insn.target};
    put_exit(e, t, judged, s->return_bytes ? of_return : place);
    int left = put_leave(e, site, s, (struct leave){&parts.last, place, far});
    return r ? r : left;
}

/* A jump back to the entry is no call: it goes on behind the entry's stub. Its last part stands for
 * the entry, but resuming there would record a call. */
static int put_loop(struct emitter *e, const struct site *site, const struct step *s) {
    const vaddr_t behind = e->behind_entry[s->function];
    const size_t first = e->code->mark_count;
    struct insn insn = s->insn;
    if (behind)
        insn.target = behind;
    int r = put_insn(e, site, &insn);
    if (behind && e->arch->displacement_at)
        e->code->displaced_count--; /* it stays in the area */
    for (struct mark *m = e->code->marks + first; m < e->code->marks + e->code->mark_count; m++)
        if (behind && m->orig == behind) {
            m->orig = s->insn.target;
            m->at_start = false;
        }
    return r;
}

/* Records the two ends of a stack, or the one event STACK_MOVES. */
static void put_stack(struct emitter *e, uint8_t variant, enum stack_event first,
                      struct mark place) {
    struct stub_event t = {.id = (uint32_t)first << 2 | EVENT_CONTROL, .variant = variant};
    if (first == STACK_MOVES) {
        put_stub(e, t, place);
        return;
    }
    t.variant = variant | STUB_GO_FIRST;
    put_stub(e, t, place);
    t.id = ((uint32_t)first + 1) << 2 | EVENT_CONTROL;
    t.variant = variant | STUB_GO_SECOND;
    put_stub(e, t, place);
}

static bool is_conditional(const struct step *s) {
    const uint8_t kind = s->insn.kind;
    return !s->falls && (kind == INSN_BRANCH || kind == INSN_LOOP || s->insn.goes_on);
}

static void put_probe(struct emitter *e, const struct site *site, const struct step *s) {
    const struct plan_probe *probe = request_probe(e, s);
    if (!probe)
        return;
    const bool captures = probe->capture.bytes;
    put_stub(e,
             (struct stub_event){.id = probe->id << 2 | EVENT_CONTROL,
                                 .variant = PROBE_VARIANT |
                                            (captures ? capture_variant(e, &probe->capture) : 0),
                                 .capture = captures ? &probe->capture : NULL},
             place_of(site, s->insn.addr));
    e->code->sites++;
}

static int put_step(struct emitter *e, const struct site *site, const struct step *s) {
    if (site->tier == TIER_PAD)
        return 0; /* only nops */
    put_probe(e, site, s);
    uint32_t owner = exit_owner(e, s);
    struct mark place = place_of(site, s->insn.addr);
    if (go_stacks_step(e->plan, s))
        put_stack(e, s->variant, STACK_MADE_LOW, place);
    if (owner == UINT32_MAX)
        return s->before_sled ? 0 : put_insn(e, site, &s->insn);
    if (s->loops)
        return put_loop(e, site, s);
    struct stub_event t = {.id = event_id(e, owner, s->event),
                           .variant = event_variant(e, s->variant, owner, s->event),
                           .pops = s->pops,
                           .behind = s->behind,
                           .capture = request_capture(e, owner, s->event)};
    const bool judged = request_judges_exit(e, s->function);
    e->code->sites++;
    if (is_conditional(s))
        return put_conditional(e, site, s, t, judged);
    put_exit(e, t, judged, place);
    if (s->return_bytes)
        put_return(e, s);
    return s->return_bytes || s->before_sled ? 0 : put_insn(e, site, &s->insn);
}

static bool goes_on(const struct site *site, const struct plan *plan) {
    const struct insn *last = &plan->steps.at[site->first_step + site->step_count - 1].insn;
    const uint8_t kind = last->kind;
    return last->goes_on ||
           (kind != INSN_RETURN && kind != INSN_JUMP && kind != INSN_JUMP_INDIRECT &&
            kind != INSN_TRAP && !emitter_is_call(kind));
}

static void put_control(struct emitter *e, const struct site *site) {
    uint32_t owner = site->control ? event_owner(e, site->function, EVENT_CONTROL) : UINT32_MAX;
    if (owner == UINT32_MAX)
        return;
    struct stub_event t = {.id = event_id(e, owner, EVENT_CONTROL), .variant = site->variant};
    put_stub(e, t, place_of(site, site->start));
    e->code->sites++;
}

/* Judges calls of FUNCTION, if that is asked for, for the COUNT stubs behind. */
static void put_judge(struct emitter *e, uint32_t function, const struct stub_event *stubs,
                      size_t count, struct mark place) {
    const struct predicate *predicate = request_judge(e, function);
    uint32_t skip = 0;
    if (!predicate)
        return;
    for (size_t i = 0; i < count; i++)
        skip += stub_bytes(e, stubs[i]);
    struct stub_event judge = judge_for(stubs[0], JUDGED_ENTRY, skip);
    judge.predicate = predicate;
    put_stub(e, judge, place);
}

static void put_entry(struct emitter *e, const struct site *site, uint8_t waits, bool event) {
    const struct mark place = place_of(site, site->start);
    if (waits)
        put_stub(e, (struct stub_event){.variant = waits}, place);
    if (go_stacks_entry(e->plan, site))
        put_stack(e, site->variant,
                  site->function == e->plan->go.mover ? STACK_MOVES : STACK_FREED_LOW, place);
    if (!event)
        return;
    const struct stub_event t = {.variant =
                                     event_variant(e, site->variant, site->function, EVENT_ENTRY),
                                 .capture = request_capture(e, site->function, EVENT_ENTRY),
                                 .id = event_id(e, site->function, EVENT_ENTRY)};
    const uint8_t plain = stub_stores_values(t.variant) ? STUB_CAPTURE | STUB_PLAIN : 0;
    const struct stub_event slice = {.variant = (t.variant & ~plain) | STUB_SLICE};
    const struct stub_event stubs[] = {slice, t},
                            *first = stubs + !request_slices(e, site->function);
    const size_t count = (size_t)(stubs + 2 - first);
    put_judge(e, site->function, first, count, place);
    for (size_t i = 0; i < count; i++)
        put_stub(e, first[i], place);
    e->behind_entry[site->function] = here(e);
    e->code->sites++;
}

int trampoline_write(struct emitter *e, const struct site *site, uint8_t waits, bool event) {
    int r = 0;
    e->start = site->start;
    e->recorded = false;
    put_entry(e, site, waits, event);
    put_control(e, site);
    for (uint32_t i = 0; !r && i < site->step_count; i++)
        r = put_step(e, site, &e->plan->steps.at[site->first_step + i]);
    if (!r && goes_on(site, e->plan))
        r = put_jump(e, site->end, is_far(e, site->end));
    return r;
}
