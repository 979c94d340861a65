/* Finds all places that may call functions, at once; the few that are asked for are then checked.
 */
#include "plan/proof/callers.h"

#include <stdlib.h>

#include "base/search.h"

enum { DEEPEST = 5 }; /* calls of each other */

static void see_site(void *ctx, vaddr_t at, vaddr_t target, enum code_use use) {
    struct result_uses *u = ctx;
    const uint32_t function = plan_function_at(u->plan, target);
    if (function == UINT32_MAX || plan_function(u->plan, function)->addr != target)
        return;
    struct call_site site = {at, function, use};
    ARRAY_PUSH(&u->sites, site);
}

static int by_function(const void *a, const void *b) {
    const struct call_site *x = a, *y = b;
    if (x->function != y->function)
        return x->function < y->function ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static void read_sites(struct result_uses *u) {
    u->read = true;
    for (size_t i = 0; i < u->module->segment_count; i++) {
        const struct segment *s = &u->module->segments[i];
        if (s->executable)
            u->arch->find_uses(s->bytes, s->file_size, s->start, see_site, u);
    }
    if (u->sites.count)
        qsort(u->sites.at, u->sites.count, sizeof *u->sites.at, by_function);
}

size_t callers_first(struct result_uses *u, uint32_t function) {
    if (!u->read)
        read_sites(u);
    return SEARCH(k, u->sites.count, u->sites.at[k].function < function);
}

bool callers_step(const struct result_uses *u, vaddr_t *pc, struct insn *ret,
                  const uint8_t **ret_bytes) {
    const struct segment *s = module_segment_at(u->module, *pc);
    if (!s || !s->executable || *pc - s->start >= s->file_size)
        return false;
    *ret_bytes = s->bytes + (*pc - s->start);
    if (!u->arch->decode(*ret_bytes, s->file_size - (*pc - s->start), *pc, ret, NULL))
        return false;
    *pc += ret->size;
    return true;
}

static bool is_site(const struct insn *in, const struct call_site *site, vaddr_t target) {
    if (in->target != target)
        return false;
    if (site->use == USE_ADDRESS)
        return in->addr <= site->at && in->operand == OPERAND_PC_ADDRESS;
    if (site->use == USE_CALL)
        return in->addr == site->at && in->kind == INSN_CALL;
    return in->addr <= site->at && (in->kind == INSN_JUMP || in->kind == INSN_BRANCH);
}

enum site_check callers_check(const struct result_uses *u, const struct call_site *site,
                              vaddr_t *ret_behind, uint32_t *ret_caller) {
    enum { MOST_BYTES = 1 << 16 };
    const uint32_t caller = plan_function_at(u->plan, site->at);
    const struct plan_function *f = caller == UINT32_MAX ? NULL : plan_function(u->plan, caller);
    const uint8_t *bytes;
    struct insn in;
    if (!f || site->at < f->addr || site->at - f->addr >= f->size || f->size > MOST_BYTES)
        return SITE_UNKNOWN;
    for (vaddr_t pc = f->addr; pc <= site->at;) {
        if (!callers_step(u, &pc, &in, &bytes))
            return SITE_UNKNOWN;
        if (pc > site->at) {
            *ret_behind = pc;
            *ret_caller = caller;
            return is_site(&in, site, plan_function(u->plan, site->function)->addr) ? SITE_TRUE
                                                                                    : SITE_NONE;
        }
    }
    return SITE_UNKNOWN;
}

/* ---- what a function writes ---- */

struct asked {
    const struct result_uses *u;
    uint64_t regs; /* their bits */
};

static bool clobbers(const struct asked *a, uint32_t function, unsigned depth);

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
        return a->u->arch->data(bytes, in->size, &use) && (use.written & a->regs);
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

bool callers_clobber(const struct result_uses *u, vaddr_t target, uint64_t regs) {
    const struct asked asked = {u, regs};
    return callee_clobbers(&asked, target, 0);
}

/* ---- ways ---- */

void ways_add(struct ways *w, vaddr_t to) {
    for (size_t i = 0; i < w->count; i++)
        if (w->at[i] == to)
            return;
    if (to - w->function->addr >= w->function->size)
        return;
    if (w->count < WAYS_MOST)
        w->at[w->count++] = to;
    else
        w->incomplete = true;
}

bool ways_step(struct ways *w, vaddr_t *pc, struct insn *ret, const uint8_t **ret_bytes) {
    return w->steps++ < WAYS_MOST_STEPS && callers_step(w->u, pc, ret, ret_bytes);
}
