/* Finds all places that may call functions, at once; the few that are asked for are then checked.
 */
#include "plan/proof/callers.h"

#include <stdlib.h>

#include "base/search.h"

static void see_site(void *ctx, vaddr_t at, vaddr_t target, bool takes) {
    struct result_uses *u = ctx;
    const uint32_t function = plan_function_at(u->plan, target);
    if (function == UINT32_MAX || plan_function(u->plan, function)->addr != target)
        return;
    struct call_site site = {at, function, takes};
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
            u->arch->find_calls(s->bytes, s->file_size, s->start, see_site, u);
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
    if (site->takes)
        return in->addr <= site->at && in->operand == OPERAND_PC_ADDRESS && in->target == target;
    return in->addr == site->at && in->kind == INSN_CALL && in->target == target;
}

bool callers_check(const struct result_uses *u, const struct call_site *site, vaddr_t *ret_behind,
                   uint32_t *ret_caller) {
    enum { MOST_BYTES = 1 << 16 };
    const uint32_t caller = plan_function_at(u->plan, site->at);
    const struct plan_function *f = caller == UINT32_MAX ? NULL : plan_function(u->plan, caller);
    const uint8_t *bytes;
    struct insn in;
    if (!f || site->at < f->addr || site->at - f->addr >= f->size || f->size > MOST_BYTES)
        return false;
    for (vaddr_t pc = f->addr; pc <= site->at;) {
        if (!callers_step(u, &pc, &in, &bytes))
            return false;
        if (pc > site->at) {
            *ret_behind = pc;
            *ret_caller = caller;
            return is_site(&in, site, plan_function(u->plan, site->function)->addr);
        }
    }
    return false;
}
