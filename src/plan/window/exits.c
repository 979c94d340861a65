/*
 * Where functions end: returns; jumps out of the function at entry depth (tail
 * calls, direct or through a pointer); conditional tail calls of both sorts, where flags live.
 * A jump that goes on with another stack pointer (longjmp, unwinders) ends no call of this function
 * in particular: it is a control site.
 * No function jumps away with its caller's frame gone: what does is entered in a way of its own,
 * with words on the stack (lazy binding on AArch64), whatever its call-frame information says. A
 * jump to the function's own start at entry depth is a loop: it is patched so that it passes the
 * entry's stub by. A function that runs into the next one leaves its call to that, as by a tail
 * call without a jump: its last instruction is the exit, which is told before it.
 */
#include "elf/sort.h"
#include "plan/analysis.h"

/* Of a return that loads the stack pointer; those of parts that several functions share are told by
 * each of them. */
static void take_frame_pops(const struct analysis *a, struct exit_site *x) {
    size_t low = 0;
    for (size_t high = a->frame_returns.count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (a->frame_returns.at[middle].addr < x->addr)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low; i < a->frame_returns.count && a->frame_returns.at[i].addr == x->addr;
         i++) {
        const struct frame_return *r = &a->frame_returns.at[i];
        bool agrees = i == low || (x->pops == r->pops && x->behind == r->behind);
        x->pops = agrees ? r->pops : -1;
        x->behind = r->behind;
        if (!agrees)
            return;
    }
}

static void take_pops(const struct analysis *a, const struct text *text, struct exit_site *x) {
    const struct arch *arch = text_arch(a, text, x->addr);
    int pops =
        arch->return_pops ? arch->return_pops(text_bytes(text, x->addr), x->size, &x->behind) : 0;
    bool told = pops >= 0 && pops % arch->word_bytes == 0 &&
                mark_can_tell(pops / arch->word_bytes, x->behind);
    x->pops = told ? (int16_t)pops : -1;
    if (pops < 0)
        take_frame_pops(a, x);
}

static void push_exit(struct analysis *a, const struct transfer *t, uint8_t event,
                      uint8_t variant) {
    const struct text *text = a->funcs[t->func].text;
    struct exit_site x = {.addr = t->from,
                          .func = t->func,
                          .size = text_size(text, t->from),
                          .kind = text_kind(text, t->from),
                          .event = event,
                          .variant = variant};
    x.target = x.kind == INSN_JUMP || x.kind == INSN_BRANCH || x.kind == INSN_LOOP ? t->to : 0;
    if (transfer_returns(t))
        take_pops(a, text, &x);
    x.loops = x.target && func_at(a, x.target) == t->func;
    *text_fact(text, t->from) |= FACT_EXIT;
    ARRAY_PUSH(&a->exits, x);
}

static bool conditional(const struct transfer *t) {
    return t->kind == INSN_BRANCH || t->kind == INSN_LOOP;
}

static uint8_t tail_variant(const struct analysis *a, const struct transfer *t) {
    bool live = conditional(t) || !t->entry_depth ||
                (t->kind == INSN_JUMP && text_is_insn(a, t->to) && flags_live_at(a, t->to));
    return STUB_SKIP_RED_ZONE | (live ? STUB_SAVE_FLAGS : 0);
}

static bool direct_leaves(struct analysis *a, const struct transfer *t) {
    uint32_t index = func_at(a, t->to);
    if (transfer_is_idle(a, t))
        return false;
    if (index == t->func) {
        a->funcs[index].loop_head = true;
        return t->entry_depth;
    }
    if (index == NO_FUNC)
        return t->entry_depth;
    struct func *g = &a->funcs[index];
    if (g->plt)
        return true;
    bool same = group_of(a, index) == group_of(a, t->func);
    if (!func_is_start(g, t->to))
        return !same && !g->range && t->entry_depth;
    g->loop_head |= same || !t->entry_depth;
    if (!t->entry_depth || g->cold || !g->entry_depth)
        return !same && g->entry_depth && !t->entry_depth;
    return !same || g->called;
}

/* Is the indirect jump a switch? *RET_KNOWN: are all places that it may lead to known? */
static bool is_switch(const struct analysis *a, const struct transfer *t, bool *ret_known) {
    const struct func *root = group_root(a, t->func);
    bool labels = root->code_refs >= 2;
    *ret_known = true;
    switch ((enum dispatch_kind)t->dispatch) {
    case DISPATCH_OFFSETS:
        *ret_known = root->tables || root->code_refs;
        return true;
    case DISPATCH_ADDRESSES:
        switch (table_use(a, t->func, t->to)) {
        case TABLE_SWITCH:
            return true;
        case TABLE_UNKNOWN:
            return labels;
        default:
            return false;
        }
    case DISPATCH_COMPUTED:
        if (transfer_is_computed(a, t)) {
            const struct dispatch *how = table_switch(a, t->func, t->to);
            *ret_known = how && how->count;
            return true;
        }
        return (labels || root->tables) && !t->entry_depth;
    case DISPATCH_ANY:
        return (labels || root->tables) && !t->entry_depth;
    default:
        return false;
    }
}

static void indirect(struct analysis *a, const struct transfer *t) {
    bool known;
    if (t->dispatch == DISPATCH_CALL)
        return;
    if (t->dispatch == DISPATCH_STACK)
        push_exit(a, t, EVENT_CONTROL, STUB_SKIP_RED_ZONE | STUB_SAVE_FLAGS);
    else if (is_switch(a, t, &known))
        group_root(a, t->func)->open_flow |= !known;
    else if (t->entry_depth)
        push_exit(a, t, EVENT_TAIL, STUB_SKIP_RED_ZONE);
    else
        group_root(a, t->func)->open_flow = true;
    int32_t depth = func_depth(a, &a->funcs[t->func], t->from);
    group_root(a, t->func)->pops |= depth < 0 && depth != DEPTH_UNKNOWN;
}

/* Whether flags are restored right before the return at AT: then they are those of the code that
 * was interrupted (Go's asyncPreempt), which goes on with them. */
static bool restores_flags(const struct analysis *a, const struct func *f, vaddr_t at) {
    enum { NEAR = 8 };
    for (int i = 0; i < NEAR && at > f->start && a->arch->restores_flags; i++) {
        at = text_previous(f->text, at);
        if (!at)
            return false;
        if (a->arch->restores_flags(text_bytes(f->text, at), text_size(f->text, at)))
            return true;
    }
    return false;
}

static void classify(struct analysis *a, const struct transfer *t) {
    const struct func *f = &a->funcs[t->func];
    if (f->plt || f->thunk)
        return;
    if (transfer_returns(t)) {
        bool flags = *text_fact(f->text, f->start) & FACT_FLAGS_OUT || conditional(t) ||
                     restores_flags(a, f, t->from);
        if (t->tails && t->entry_depth)
            push_exit(a, t, EVENT_TAIL, tail_variant(a, t));
        else
            push_exit(a, t, EVENT_RETURN, flags ? STUB_SAVE_FLAGS : 0);
    } else if (t->kind == INSN_JUMP_INDIRECT) {
        indirect(a, t);
    } else if (direct_leaves(a, t)) {
        push_exit(a, t, EVENT_TAIL, tail_variant(a, t));
    }
}

/* Calls may go to the middle of functions, too (Go's to runtime.duffzero, which keeps flags): these
 * have one return for all. */
static void note_answers(const struct analysis *a) {
    for (size_t i = 0; i < a->answers.count; i++) {
        uint32_t g = func_at(a, a->answers.at[i]);
        if (g != NO_FUNC)
            *text_fact(a->funcs[g].text, a->funcs[g].start) |= FACT_FLAGS_OUT;
    }
}

/* Results in flags pass through tail calls and shared tails. */
static bool pass_flags_on(struct analysis *a) {
    bool changed = false;
    for (size_t i = 0; i < a->transfers.count; i++) {
        const struct transfer *t = &a->transfers.at[i];
        bool direct = t->kind == INSN_JUMP || conditional(t);
        uint32_t g = direct ? func_at(a, t->to) : NO_FUNC;
        const struct func *f = &a->funcs[t->func];
        if (g == NO_FUNC || !(*text_fact(f->text, f->start) & FACT_FLAGS_OUT))
            continue;
        uint8_t *fact = text_fact(a->funcs[g].text, a->funcs[g].start);
        changed |= !(*fact & FACT_FLAGS_OUT);
        *fact |= FACT_FLAGS_OUT;
    }
    return changed;
}

bool stack_is_kept(const struct arch *arch, const uint8_t *bytes, size_t size) {
    struct stack_effect effects[STACK_MAX_EFFECTS];
    size_t count = arch->stack(bytes, size, effects);
    for (size_t i = 0; i < count; i++) {
        const struct stack_effect *e = &effects[i];
        bool other = e->op == STACK_SET || e->op == STACK_ALIGN || e->op == STACK_LOAD;
        if (e->changed >> arch->sp_register & 1 || (other && e->reg == arch->sp_register) ||
            !(other || e->op == STACK_NONE || e->op == STACK_STORE))
            return false;
    }
    return true;
}

static bool keeps_stack(const struct analysis *a, const struct text *text, vaddr_t addr) {
    return stack_is_kept(text_arch(a, text, addr), text_bytes(text, addr), text_size(text, addr));
}

/* Makes an exit of the last instruction of F, which runs into the next function. False: there the
 * stack is not yet as that expects it, or the instruction goes elsewhere in F, too. */
static bool find_fall(struct analysis *a, uint32_t i, size_t count) {
    const struct func *f = &a->funcs[i];
    size_t low = 0;
    if (!f->last) /* none of it is code */
        return false;
    for (size_t high = count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (a->exits.at[middle].addr < f->last)
            low = middle + 1;
        else
            high = middle;
    }
    struct exit_site *there =
        low < count && a->exits.at[low].addr == f->last ? &a->exits.at[low] : NULL;
    uint8_t kind = text_kind(f->text, f->last);
    if (there && kind == INSN_BRANCH && !there->loops) {
        there->falls = true;
        return true;
    }
    if (kind != INSN_OTHER || !func_entry_depth(a, f, f->last) || !keeps_stack(a, f->text, f->last))
        return false;
    const struct transfer t = {.from = f->last, .func = i, .kind = kind, .entry_depth = true};
    push_exit(a, &t, EVENT_TAIL, STUB_SKIP_RED_ZONE | STUB_SAVE_FLAGS);
    a->exits.at[a->exits.count - 1].falls = true;
    return true;
}

static int compare_exit(const void *key, const void *item) {
    vaddr_t addr = *(const vaddr_t *)key, at = ((const struct exit_site *)item)->addr;
    return (addr > at) - (addr < at);
}

struct exit_site *exit_at(const struct analysis *a, vaddr_t addr) {
    return bsearch(&addr, a->exits.at, a->exits.count, sizeof *a->exits.at, compare_exit);
}

void exits_find(struct analysis *a) {
    note_answers(a);
    while (pass_flags_on(a))
        ;
    sort_by_address(a->frame_returns.at, a->frame_returns.count, sizeof *a->frame_returns.at);
    for (size_t i = 0; i < a->transfers.count; i++)
        classify(a, &a->transfers.at[i]);
    size_t count = a->exits.count;
    for (uint32_t i = 0; i < a->func_count; i++) {
        if (a->funcs[i].falls_through)
            a->funcs[i].falls_through = !find_fall(a, i, count);
    }
    if (a->exits.count > count)
        sort_by_address(a->exits.at, a->exits.count, sizeof *a->exits.at);
}
