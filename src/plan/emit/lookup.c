/* Finds the function at an address, and if a thread there is before the entry or past an exit. */
#include "base/search.h"
#include "plan/emit/planned.h"

/* The number of elements of ARRAY, sorted by MEMBER, that begin at ADDR or before it. */
#define COUNT_UP_TO(addr, array, member) SEARCH(i_, (array).count, (array).at[i_].member <= (addr))

/* The text is divided into blocks, so that a search begins near its result. */
enum { BLOCK_BYTES = 1024, MOST_BLOCKS = 1 << 21 };

void lookup_build(struct plan *plan) {
    const struct module *m = plan->module;
    const size_t count = (size_t)((m->text_high - m->text_low) / BLOCK_BYTES) + 2;
    size_t functions = 0, parts = 0;
    for (size_t i = 0; i < count && count <= MOST_BLOCKS; i++) {
        vaddr_t start = m->text_low + i * BLOCK_BYTES;
        while (functions < plan->functions.count && plan->functions.at[functions].addr <= start)
            functions++;
        while (parts < plan->parts.count && plan->parts.at[parts].start <= start)
            parts++;
        ARRAY_PUSH(&plan->blocks, ((struct block){(uint32_t)functions, (uint32_t)parts}));
    }
}

/* The block of ADDR, which the next one follows; NULL: ADDR is not in the text. */
static const struct block *block_at(const struct plan *plan, vaddr_t addr) {
    uint64_t i = (addr - plan->module->text_low) / BLOCK_BYTES;
    return addr >= plan->module->text_low && i + 1 < plan->blocks.count ? &plan->blocks.at[i]
                                                                        : NULL;
}

static size_t functions_up_to(const struct plan *plan, const struct block *b, vaddr_t addr) {
    if (!b)
        return COUNT_UP_TO(addr, plan->functions, addr);
    const struct plan_function *f = plan->functions.at + b->functions;
    return b->functions + SEARCH(i, b[1].functions - b->functions, f[i].addr <= addr);
}

static size_t parts_up_to(const struct plan *plan, const struct block *b, vaddr_t addr) {
    if (!b)
        return COUNT_UP_TO(addr, plan->parts, start);
    const struct part *p = plan->parts.at + b->parts;
    return b->parts + SEARCH(i, b[1].parts - b->parts, p[i].start <= addr);
}

uint32_t plan_function_at(const struct plan *plan, vaddr_t addr) {
    const struct block *block = block_at(plan, addr);
    size_t n = parts_up_to(plan, block, addr);
    if (n && addr < plan->parts.at[n - 1].end)
        return plan->parts.at[n - 1].function;
    n = functions_up_to(plan, block, addr);
    if (!n || addr - plan->functions.at[n - 1].addr >= plan->functions.at[n - 1].size)
        return UINT32_MAX;
    return (uint32_t)(n - 1);
}

uint32_t plan_group(const struct plan *plan, uint32_t function) {
    return plan->groups.at[function];
}

bool plan_has_sleds(const struct plan *plan) { return plan->sleds.count; }

bool plan_is_in_sled(const struct plan *plan, vaddr_t addr) {
    size_t n = COUNT_UP_TO(addr, plan->sleds, start);
    return n && addr < plan->sleds.at[n - 1].end;
}

bool plan_part(const struct plan *plan, size_t number, struct span *ret) {
    if (number >= plan->parts.count)
        return false;
    *ret = (struct span){plan->parts.at[number].start, plan->parts.at[number].end};
    return true;
}

/* The patch is at the entry, or behind an instruction there that must stay. */
bool plan_is_before_entry(const struct plan *plan, uint32_t function, vaddr_t addr) {
    const struct plan_function *f = &plan->functions.at[function];
    for (size_t i = f->addr ? COUNT_UP_TO(f->addr - 1, plan->sites, start) : 0;
         i < plan->sites.count && plan->sites.at[i].start < f->addr + f->size; i++) {
        const struct site *s = &plan->sites.at[i];
        if (s->entry && s->function == function)
            return addr >= f->addr && addr <= s->start;
    }
    return addr == f->addr;
}

/* An exit without its own window is made by windows on the paths to it, or inferred. */
bool plan_is_past_exit(const struct plan *plan, vaddr_t addr) {
    size_t n = COUNT_UP_TO(addr, plan->exits, at);
    if (!n || plan->exits.at[n - 1].at != addr || plan->exits.at[n - 1].open)
        return false;
    size_t s = COUNT_UP_TO(addr, plan->sites, start);
    return !s || addr >= plan->sites.at[s - 1].end;
}
