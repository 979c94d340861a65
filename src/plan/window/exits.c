/*
 * Finds exits. Code that jumps away with its caller's frame gone is no ordinary function, whatever
 * its call-frame information says: it is entered with words on the stack (lazy binding on
 * AArch64). A jump to the function's own start at entry depth is a loop. It is patched so that it
 * bypasses the entry's stub. A function that runs into the next one leaves its call to that
 * function, as by a tail call. Its last instruction is the exit, and the event is recorded before
 * it.
 */
#include "plan/window/exits.h"

#include "elf/sort.h"
#include "plan/code/stack.h"
#include "plan/patch.h"
#include "plan/window/flags.h"

/* For a return that loads the stack pointer. Functions that share it must agree. */
static void set_frame_pops(const struct depths *d, struct exit_site *x) {
    const size_t count = d->frame_returns.count;
    const size_t low = SEARCH(k, count, d->frame_returns.at[k].addr < x->addr);
    for (size_t i = low; i < count && d->frame_returns.at[i].addr == x->addr; i++) {
        const struct frame_return *r = &d->frame_returns.at[i];
        bool agrees = i == low || (x->pops == r->pops && x->behind == r->behind);
        x->pops = agrees ? r->pops : -1;
        x->behind = r->behind;
        if (!agrees)
            return;
    }
}

static void set_pops(const struct exits *e, const struct text *text, struct exit_site *x) {
    const struct arch *arch = code_arch(e->code, text, x->addr);
    int pops =
        arch->return_pops ? arch->return_pops(text_bytes(text, x->addr), x->size, &x->behind) : 0;
    bool known = pops >= 0 && pops % arch->word_bytes == 0 &&
                 mark_can_hold(pops / arch->word_bytes, x->behind);
    x->pops = known ? (int16_t)pops : -1;
    if (pops < 0)
        set_frame_pops(e->depths, x);
}

static void push_exit(struct exits *e, const struct transfer *t, uint8_t event, uint8_t variant) {
    const struct text *text = e->code->funcs[t->func].text;
    struct exit_site x = {.addr = t->from,
                          .func = t->func,
                          .size = insn_size(e->code, text, t->from),
                          .kind = insn_kind(e->code, text, t->from),
                          .event = event,
                          .variant = variant};
    x.target = x.kind == INSN_JUMP || x.kind == INSN_BRANCH || x.kind == INSN_LOOP ? t->to : 0;
    if (transfer_returns(t))
        set_pops(e, text, &x);
    x.loops = x.target && code_func_at(e->code, x.target) == t->func;
    bitmap_set(e->places, text_place(text, t->from));
    ARRAY_PUSH(e, x);
}

static bool conditional(const struct transfer *t) {
    return t->kind == INSN_BRANCH || t->kind == INSN_LOOP;
}

static uint8_t tail_variant(const struct exits *e, const struct transfer *t) {
    bool live = conditional(t) || !transfer_at_entry(e->depths, t) ||
                (t->kind == INSN_JUMP && insn_at(e->code, t->to) && flags_live_at(e->code, t->to));
    return STUB_SKIP_RED_ZONE | (live ? STUB_SAVE_FLAGS : 0);
}

static void push_open_end(struct exits *e, uint32_t func, vaddr_t addr) {
    ARRAY_PUSH(&e->open_ends, ((struct open_end){addr, func}));
}

/* ADDR is in no function. True if control can go there nevertheless. */
static bool is_unknown_code(const struct code *code, vaddr_t addr) {
    const struct section *s = text_section_at(code->texts, addr);
    return s && !s->plt && insn_at(code, addr);
}

static bool direct_leaves(struct exits *e, const struct transfer *t) {
    const struct code *code = e->code;
    const bool at_entry = transfer_at_entry(e->depths, t);
    uint32_t index = code_func_at(code, t->to);
    if (transfer_is_idle(e->depths, t))
        return false;
    if (index == t->func) { /* of a part, its start is a place as any other */
        e->by_func[index].loop_head = true;
        return at_entry && e->groups->by_func[index].entry;
    }
    if (index == NO_FUNC) {
        if (!at_entry && is_unknown_code(code, t->to))
            push_open_end(e, t->func, t->from);
        return at_entry;
    }
    const struct func *g = &code->funcs[index];
    if (g->plt)
        return true;
    bool same = group_of(e->groups, index) == group_of(e->groups, t->func);
    if (func_is_start(g, t->to) && func_is_outermost(g))
        return false;
    if (!func_is_start(g, t->to))
        return !same && !g->range && at_entry;
    e->by_func[index].loop_head |= same || !at_entry;
    if (!at_entry || e->depths->by_func[index].cold || !g->entry_depth)
        return !same && g->entry_depth && !at_entry;
    return !same || e->groups->by_func[index].called;
}

/* True if the indirect jump is a switch. *RET_KNOWN: all its targets are known. */
static bool is_switch(const struct exits *e, const struct transfer *t, bool *ret_known) {
    const struct group *group = group_at(e->groups, t->func);
    bool labels = group->code_refs >= 2;
    *ret_known = true;
    switch ((enum dispatch_kind)t->dispatch) {
    case DISPATCH_OFFSETS:
        *ret_known = group->tables || group->code_refs;
        return true;
    case DISPATCH_ADDRESSES:
        switch (table_use(e->groups, t->func, t->to)) {
        case TABLE_SWITCH:
            return true;
        case TABLE_UNKNOWN:
            return labels;
        default:
            return false;
        }
    case DISPATCH_COMPUTED:
        if (transfer_is_computed(e->groups, t)) {
            const struct dispatch *how = table_switch(e->code, t->func, t->to);
            *ret_known = how && how->count;
            return true;
        }
        return (labels || group->tables) && !transfer_at_entry(e->depths, t);
    case DISPATCH_ANY:
        return (labels || group->tables) && !transfer_at_entry(e->depths, t);
    default:
        return false;
    }
}

static void indirect(struct exits *e, const struct transfer *t) {
    struct group_exits *group = &e->by_root[group_of(e->groups, t->func)];
    bool known = true, open = false;
    if (t->dispatch == DISPATCH_CALL)
        return;
    if (t->dispatch == DISPATCH_STACK)
        push_exit(e, t, EVENT_CONTROL, STUB_SKIP_RED_ZONE | STUB_SAVE_FLAGS);
    else if (is_switch(e, t, &known))
        open = !known && !t->near && !transfer_is_computed(e->groups, t);
    else if (transfer_at_entry(e->depths, t))
        push_exit(e, t, EVENT_TAIL, STUB_SKIP_RED_ZONE);
    else
        open = true;
    group->open_flow |= open || !known;
    if (open)
        push_open_end(e, t->func, t->from);
    int32_t depth = func_depth(e->depths, &e->code->funcs[t->func], t->from);
    group->pops |= depth < 0 && depth != DEPTH_UNKNOWN;
}

/* True if flags are restored right before the return at AT. They then belong to interrupted code
 * (Go's asyncPreempt), and must survive. */
static bool restores_flags(const struct exits *e, const struct func *f, vaddr_t at) {
    enum { NEAR = 8 };
    for (int i = 0; i < NEAR && at > f->start && e->code->arch->restores_flags; i++) {
        at = insn_before(e->code, f->text, at);
        if (!at)
            return false;
        if (e->code->arch->restores_flags(text_bytes(f->text, at), insn_size(e->code, f->text, at)))
            return true;
    }
    return false;
}

/* FLAGS_OUT: by function: it returns results in flags. */
static void classify(struct exits *e, const struct transfer *t, const bool *flags_out) {
    const struct func *f = &e->code->funcs[t->func];
    if (f->plt || f->thunk)
        return;
    if (transfer_returns(t)) {
        bool flags = flags_out[t->func] || conditional(t) || restores_flags(e, f, t->from);
        if (t->tails && transfer_at_entry(e->depths, t))
            push_exit(e, t, EVENT_TAIL, tail_variant(e, t));
        else
            push_exit(e, t, EVENT_RETURN, flags ? STUB_SAVE_FLAGS : 0);
    } else if (t->kind == INSN_JUMP_INDIRECT) {
        indirect(e, t);
    } else if (direct_leaves(e, t)) {
        push_exit(e, t, EVENT_TAIL, tail_variant(e, t));
    }
}

/* Calls may lead to the middle of functions (Go calls into runtime.duffzero, which keeps flags).
 * One return serves all these calls. */
static void note_flag_callees(const struct code *code, bool *flags_out) {
    for (size_t i = 0; i < code->flag_callees.count; i++) {
        uint32_t g = code_func_at(code, code->flag_callees.at[i]);
        if (g != NO_FUNC)
            flags_out[g] = true;
    }
}

/* Results in flags pass through tail calls and shared tails. */
static bool pass_flags_on(const struct code *code, bool *flags_out) {
    bool changed = false;
    for (size_t i = 0; i < code->transfers.count; i++) {
        const struct transfer *t = &code->transfers.at[i];
        bool direct = t->kind == INSN_JUMP || conditional(t);
        uint32_t g = direct && flags_out[t->func] ? code_func_at(code, t->to) : NO_FUNC;
        if (g == NO_FUNC || flags_out[g])
            continue;
        flags_out[g] = changed = true;
    }
    return changed;
}

static bool keeps_stack(const struct code *code, const struct text *text, vaddr_t addr) {
    return stack_is_kept(code_arch(code, text, addr), text_bytes(text, addr),
                         insn_size(code, text, addr));
}

/* The index of the exit at ADDR, among the first COUNT, which are sorted; COUNT: none. */
static size_t number_at(const struct exits *e, size_t count, vaddr_t addr) {
    size_t i = SEARCH(k, count, e->at[k].addr < addr);
    return i < count && e->at[i].addr == addr ? i : count;
}

/* Makes an exit of the last instruction of function I, which runs into the next function. False:
 * the stack there is not as at an entry, or the instruction may branch within the function. The
 * first COUNT exits are sorted. */
static bool find_fall(struct exits *e, uint32_t i, size_t count) {
    const struct func *f = &e->code->funcs[i];
    const vaddr_t last = e->code->by_func[i].last;
    if (!last) /* none of it is code */
        return false;
    size_t number = number_at(e, count, last);
    uint8_t kind = insn_kind(e->code, f->text, last);
    if (number < count && kind == INSN_BRANCH && !e->at[number].loops) {
        e->at[number].falls = true;
        return true;
    }
    if (kind != INSN_OTHER || !func_entry_depth(e->depths, f, last) ||
        !keeps_stack(e->code, f->text, last))
        return false;
    const struct transfer t = {.from = last, .func = i, .kind = kind};
    push_exit(e, &t, EVENT_TAIL, STUB_SKIP_RED_ZONE | STUB_SAVE_FLAGS);
    e->at[e->count - 1].falls = true;
    return true;
}

/* Function I may run on into code that is in no function, or may have parts that are not found. */
static void find_open_end(struct exits *e, uint32_t i) {
    const struct code *code = e->code;
    const struct func *f = &code->funcs[i];
    const vaddr_t last = code->by_func[i].last;
    uint8_t kind = last ? insn_kind(code, f->text, last) : INSN_TRAP;
    bool goes_on = kind == INSN_OTHER || kind == INSN_BRANCH || kind == INSN_LOOP;
    vaddr_t next = f->end;
    while (goes_on && text_holds(f->text, next) && code_func_at(code, next) == NO_FUNC &&
           insn_kind(code, f->text, next) == INSN_NOP)
        next += insn_size(code, f->text, next);
    bool unknown = goes_on && code_func_at(code, next) == NO_FUNC && is_unknown_code(code, next);
    if (unknown || e->groups->by_func[i].strays)
        push_open_end(e, i, last);
}

/* Sorts the open ends, and drops repeated ones. */
static void sort_open_ends(struct exits *e) {
    size_t kept = 0;
    sort_by_address(e->open_ends.at, e->open_ends.count, sizeof *e->open_ends.at);
    for (size_t i = 0; i < e->open_ends.count; i++)
        if (!kept || e->open_ends.at[kept - 1].addr != e->open_ends.at[i].addr)
            e->open_ends.at[kept++] = e->open_ends.at[i];
    e->open_ends.count = kept;
}

const struct exit_site *exit_at(const struct exits *exits, vaddr_t addr) {
    size_t i = number_at(exits, exits->count, addr);
    return i < exits->count ? &exits->at[i] : NULL;
}

struct exits exits_find(const struct groups *groups) {
    const struct code *code = groups->code;
    struct exits ret = {.code = code, .depths = groups->depths, .groups = groups};
    AUTO_FREE bool *flags_out = mem_alloc(code->func_count + 1);
    ret.places = place_bits_new(code->texts, NULL);
    ret.by_func = mem_alloc((code->func_count + 1) * sizeof *ret.by_func);
    ret.by_root = mem_alloc((code->func_count + 1) * sizeof *ret.by_root);
    note_flag_callees(code, flags_out);
    while (pass_flags_on(code, flags_out))
        ;
    for (size_t i = 0; i < code->transfers.count; i++)
        classify(&ret, &code->transfers.at[i], flags_out);
    const size_t count = ret.count;
    for (uint32_t i = 0; i < code->func_count; i++) {
        if (groups->by_func[i].falls)
            ret.by_func[i].falls_unseen = !find_fall(&ret, i, count);
        if (code->funcs[i].range && !code->funcs[i].plt)
            find_open_end(&ret, i);
    }
    sort_by_address(ret.at, ret.count, sizeof *ret.at);
    sort_open_ends(&ret);
    return ret;
}

void exits_done(struct exits *exits) {
    free(exits->at);
    ARRAY_FREE(&exits->open_ends);
    place_bits_free(exits->code->texts, exits->places);
    free(exits->by_func);
    free(exits->by_root);
}
