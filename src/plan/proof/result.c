/* Proves that a function returns something: a caller reads the result's register after a call. */
#include "plan/proof/callers.h"

#include "base/search.h"

enum { MOST_SITES = 64 };

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

/* ---- what a caller reads ---- */

/* Follows a way until REG is needed (true), or gets another value. */
static bool reads_on(struct ways *w, vaddr_t pc, uint64_t reg) {
    const uint8_t *bytes;
    struct data_use use;
    struct insn in;
    while (ways_step(w, &pc, &in, &bytes)) {
        if (in.kind == INSN_BRANCH || in.kind == INSN_JUMP)
            ways_add(w, in.target);
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
    struct ways w = {.u = u, .function = plan_function(u->plan, caller)};
    for (ways_add(&w, pc); w.next < w.count; w.next++)
        if (reads_on(&w, w.at[w.next], reg))
            return true;
    return false;
}

/* ---- questions ---- */

bool result_is_used(struct result_uses *u, uint32_t function, unsigned reg) {
    const uint64_t asked = UINT64_C(1) << reg % DATA_REGISTERS;
    vaddr_t behind;
    uint32_t caller;
    unsigned checked = 0;
    if (!is_known(u) || reg >= DATA_REGISTERS ||
        !callers_clobber(u, plan_function(u->plan, function)->addr, asked))
        return false;
    for (size_t i = callers_first(u, function);
         i < u->sites.count && u->sites.at[i].function == function && checked < MOST_SITES; i++) {
        if (u->sites.at[i].use != USE_CALL ||
            callers_check(u, &u->sites.at[i], &behind, &caller) != SITE_TRUE)
            continue;
        if (reads_behind(u, caller, behind, asked))
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
        if (u->sites.at[i].use == USE_ADDRESS) {
            if (callers_check(u, &u->sites.at[i], &behind, &user) == SITE_TRUE)
                return true;
            checked++;
        }
    return false;
}
