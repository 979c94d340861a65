#include "session/breakpoints.h"

#include <time.h>

#include "elf/demangle.h"
#include "session/patcher.h"

const struct trap *breakpoints_at(const struct space *s, taddr_t addr, struct patched **ret) {
    for (size_t i = 0; i < s->modules.count; i++) {
        struct patched *p = &s->modules.at[i];
        const struct trap *trap = p->code ? patcher_trap_at(p, addr) : NULL;
        if (trap) {
            *ret = p;
            return trap;
        }
    }
    return NULL;
}

void breakpoints_look(struct space *s) {
    s->traps = 0;
    for (size_t i = 0; i < s->modules.count; i++)
        s->traps += patcher_standing_traps(&s->modules.at[i], s->remote.memory_fd);
    s->trapped |= s->traps > 0;
}

/* ---- withdrawal ---- */

enum { ALL = UINT32_MAX };

/* Those of function NUMBER of P, or ALL. */
static void withdraw(const struct space *s, struct patched *p, uint32_t number) {
    for (size_t i = 0; p->code && i < p->code->emitted.trap_count; i++) {
        const struct trap *trap = &p->code->emitted.traps[i];
        if ((number == ALL || trap->function == number) &&
            patcher_trap_stands(p, s->remote.memory_fd, trap))
            patcher_withdraw(p, s->remote.memory_fd, trap->at + p->bias, NULL);
    }
}

void breakpoints_withdraw(struct space *s, taddr_t addr, bool all) {
    struct patched *p;
    const struct trap *trap = breakpoints_at(s, addr, &p);
    if (trap && all)
        withdraw(s, p, trap->function);
    else if (trap && patcher_trap_stands(p, s->remote.memory_fd, trap))
        patcher_withdraw(p, s->remote.memory_fd, addr, NULL);
    breakpoints_look(s);
}

static bool is_withdrawn(const struct entry *e, uint32_t number) {
    return e->without_traps && e->without_traps[number / 8] >> (number % 8) & 1;
}

void breakpoints_withdraw_again(struct space *s) {
    for (size_t i = 0; i < s->modules.count; i++) {
        struct patched *p = &s->modules.at[i];
        for (size_t k = 0; p->code && k < p->code->emitted.trap_count; k++)
            if (is_withdrawn(p->entry, p->code->emitted.traps[k].function))
                withdraw(s, p, p->code->emitted.traps[k].function);
    }
}

void breakpoints_remove(struct space *s) {
    if (!s->traps)
        return;
    for (size_t i = 0; i < s->modules.count; i++)
        withdraw(s, &s->modules.at[i], ALL);
    breakpoints_look(s);
}

/* ---- how often ---- */

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

bool breakpoints_count(const struct session_options *o, struct entry *e, uint32_t number) {
    enum { SECOND_NS = 1000000000 };
    size_t n = plan_function_count(e->plan);
    if (!e->trap_loads)
        e->trap_loads = mem_alloc(n * sizeof *e->trap_loads);
    struct trap_load *load = &e->trap_loads[number];
    load->all++;
    if (is_withdrawn(e, number))
        return true; /* this process has had them before that */
    int64_t now = now_ns();
    if (now - load->since_ns >= SECOND_NS)
        *load = (struct trap_load){now, 0, load->all};
    if (++load->hits <= o->trap_limit)
        return false;
    if (!e->without_traps)
        e->without_traps = mem_alloc(n / 8 + 1);
    e->without_traps[number / 8] |= (uint8_t)(1u << number % 8);
    return true;
}

/* ---- what the user is told ---- */

static void tell(const struct session_options *o, const char *text) {
    if (o->warn)
        o->warn(o->ctx, text);
}

void breakpoints_tell(const struct session_options *o, const struct patched *p) {
    size_t count = p->code->emitted.trap_count;
    if (!count || p->entry->traps_told)
        return;
    AUTO_FREE char *text = mem_printf(
        "%s: %zu of its places can be traced by breakpoints only: each hit stops the program, "
        "which does not outlive spoor if that is killed",
        p->entry->module->name, count);
    tell(o, text);
    p->entry->traps_told = true;
}

static void tell_function(const struct session_options *o, const struct entry *e, uint32_t i) {
    const struct plan_function *f = plan_function(e->plan, i);
    AUTO_FREE char *name = plan_function_shown(f, e->module->name);
    bool only_ends = f->entry != TIER_TRAP && f->exits[TIER_TRAP];
    const char *loss =
        only_ends ? "the ends of its later calls are inferred" : "its later calls were not seen";
    AUTO_FREE char *text = mem_printf(
        "%s: its breakpoints were withdrawn, as they were hit more than %u times within a second "
        "(%ju in all): %s: --trap-limit allows more",
        name, o->trap_limit, e->trap_loads[i].all, loss);
    tell(o, text);
}

void breakpoints_tell_withdrawn(const struct session_options *o, const struct entry *e) {
    for (uint32_t i = 0; e->without_traps && i < plan_function_count(e->plan); i++)
        if (is_withdrawn(e, i))
            tell_function(o, e, i);
}
