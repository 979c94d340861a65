/* Reads the Go runtime's list of goroutines, their stacks, and return addresses on them. */
#include "tracer/goroutines.h"

#include <string.h>

#include "arch/arch.h"
#include "arch/host.h"
#include "patch/patcher.h"
#include "ring/lanes.h"
#include "target/memory.h"
#include "wire/ring.h"

enum {
    WORD = sizeof(regs_word_t),
    CHUNK = 8192,
    MOST_GOROUTINES = 1 << 24,
    HIGHEST_STACK = 1 << 30
};

/* The beginning of the runtime's record of a goroutine (runtime2.go, type g, since Go 1.5;
 * preemption by signals came with Go 1.14): words only. */
struct goroutine {
    regs_word_t low, high; /* its stack */
    regs_word_t guards[2], panic, defer;
    regs_word_t machine; /* the thread that runs it; 0: none, and SP is valid */
    regs_word_t sp;
};

struct slice {
    regs_word_t at, count, capacity;
};

/* Modules that may be patched now: prepared and unpatched ones. */
static size_t module_count(const struct space *space) {
    return space->prepared.count + space->modules.count;
}

static const struct patched *module_at(const struct space *space, size_t i) {
    return i < space->prepared.count ? &space->prepared.at[i]
                                     : &space->modules.at[i - space->prepared.count];
}

/* The range that holds all their windows. */
static struct span windows_of(const struct space *space) {
    struct span found = {UINT64_MAX, 0};
    for (size_t i = 0; i < module_count(space); i++) {
        const struct patched *p = module_at(space, i);
        const struct plan_code *c = p->code ? &p->code->emitted : NULL;
        if (!c || !c->patch_count)
            continue;
        taddr_t start = c->patches[0].at + p->bias;
        taddr_t end = p->traced_module->module->text_high + p->bias;
        found.start = start < found.start ? start : found.start;
        found.end = end > found.end ? end : found.end;
    }
    return found;
}

static bool makes_sense(const struct goroutine *g) {
    return g->low && g->low < g->high && g->high - g->low <= HIGHEST_STACK;
}

static taddr_t first_word_of(const struct goroutine *g) {
    bool waits = !g->machine && g->sp >= g->low && g->sp < g->high;
    return ((waits ? g->sp : g->low) + WORD - 1) & ~(taddr_t)(WORD - 1);
}

static bool is_inside_window(const struct space *space, taddr_t pc) {
    for (size_t i = 0; i < module_count(space); i++)
        if (module_at(space, i)->code && patched_is_inside_window(module_at(space, i), pc))
            return true;
    return false;
}

static void search_stack(const struct space *space, const struct goroutine *g, struct span windows,
                         struct thread_positions *ret) {
    regs_word_t words[CHUNK / WORD];
    for (taddr_t at = first_word_of(g), next; at + WORD <= g->high; at = next) {
        next = (at & ~(taddr_t)(CHUNK - 1)) + CHUNK;
        size_t size = (size_t)((next < g->high ? next : g->high) - at) & ~(size_t)(WORD - 1);
        if (memory_read(space->remote.memory_fd, at, words, size, NULL) < 0)
            continue;
        for (size_t i = 0; i < size / WORD; i++)
            if (words[i] > windows.start && words[i] < windows.end &&
                is_inside_window(space, words[i]))
                ARRAY_PUSH(&ret->pcs, words[i]);
    }
}

static void search_goroutines(const struct space *space, const struct slice *list,
                              struct span windows, struct thread_positions *ret) {
    int fd = space->remote.memory_fd;
    regs_word_t records[CHUNK / WORD];
    struct goroutine g;
    for (uint64_t i = 0; i < list->count; i += CHUNK / WORD) {
        uint64_t count = list->count - i < CHUNK / WORD ? list->count - i : CHUNK / WORD;
        if (memory_read(fd, list->at + i * WORD, records, count * WORD, NULL) < 0)
            return;
        for (uint64_t k = 0; k < count; k++)
            if (memory_read(fd, records[k], &g, sizeof g, NULL) == 0 && makes_sense(&g)) {
                ARRAY_PUSH(&ret->stacks, ((struct span){g.low, g.high}));
                search_stack(space, &g, windows, ret);
            }
    }
}

/* Searched here: an index of all names would take longer than the process may be stopped. */
static const struct symbol *list_symbol(const struct module *m) {
    for (size_t i = 0; i < m->symbol_count; i++)
        if (m->symbols[i].type == SYMBOL_OBJECT && strcmp(m->symbols[i].name, "runtime.allgs") == 0)
            return &m->symbols[i];
    return NULL;
}

static bool read_list(const struct space *space, const struct patched *p, struct slice *ret) {
    const struct symbol *all = p->code ? list_symbol(p->traced_module->module) : NULL;
    return all &&
           memory_read(space->remote.memory_fd, all->addr + p->bias, ret, sizeof *ret, NULL) == 0 &&
           ret->count <= ret->capacity && ret->count <= MOST_GOROUTINES;
}

/* P is a Go module whose symbols are stripped, so its list of goroutines is unknown. Its only known
 * functions are those that C code calls, and other exported ones; they have no call-frame
 * information, which Go keeps in the stripped sections. A goroutine may have stopped in the middle
 * of their windows, behind any instruction but the last. */
static void spare_all_windows(const struct patched *p, struct thread_positions *ret) {
    const struct plan_code *c = &p->code->emitted;
    const uint8_t least = arch_host()->insn_bytes;
    for (size_t i = 0; i < c->patch_count; i++)
        if (c->patches[i].window > least &&
            !module_range_at(p->traced_module->module, c->patches[i].at))
            ARRAY_PUSH(&ret->pcs, c->patches[i].at + least + p->bias);
}

void goroutines_find(const struct space *space, struct thread_positions *ret) {
    struct span windows = windows_of(space);
    struct slice list;
    for (size_t i = 0; i < module_count(space); i++) {
        const struct patched *p = module_at(space, i);
        bool listed = read_list(space, p, &list);
        if (listed && !p->first)
            search_goroutines(space, &list, windows, ret);
        else if (!listed && p->code && module_is_go(p->traced_module->module))
            spare_all_windows(p, ret);
        else if (!listed)
            continue;
        ret->as_prepared = true;
    }
}

/* ---- stacks ---- */

/* Whether there are patches between START and END, and all of them are written. */
static bool is_whole(const struct patched *p, vaddr_t start, vaddr_t end) {
    const struct plan_code *c = &p->code->emitted;
    size_t first = patched_patch_at(c, start), i = first;
    for (; i < c->patch_count && c->patches[i].at < end; i++)
        if (patched_is_spared(p, i))
            return false;
    return i > first;
}

/* Whether TELLER is patched in P or its annex. */
static bool is_patched(const struct space *space, const struct patched *p, struct span teller) {
    for (size_t i = 0; i < space->modules.count; i++) {
        const struct patched *q = &space->modules.at[i];
        if (q->traced_module == p->traced_module && q->bias == p->bias && q->code && q->traced &&
            is_whole(q, teller.start, teller.end))
            return true;
    }
    return false;
}

/* Whether events of P report what becomes of stacks from now on. */
static bool reports_stacks(const struct space *space, const struct patched *p) {
    struct span tellers[PLAN_STACK_FUNCTIONS];
    if (!p->code || !p->traced || !plan_stack_functions(p->traced_module->plan, tellers))
        return false;
    for (size_t i = 0; i < PLAN_STACK_FUNCTIONS; i++)
        if (!is_patched(space, p, tellers[i]))
            return false;
    return true;
}

static uint32_t site_of(enum stack_event event) { return (uint32_t)event << 2 | EVENT_CONTROL; }

void goroutines_write(const struct space *space, const struct thread_positions *positions,
                      struct lane_handle *handle, enum overflow overflow) {
    size_t most =
        handle->ring_bytes / EVENT_BYTES / 4; /* the ring is empty, and the writer must not wait */
    bool known = false;
    for (size_t i = 0; i < space->modules.count; i++)
        known = known || reports_stacks(space, &space->modules.at[i]);
    for (size_t i = 0; known && i < positions->stacks.count && i < most; i++) {
        lane_handle_put(handle, site_of(STACK_MADE_LOW), positions->stacks.at[i].start, overflow);
        lane_handle_put(handle, site_of(STACK_MADE_HIGH), positions->stacks.at[i].end, overflow);
    }
}
