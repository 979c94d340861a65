/*
 * Proves that a function returns nothing any more. The compiler has seen that no caller needs the
 * result; debugging information still has its type.
 *
 * If a way from the function's first instruction to a return does not write the result's register,
 * nothing is returned there. That alone is no proof: the source may lack a value at this return. So
 * no caller may use what the function leaves in the register. A caller uses it if it reads the
 * register before it writes it. A caller also uses it if it returns without writing it, and one of
 * its own callers uses it. What is not known counts as a use.
 */
#include "base/search.h"
#include "plan/proof/callers.h"

enum { RESULT = 0 /* rax, which passes no argument */, DEEPEST = 6, SHORT_JUMP = 130 };

struct takers {
    struct result_uses *u;
    const struct result_question *q;
    uint64_t reg;
    uint32_t asked[DEEPEST]; /* functions, each a caller of the one before */
    unsigned depth;
};

static bool is_inside(const struct plan_function *f, vaddr_t at) { return at - f->addr < f->size; }

/* ---- ways through a function ---- */

enum step { STEP_ON, STEP_END, STEP_TRUE };

struct walk {
    struct takers *t;
    uint32_t function;
    /* Of an instruction that does not only lead on. */
    enum step (*step)(struct walk *k, const struct insn *in, const uint8_t *bytes);
    enum step lost; /* of a way that cannot be followed */
    struct ways w;
};

static enum step step_on(struct walk *k, const struct insn *in, const uint8_t *bytes) {
    switch (in->kind) {
    case INSN_NOP:
    case INSN_LANDING:
        return STEP_ON;
    case INSN_BRANCH:
        ways_add(&k->w, in->target);
        return is_inside(k->w.function, in->target) || k->lost == STEP_END ? STEP_ON : k->lost;
    case INSN_JUMP:
        ways_add(&k->w, in->target);
        return is_inside(k->w.function, in->target) ? STEP_END : k->lost;
    default:
        return k->step(k, in, bytes);
    }
}

/* Whether a way from FROM on comes to STEP_TRUE. */
static bool comes_true(struct walk *k, vaddr_t from) {
    const uint8_t *bytes;
    struct insn in;
    k->w = (struct ways){.u = k->t->u, .function = plan_function(k->t->u->plan, k->function)};
    for (ways_add(&k->w, from); k->w.next < k->w.count; k->w.next++) {
        vaddr_t pc = k->w.at[k->w.next];
        enum step step = STEP_ON;
        while (step == STEP_ON)
            step = ways_step(&k->w, &pc, &in, &bytes) ? step_on(k, &in, bytes) : k->lost;
        if (step == STEP_TRUE)
            return true;
    }
    return false;
}

/* ---- the function itself ---- */

/* STEP_TRUE: it returns, and has written nothing. */
static enum step own_step(struct walk *k, const struct insn *in, const uint8_t *bytes) {
    struct data_use use;
    if (in->kind == INSN_RETURN)
        return STEP_TRUE;
    return in->kind == INSN_OTHER && k->t->u->arch->data(bytes, in->size, &use) &&
                   !(use.written & k->t->reg)
               ? STEP_ON
               : STEP_END;
}

static bool leaves_alone(struct takers *t, uint32_t function) {
    struct walk k = {.t = t, .function = function, .step = own_step, .lost = STEP_END};
    return comes_true(&k, plan_function(t->u->plan, function)->addr);
}

/* ---- its callers ---- */

static bool may_be_taken(struct takers *t, uint32_t function);

/* FUNCTION returns with what a called function has left in REG: whether its callers use that. */
static bool is_passed_on(struct takers *t, uint32_t function) {
    for (unsigned i = 0; i < t->depth; i++)
        if (t->asked[i] == function)
            return false; /* recursion: its other callers decide */
    return !t->q->is_void(t->q->ctx, function) && may_be_taken(t, function);
}

/* Whether the call IN writes the register. */
static bool is_lost_in(const struct takers *t, const struct insn *in) {
    return in->kind == INSN_CALL_INDIRECT || callers_clobber(t->u, in->target, t->reg);
}

static enum step call_step(const struct takers *t, const struct insn *in) {
    if (t->reg != UINT64_C(1) << RESULT) /* it may be an argument */
        return STEP_TRUE;
    return is_lost_in(t, in) ? STEP_END : STEP_ON;
}

static enum step data_step(const struct takers *t, const struct insn *in, const uint8_t *bytes) {
    struct data_use use;
    if (!t->u->arch->data(bytes, in->size, &use) || use.may_read & t->reg)
        return STEP_TRUE;
    return use.replaced & t->reg ? STEP_END : STEP_ON;
}

/* STEP_TRUE: the register may be taken. */
static enum step caller_step(struct walk *k, const struct insn *in, const uint8_t *bytes) {
    switch (in->kind) {
    case INSN_CALL:
    case INSN_CALL_INDIRECT:
        return call_step(k->t, in);
    case INSN_RETURN:
        return is_passed_on(k->t, k->function) ? STEP_TRUE : STEP_END;
    case INSN_TRAP:
        return STEP_END;
    case INSN_OTHER:
        return data_step(k->t, in, bytes);
    default:
        return STEP_TRUE;
    }
}

static bool is_taken_behind(struct takers *t, uint32_t caller, vaddr_t pc) {
    struct walk k = {.t = t, .function = caller, .step = caller_step, .lost = STEP_TRUE};
    return comes_true(&k, pc) || k.w.incomplete || !k.w.count;
}

/* ---- all uses ---- */

static bool is_exported(const struct module *m, vaddr_t addr) {
    for (size_t i = SEARCH(k, m->symbol_count, m->symbols[k].addr < addr);
         i < m->symbol_count && m->symbols[i].addr == addr; i++)
        if (m->symbols[i].global)
            return true;
    return false;
}

/* A number in code of a program at a fixed address may be the address. */
static bool is_named_in_code(const struct module *m, vaddr_t addr) {
    for (size_t i = 0; i < m->segment_count && !m->position_independent; i++) {
        const struct segment *s = &m->segments[i];
        const uint32_t number = (uint32_t)addr;
        if (s->executable && memmem(s->bytes, s->file_size, &number, sizeof number))
            return true;
    }
    return m->text_relocations;
}

static bool data_refers(const struct module *m, vaddr_t addr) {
    const size_t i = SEARCH(k, m->ref_count, m->refs[k].target < addr);
    return i < m->ref_count && m->refs[i].target == addr;
}

/* Whether F's code jumps to ADDR, or is not known. */
static bool may_jump_to(const struct takers *t, const struct plan_function *f, vaddr_t addr) {
    const uint8_t *bytes;
    struct insn in;
    for (vaddr_t pc = f->addr; is_inside(f, pc);) {
        if (!callers_step(t->u, &pc, &in, &bytes))
            return true;
        if (in.target == addr && in.kind != INSN_CALL)
            return true;
    }
    return false;
}

/* Short jumps are not among the sites. */
static bool has_neighbour_jumping(const struct takers *t, uint32_t function) {
    const struct plan *plan = t->u->plan;
    const vaddr_t addr = plan_function(plan, function)->addr;
    for (uint32_t i = function; i-- > 0;) {
        const struct plan_function *f = plan_function(plan, i);
        if (f->addr + f->size + SHORT_JUMP < addr)
            break;
        if (may_jump_to(t, f, addr))
            return true;
    }
    for (uint32_t i = function + 1; i < plan_function_count(plan); i++) {
        const struct plan_function *f = plan_function(plan, i);
        if (f->addr > addr + SHORT_JUMP)
            break;
        if (may_jump_to(t, f, addr))
            return true;
    }
    return false;
}

static bool is_visible(const struct takers *t, uint32_t function) {
    const struct module *m = t->u->module;
    const vaddr_t addr = plan_function(t->u->plan, function)->addr;
    module_complete(m);
    return is_exported(m, addr) || data_refers(m, addr) || is_named_in_code(m, addr) ||
           has_neighbour_jumping(t, function);
}

static bool takes(struct takers *t, const struct call_site *site) {
    vaddr_t behind;
    uint32_t caller;
    switch (callers_check(t->u, site, &behind, &caller)) {
    case SITE_NONE:
        return false;
    case SITE_TRUE:
        if (site->use == USE_JUMP) /* in itself, it is a loop */
            return caller != site->function;
        return site->use == USE_ADDRESS || is_taken_behind(t, caller, behind);
    case SITE_UNKNOWN:
        break;
    }
    return true;
}

static bool may_be_taken(struct takers *t, uint32_t function) {
    if (t->depth == DEEPEST)
        return true;
    t->asked[t->depth++] = function;
    bool taken = false;
    for (size_t i = callers_first(t->u, function);
         i < t->u->sites.count && t->u->sites.at[i].function == function && !taken; i++)
        taken = takes(t, &t->u->sites.at[i]);
    t->depth--;
    return taken || is_visible(t, function);
}

bool result_is_gone(struct result_uses *u, const struct result_question *q, unsigned reg) {
    struct takers t = {.u = u, .q = q, .reg = UINT64_C(1) << reg % DATA_REGISTERS};
    return u->arch && u->arch->data && reg < DATA_REGISTERS && leaves_alone(&t, q->function) &&
           !may_be_taken(&t, q->function);
}
