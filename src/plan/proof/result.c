/* Proves that a function returns something. */
#include "plan/proof/callers.h"

#include "base/search.h"

enum { MOST_SITES = 64, MOST_STEPS = 400, MOST_WAYS = 32, DEEPEST = 4 };

struct result_uses *result_uses_new(const struct plan *plan, const struct module *m) {
    struct result_uses *u = mem_alloc(sizeof *u);
    *u = (struct result_uses){.plan = plan, .module = m, .arch = arch_for_machine(m->machine)};
    return u;
}

void result_uses_free(struct result_uses *u) {
    if (u)
        ARRAY_FREE(&u->sites);
    free(u);
}

static bool is_known(const struct result_uses *u) { return u->arch && u->arch->data; }

/* ---- what a function writes ---- */

struct asked {
    const struct result_uses *u;
    uint64_t reg; /* its bit */
};

static bool clobbers(const struct asked *a, uint32_t function, unsigned depth);

/* What is called in another module may write all that the calling convention permits. */
static bool callee_clobbers(const struct asked *a, vaddr_t target, unsigned depth) {
    const uint32_t callee = plan_function_at(a->u->plan, target);
    return callee == UINT32_MAX || (depth < DEEPEST && clobbers(a, callee, depth + 1));
}

static bool instruction_clobbers(const struct asked *a, const struct plan_function *f,
                                 const struct insn *in, const uint8_t *bytes, unsigned depth) {
    struct data_use use;
    switch (in->kind) {
    case INSN_CALL_INDIRECT:
        return true;
    case INSN_CALL:
        return callee_clobbers(a, in->target, depth);
    case INSN_JUMP:
        return in->target - f->addr >= f->size && callee_clobbers(a, in->target, depth);
    case INSN_OTHER:
        return a->u->arch->data(bytes, in->size, &use) && (use.written & a->reg);
    default:
        return false;
    }
}

static bool clobbers(const struct asked *a, uint32_t function, unsigned depth) {
    const struct plan_function *f = plan_function(a->u->plan, function);
    const uint8_t *bytes;
    struct insn in;
    for (vaddr_t pc = f->addr; pc - f->addr < f->size;) {
        if (!callers_step(a->u, &pc, &in, &bytes))
            return false;
        if (instruction_clobbers(a, f, &in, bytes, depth))
            return true;
    }
    return false;
}

/* ---- what a caller reads ---- */

/* Ways from a call on, and where they have been. */
struct ways {
    const struct result_uses *u;
    const struct plan_function *caller;
    vaddr_t at[MOST_WAYS];
    size_t count, next;
    unsigned steps;
};

static void add_way(struct ways *w, vaddr_t to) {
    for (size_t i = 0; i < w->count; i++)
        if (w->at[i] == to)
            return;
    if (w->count < MOST_WAYS && to - w->caller->addr < w->caller->size)
        w->at[w->count++] = to;
}

/* Follows a way until REG is needed (true), or gets another value. */
static bool reads_on(struct ways *w, vaddr_t pc, uint64_t reg) {
    const uint8_t *bytes;
    struct data_use use;
    struct insn in;
    while (w->steps++ < MOST_STEPS && callers_step(w->u, &pc, &in, &bytes)) {
        if (in.kind == INSN_BRANCH || in.kind == INSN_JUMP)
            add_way(w, in.target);
        if (in.kind == INSN_BRANCH || in.kind == INSN_NOP || in.kind == INSN_LANDING)
            continue;
        if (in.kind != INSN_OTHER || !w->u->arch->data(bytes, in.size, &use))
            return false;
        if (use.read & reg)
            return true;
        if (use.written & reg)
            return false;
    }
    return false;
}

static bool reads_behind(const struct result_uses *u, uint32_t caller, vaddr_t pc, uint64_t reg) {
    struct ways w = {.u = u, .caller = plan_function(u->plan, caller)};
    for (add_way(&w, pc); w.next < w.count; w.next++)
        if (reads_on(&w, w.at[w.next], reg))
            return true;
    return false;
}

/* ---- questions ---- */

bool result_is_used(struct result_uses *u, uint32_t function, unsigned reg) {
    const struct asked asked = {u, UINT64_C(1) << reg % DATA_REGISTERS};
    vaddr_t behind;
    uint32_t caller;
    unsigned checked = 0;
    if (!is_known(u) || reg >= DATA_REGISTERS || !clobbers(&asked, function, 0))
        return false;
    for (size_t i = callers_first(u, function);
         i < u->sites.count && u->sites.at[i].function == function && checked < MOST_SITES; i++) {
        if (u->sites.at[i].takes || !callers_check(u, &u->sites.at[i], &behind, &caller))
            continue;
        if (reads_behind(u, caller, behind, asked.reg))
            return true;
        checked++;
    }
    return false;
}

static bool data_refers(const struct module *m, vaddr_t target) {
    module_complete(m);
    for (size_t i = SEARCH(k, m->ref_count, m->refs[k].target < target);
         i < m->ref_count && m->refs[i].target == target; i++)
        if (m->refs[i].kind == CODE_REF_RELOCATION)
            return true;
    return false;
}

bool result_address_is_taken(struct result_uses *u, uint32_t function) {
    vaddr_t behind;
    uint32_t user;
    unsigned checked = 0;
    if (!is_known(u))
        return false;
    if (data_refers(u->module, plan_function(u->plan, function)->addr))
        return true;
    for (size_t i = callers_first(u, function);
         i < u->sites.count && u->sites.at[i].function == function && checked < MOST_SITES; i++)
        if (u->sites.at[i].takes) {
            if (callers_check(u, &u->sites.at[i], &behind, &user))
                return true;
            checked++;
        }
    return false;
}
