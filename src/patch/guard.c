/* Finds the guarded functions, keeps their ranges, and reads the calls of threads that wait. */
#include "patch/guard.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "arch/agent.h"
#include "arch/arch.h"
#include "base/page.h"
#include "patch/settle.h"
#include "target/memory.h"

static bool begins_with_any(const char *text, const char *const *starts, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strncmp(text, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}
#define BEGINS_WITH_ANY(text, starts)                                                              \
    begins_with_any(text, starts, sizeof(starts) / sizeof *(starts))

bool guard_may_be_in(const char *path) {
    static const char *const names[] = {"libc.so", "libc-", "libc.musl", "ld-musl"};
    const char *slash = strrchr(path, '/');
    return BEGINS_WITH_ANY(slash ? slash + 1 : path, names);
}

/* Whether variables tell the dynamic linker of TID to load more libraries. If not known: yes. */
static bool loads_more(pid_t tid) {
    static const char *const names[] = {"LD_PRELOAD=", "LD_AUDIT="};
    AUTO_FREE char *path = mem_printf("/proc/%d/environ", tid);
    FILE *f = fopen(path, "re");
    AUTO_FREE char *entry = NULL;
    size_t room = 0;
    bool any = !f || access("/etc/ld.so.preload", F_OK) == 0;
    while (!any && getdelim(&entry, &room, 0, f) > 0)
        any = BEGINS_WITH_ANY(entry, names);
    if (f)
        fclose(f);
    return any;
}

static bool needs_only_system_libraries(const struct module *program) {
    static const char *const names[] = {"libc.so",  "libm.so",    "libpthread.so", "libdl.so",
                                        "librt.so", "libutil.so", "libgcc_s.so",   "libstdc++.so",
                                        "ld-linux", "libc.musl",  "ld-musl"};
    size_t count;
    AUTO_FREE const char **needed = module_needed(program, &count);
    bool all = true;
    for (size_t i = 0; i < count; i++)
        all &= BEGINS_WITH_ANY(needed[i], names);
    return all;
}

static bool may_ask(const struct module *program) {
    static const char *const names[] = {"mprotect", "pkey_mprotect", "dlopen",
                                        "dlmopen",  "dlsym",         "dlvsym"};
    size_t count;
    AUTO_FREE const char **undefined = module_undefined(program, &count);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            if (strcmp(undefined[i], names[k]) == 0)
                return true;
    return false;
}

bool guard_is_useful(const struct module *program, pid_t tid) {
    return may_ask(program) || !needs_only_system_libraries(program) || loads_more(tid);
}

static vaddr_t site_of(const struct traced_module *m, const char *name) {
    const struct symbol *s = module_symbol_named(m->module, name);
    uint32_t f = s ? plan_function_at(m->plan, s->addr) : UINT32_MAX;
    if (f == UINT32_MAX || plan_function(m->plan, f)->addr != s->addr)
        return 0;
    enum tier tier = plan_function(m->plan, f)->entry;
    return tier != TIER_NONE && tier != TIER_TRAP ? s->addr : 0;
}

bool guard_sites(const struct traced_module *m, vaddr_t ret[PLAN_GUARDS]) {
    static const char *const names[PLAN_GUARDS] = {"mprotect", "pkey_mprotect"};
    bool any = false;
    for (int i = 0; i < PLAN_GUARDS; i++) {
        ret[i] = m->plan ? site_of(m, names[i]) : 0;
        any |= ret[i];
    }
    return any;
}

/* ---- ranges ---- */

typedef ARRAY(struct span) span_array;

/* The text of P that the program must not change unseen. Where only a hook or guard is patched,
 * these pages. */
static struct span range_of(const struct patched *p) {
    const struct module *m = p->traced_module->module;
    const struct plan_code *c = &p->code->emitted;
    struct span range = {m->text_low, m->text_high};
    if (!p->traced)
        range =
            (struct span){c->patches[0].at, c->patches[c->patch_count - 1].at + PATCH_MAX_BYTES};
    return (struct span){page_down(range.start + p->bias), page_up(range.end + p->bias)};
}

/* Adds RANGE to RANGES, which are ascending and disjoint. */
static void add_range(span_array *ranges, struct span range) {
    size_t kept = 0, before = 0;
    for (size_t i = 0; i < ranges->count; i++) {
        struct span s = ranges->at[i];
        if (s.start <= range.end && range.start <= s.end) {
            range.start = s.start < range.start ? s.start : range.start;
            range.end = s.end > range.end ? s.end : range.end;
            continue;
        }
        before += s.start < range.start;
        ranges->at[kept++] = s;
    }
    ranges->count = kept;
    ARRAY_PUSH(ranges, range);
    memmove(ranges->at + before + 1, ranges->at + before, (kept - before) * sizeof *ranges->at);
    ranges->at[before] = range;
}

/* Joins the two ranges that are nearest to each other. Calls for memory between them wait, too. */
static void join_nearest(span_array *ranges) {
    size_t best = 1;
    for (size_t i = 2; i < ranges->count; i++)
        if (ranges->at[i].start - ranges->at[i - 1].end <
            ranges->at[best].start - ranges->at[best - 1].end)
            best = i;
    ranges->at[best - 1].end = ranges->at[best].end;
    memmove(ranges->at + best, ranges->at + best + 1,
            (--ranges->count - best) * sizeof *ranges->at);
}

static bool has_patches(const struct patched *p) {
    return p->code && p->traced_module && p->code->emitted.patch_count;
}

void guard_set_ranges(const struct space *s) {
    struct guarded table = {0};
    span_array ranges = {0};
    for (size_t i = 0; i < s->modules.count; i++)
        if (has_patches(&s->modules.at[i]))
            add_range(&ranges, range_of(&s->modules.at[i]));
    while (ranges.count > GUARDED_MOST)
        join_nearest(&ranges);
    for (size_t i = 0; i < ranges.count; i++) {
        table.ranges[i][0] = (uintptr_t)ranges.at[i].start;
        table.ranges[i][1] = (uintptr_t)ranges.at[i].end;
    }
    ARRAY_FREE(&ranges);
    for (size_t i = 0; i < s->modules.count; i++)
        if (s->modules.at[i].guards && s->modules.at[i].area)
            memory_write(s->remote.memory_fd, s->modules.at[i].area + agent_guarded(), &table,
                         sizeof table, NULL);
}

/* ---- threads ---- */

bool guard_waits(const struct space *s, pid_t tid, struct guard_call *ret) {
    struct settle_hooked hooked;
    uint64_t args[REGS_ARGUMENTS];
    if (!settle_find_hooked(s, tid, &hooked) || !(hooked.variant & STUB_GUARD))
        return false;
    regs_arguments(&hooked.regs, args);
    *ret =
        (struct guard_call){{page_down(args[0]), page_up(args[0] + args[1])}, args[2] & PROT_WRITE};
    return true;
}

void guard_pass(const struct space *s, pid_t tid) {
    struct regs regs;
    taddr_t behind = 0;
    if (thread_get_regs(tid, &regs) < 0)
        return;
    for (size_t i = 0; i < s->modules.count && !behind; i++)
        if (s->modules.at[i].guards)
            behind = settle_behind_hook(&s->modules.at[i], regs_pc(&regs));
    if (!behind)
        return;
    regs_set_pc(&regs, behind);
    thread_set_regs(tid, &regs);
}
