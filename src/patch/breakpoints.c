/* Finds, counts and removes breakpoints, and warns of them. */
#include "patch/breakpoints.h"

#include "patch/patcher.h"
#include "select/trap_limit.h"

const struct trap *breakpoints_at(const struct space *s, taddr_t addr, struct patched **ret) {
    for (size_t i = 0; i < s->modules.count; i++) {
        struct patched *p = &s->modules.at[i];
        const struct trap *trap = p->code ? patched_trap_at(p, addr) : NULL;
        if (trap) {
            *ret = p;
            return trap;
        }
    }
    return NULL;
}

void breakpoints_count(struct space *s) {
    s->traps.set = 0;
    for (size_t i = 0; i < s->modules.count; i++)
        s->traps.set += patched_count_traps(&s->modules.at[i], s->remote.memory_fd);
    s->traps.any |= s->traps.set > 0;
}

/* ---- withdrawal ---- */

enum { ALL_FUNCTIONS = UINT32_MAX };

/* Removes the breakpoints of function NUMBER of P, or ALL_FUNCTIONS. */
static void withdraw(const struct space *s, struct patched *p, uint32_t number) {
    for (size_t i = 0; p->code && i < p->code->emitted.trap_count; i++) {
        const struct trap *trap = &p->code->emitted.traps[i];
        if ((number == ALL_FUNCTIONS || trap->function == number) &&
            patched_trap_is_set(p, s->remote.memory_fd, trap))
            patcher_withdraw(p, s->remote.memory_fd, trap->at + p->bias, NULL);
    }
}

void breakpoints_withdraw(struct space *s, taddr_t addr, bool all) {
    struct patched *p;
    const struct trap *trap = breakpoints_at(s, addr, &p);
    if (trap && all)
        withdraw(s, p, trap->function);
    else if (trap && patched_trap_is_set(p, s->remote.memory_fd, trap))
        patcher_withdraw(p, s->remote.memory_fd, addr, NULL);
    breakpoints_count(s);
}

void breakpoints_withdraw_again(struct space *s) {
    for (size_t i = 0; i < s->modules.count; i++) {
        struct patched *p = &s->modules.at[i];
        for (size_t k = 0; p->code && k < p->code->emitted.trap_count; k++)
            if (trap_limit_passed(p->traced_module, p->code->emitted.traps[k].function))
                withdraw(s, p, p->code->emitted.traps[k].function);
    }
}

void breakpoints_remove(struct space *s) {
    if (!s->traps.set)
        return;
    for (size_t i = 0; i < s->modules.count; i++)
        withdraw(s, &s->modules.at[i], ALL_FUNCTIONS);
    breakpoints_count(s);
}

void breakpoints_warn(const struct record_options *o, const struct patched *p) {
    size_t count = p->code->emitted.trap_count;
    if (!count || p->traced_module->traps_reported)
        return;
    AUTO_FREE char *text = mem_printf(
        "%s: %zu places can be traced by breakpoints only: each hit stops the program, and if "
        "spoor is killed the next hit kills the program",
        p->traced_module->module->name, count);
    report_warn(&o->report, text);
    p->traced_module->traps_reported = true;
}
