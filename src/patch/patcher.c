#include "patch/patcher.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "arch/arch.h"
#include "base/page.h"
#include "base/search.h"
#include "patch/annex.h"
#include "patch/area.h"
#include "patch/arrival.h"
#include "patch/keys.h"
#include "patch/limits.h"
#include "patch/rewrite.h"
#include "patch/undolog.h"
#include "target/cpu.h"
#include "target/maps.h"
#include "target/memory.h"

/* Maps memory for our code exactly at [START, START + SIZE). */
static int map_code(const struct patched *p, const struct patch_request *r, taddr_t start,
                    size_t size, struct err *err) {
    struct remote_call call = {REGS_CALL_MMAP,
                               {start, size, PROT_READ | PROT_EXEC,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, ~0ul, 0}};
    int64_t at;
    int rc = limits_raise(r->space, r->caller, size, err);
    if (rc == 0)
        rc = thread_call(r->caller, &r->space->remote, &call, &at, err);
    return rc == 0 && (taddr_t)at != start ? area_no_room(p, ENOMEM, err) : rc;
}

/* Maps P's area, and puts the log there, by which all that follows can be undone. */
static int map_area(struct patched *p, const struct patch_request *r, struct err *err) {
    int rc = undolog_announce(r->space, p, err);
    if (rc == 0)
        rc = map_code(p, r, p->area, p->area_size, err);
    if (rc < 0) {
        undolog_end(r->space, NULL);
        return rc;
    }
    rc = undolog_link(r->space, p, err);
    if (rc < 0)
        space_unmap(r->space, r->caller, p->area, p->area_size, NULL);
    return rc;
}

/* How many of the islands from FIRST on lie side by side. */
static size_t island_run(const struct plan_code *c, size_t first) {
    size_t end = first + 1;
    while (end < c->island_count && c->islands[end].at == c->islands[end - 1].at + ISLAND_BYTES)
        end++;
    return end - first;
}

int patcher_unmap(struct patched *p, const struct space *s, pid_t caller, struct err *err) {
    if (!p->area)
        return 0;
    int rc = p->log ? undolog_unlink(s, p, err) : 0;
    for (size_t i = 0; i < p->islands && rc == 0;) {
        const struct plan_code *c = &p->code->emitted;
        size_t run = island_run(c, i);
        rc = space_unmap(s, caller, c->islands[i].at, run * ISLAND_BYTES, err);
        i += run;
    }
    if (rc == 0)
        rc = space_unmap(s, caller, p->area, p->area_size, err);
    p->area = 0;
    p->islands = 0;
    return rc < 0 ? rc : undolog_end(s, err);
}

/* Maps COUNT islands from number FIRST on, which lie side by side, and fills them. */
static int map_run(struct patched *p, const struct patch_request *r, size_t first, size_t count,
                   struct err *err) {
    const struct island *islands = p->code->emitted.islands;
    int rc = map_code(p, r, islands[first].at, count * ISLAND_BYTES, err);
    if (rc < 0)
        return rc;
    p->islands = first + count;
    for (size_t i = first; i < first + count && rc == 0; i++)
        rc = memory_write(r->space->remote.memory_fd, islands[i].at, islands[i].bytes, ISLAND_BYTES,
                          err);
    return rc;
}

static int map_islands(struct patched *p, const struct patch_request *r, struct err *err) {
    const struct plan_code *c = &p->code->emitted;
    int rc = 0;
    for (size_t i = 0; i < c->island_count && rc == 0;) {
        size_t run = island_run(c, i);
        rc = map_run(p, r, i, run, err);
        i += run;
    }
    return rc;
}

enum { MOST_ISLANDS = 16384 }; /* of a process: a quarter of what vm.max_map_count usually is */

static size_t islands_left(const struct space *s) {
    size_t used = 0;
    for (size_t i = 0; i < s->modules.count; i++)
        used += s->modules.at[i].islands;
    for (size_t i = 0; i < s->prepared.count; i++)
        used += s->prepared.at[i].code->emitted.island_count;
    return used < MOST_ISLANDS ? MOST_ISLANDS - used : 0;
}

/* NONE: a selection of nothing. */
static struct plan_request request_of(const struct patched *p, const struct patch_request *r,
                                      const uint8_t *none) {
    const uint8_t *selected = p->first ? p->first->emitted.beyond : p->entry->choice.selected;
    return (struct plan_request){.bias = p->bias,
                                 .site_bytes = undolog_site_bytes(),
                                 .keep_calls = cpu_guards_returns(),
                                 .selected = r->selected ? selected : none,
                                 .filtered = r->selected ? p->entry->choice.filtered : NULL,
                                 .sliced = p->entry->sliced,
                                 .caller = r->from,
                                 .controls = r->controls,
                                 .without_traps = p->entry->without_traps,
                                 .first_id = p->entry->first_id,
                                 .ring_bytes = r->ring_bytes,
                                 .overflow = r->overflow,
                                 .hook = r->hook,
                                 .first = p->first ? &p->first->emitted : NULL};
}

static uint8_t *select_nothing(const struct patched *p) {
    return mem_alloc(plan_function_count(p->entry->plan) / 8 + 1);
}

static struct plan_need need_of(const struct patched *p, const struct patch_request *r) {
    AUTO_FREE uint8_t *none = select_nothing(p);
    const struct plan_request q = request_of(p, r, none);
    return plan_need(p->entry->plan, &q);
}

static int emit(struct patched *p, const struct patch_request *r, size_t most_islands,
                struct err *err) {
    AUTO_FREE uint8_t *none = select_nothing(p);
    struct plan_request q = request_of(p, r, none);
    q.area = p->area;
    q.area_size = p->room - undolog_bytes();
    q.most_islands = most_islands;
    AUTO_FREE struct span *taken =
        maps_taken(r->maps, status_break_start(r->caller), &q.taken_count);
    q.taken = taken;
    p->code = mem_alloc(sizeof *p->code);
    p->code->refs = 1;
    int rc = plan_emit(p->entry->plan, &q, &p->code->emitted, err);
    if (rc == 0)
        undolog_make(p);
    return rc;
}

static void code_unref(struct code *code) {
    if (!code || --code->refs)
        return;
    plan_code_done(&code->emitted);
    annex_forget(code);
    free(code->undo.bytes);
    free(code);
}

static void forget_code(struct patched *p) {
    code_unref(p->code);
    p->code = NULL;
    free(p->spared);
    p->spared = NULL;
}

static void note_islands(const struct patched *p, const struct patch_request *r) {
    const struct plan_code *c = &p->code->emitted;
    for (size_t i = 0; i < c->island_count;) {
        size_t run = island_run(c, i);
        maps_add(r->maps, c->islands[i].at, c->islands[i].at + run * ISLAND_BYTES);
        i += run;
    }
}

int patcher_prepare(struct patched *p, const struct patch_request *r, struct err *err) {
    int rc = area_choose(p, r, need_of(p, r), err);
    if (rc == 0)
        rc = emit(p, r, islands_left(r->space), err);
    if (rc < 0) {
        patcher_forget(p);
        p->area = 0;
        return rc;
    }
    note_islands(p, r);
    return 0;
}

/* Without islands, where they cannot be mapped, a few functions stay untraced. */
static int map_or_renounce_islands(struct patched *p, const struct patch_request *r,
                                   struct err *err) {
    taddr_t area = p->area;
    int rc = map_area(p, r, err);
    if (rc < 0 || map_islands(p, r, err) == 0)
        return rc;
    rc = patcher_unmap(p, r->space, r->caller, err);
    forget_code(p);
    p->area = area;
    if (rc < 0)
        return rc;
    rc = emit(p, r, 0, err);
    return rc < 0 ? rc : map_area(p, r, err);
}

/* Threads may be in the trampolines by now: so what cannot be written leaves those where they are.
 */
static int write_text(struct patched *p, const struct space *space, struct err *err) {
    int fd = space->remote.memory_fd;
    int rc = p->checked ? 0 : rewrite_check(p, fd, err);
    p->checked = false;
    if (rc < 0)
        return rc;
    if (space->arrival)
        arrival_settle(space->arrival, fd, p);
    rc = rewrite_patch(p, fd, err);
    if (rc < 0) {
        rewrite_restore(p, fd, NULL, NULL);
        p->stuck = space->arrival != NULL;
    }
    return rc;
}

/* What threads find their lanes by begins the area, and is no part of the code. */
static int fill(struct patched *p, const struct space *space, struct err *err) {
    const struct plan_code *c = &p->code->emitted;
    if (p->filled)
        return 0;
    int rc = memory_write(space->remote.memory_fd, p->area, c->area, c->area_used, err);
    if (rc == 0)
        rc = keys_install(space, p->area, err);
    p->filled = rc == 0;
    return rc;
}

int patcher_map(struct patched *p, struct space *space, pid_t caller, struct err *err) {
    const struct patch_request r = {.space = space, .caller = caller};
    int rc = map_area(p, &r, err);
    if (rc < 0)
        p->area = 0;
    else if ((rc = map_islands(p, &r, err)) < 0)
        patcher_unmap(p, space, caller, NULL);
    if (rc < 0)
        patcher_forget(p);
    return rc;
}

void patcher_fill(struct patched *p, const struct space *space) {
    if (p->code && fill(p, space, NULL) == 0 && p->checked)
        rewrite_touch(p, space->remote.memory_fd, NULL);
}

int patcher_install(struct patched *p, const struct patch_request *r, struct err *err) {
    int rc = map_or_renounce_islands(p, r, err);
    if (rc < 0) {
        p->area = 0;
        patcher_forget(p);
        return rc;
    }
    rc = fill(p, r->space, err);
    if (rc == 0)
        rc = write_text(p, r->space, err);
    if (rc < 0 && !p->stuck) {
        patcher_unmap(p, r->space, r->caller, NULL);
        patcher_forget(p);
    }
    return rc;
}

void patcher_look_ahead(struct patched *p, int fd) { p->checked = rewrite_check(p, fd, NULL) == 0; }

int patcher_apply(struct patched *p, const struct patch_request *r, struct err *err) {
    int rc = patcher_prepare(p, r, err);
    return rc < 0 ? rc : patcher_install(p, r, err);
}

int patcher_undo(struct patched *p, int fd, struct pages *pages, struct err *err) {
    return p->code ? rewrite_restore(p, fd, pages, err) : 0;
}

int patcher_redo(struct patched *p, const struct space *space, struct err *err) {
    free(p->spared);
    p->spared = NULL;
    int rc = fill(p, space, err);
    return rc < 0 ? rc : write_text(p, space, err);
}

taddr_t patcher_way_back(const struct patched *p, taddr_t addr) {
    const struct plan_code *c = &p->code->emitted;
    vaddr_t at = addr - p->bias;
    size_t i = SEARCH(k, c->way_count, c->ways[k].at < at);
    return i < c->way_count && c->ways[i].at == at ? c->ways[i].site + p->bias : 0;
}

size_t patcher_patch_at(const struct plan_code *c, vaddr_t at) {
    return SEARCH(i, c->patch_count, c->patches[i].at < at);
}

void patcher_leave_way(struct patched *p, taddr_t addr) {
    struct plan_code *c = &p->code->emitted;
    size_t i = patcher_patch_at(c, addr - p->bias);
    if (i == c->patch_count || c->patches[i].at != addr - p->bias)
        return;
    memmove(&c->patches[i], &c->patches[i + 1], (--c->patch_count - i) * sizeof *c->patches);
}

/* As withdraw(), of what was not written yet. */
static void spare(struct patched *p, size_t i) {
    const struct plan_code *c = &p->code->emitted;
    const struct patch *patches = c->patches, *q = &patches[i];
    if (patched_spares(p, i))
        return;
    p->spared[i / 8] |= (uint8_t)(1 << i % 8);
    for (size_t j = i + 1; j < c->patch_count && patches[j].at < q->at + q->window; j++) {
        taddr_t hop = patcher_way_back(p, patches[j].at + p->bias);
        if (hop)
            spare(p, patcher_patch_at(c, hop - p->bias));
        spare(p, j);
    }
    for (size_t j = i; j-- > 0 && patches[j].at + PUN_MAX_BYTES > q->at;)
        if (patches[j].at + patches[j].reads > q->at)
            spare(p, j);
}

void patcher_spare(struct patched *p, taddr_t addr) {
    const struct plan_code *c = &p->code->emitted;
    vaddr_t at = addr - p->bias;
    p->spared = p->spared ? p->spared : mem_alloc(c->patch_count / 8 + 1);
    for (size_t i = 0; i < c->patch_count; i++)
        if (at - c->patches[i].at < c->patches[i].window)
            spare(p, i);
}

int patcher_withdraw(struct patched *p, int fd, taddr_t addr, struct err *err) {
    vaddr_t at = addr - p->bias;
    for (size_t i = 0; p->code && i < p->code->emitted.patch_count; i++) {
        const struct patch *q = &p->code->emitted.patches[i];
        if (at - q->at < q->window)
            return rewrite_withdraw(p, fd, i, err);
    }
    return 0;
}

static int compare_trap(const void *key, const void *item) {
    vaddr_t at = *(const vaddr_t *)key, there = ((const struct trap *)item)->at;
    return (at > there) - (at < there);
}

const struct trap *patcher_trap_at(const struct patched *p, taddr_t addr) {
    const struct plan_code *c = &p->code->emitted;
    vaddr_t at = addr - p->bias;
    return c->trap_count ? bsearch(&at, c->traps, c->trap_count, sizeof *c->traps, compare_trap)
                         : NULL;
}

bool patcher_trap_stands(const struct patched *p, int fd, const struct trap *trap) {
    const struct patch *q =
        &p->code->emitted.patches[patcher_patch_at(&p->code->emitted, trap->at)];
    uint8_t bytes[sizeof q->after];
    return memory_read(fd, trap->at + p->bias, bytes, q->size, NULL) == 0 &&
           memcmp(bytes, q->after, q->size) == 0;
}

size_t patcher_standing_traps(const struct patched *p, int fd) {
    size_t count = 0;
    for (size_t i = 0; p->code && i < p->code->emitted.trap_count; i++)
        count += patcher_trap_stands(p, fd, &p->code->emitted.traps[i]);
    return count;
}

bool patcher_stands(const struct patched *p, int fd, bool patched) {
    uint8_t bytes[sizeof((struct patch *)0)->after];
    const struct patch *first = p->code ? p->code->emitted.patches : NULL;
    const struct patch *end = first ? first + p->code->emitted.patch_count : NULL;
    while (first < end &&
           (first->yields || patched_spares(p, (size_t)(first - p->code->emitted.patches))))
        first++;
    return first < end && memory_read(fd, first->at + p->bias, bytes, first->size, NULL) == 0 &&
           memcmp(bytes, patched ? first->after : first->before, first->size) == 0;
}

struct patched patcher_copy(const struct patched *p) {
    struct patched copy = *p;
    if (copy.first)
        copy.first->refs++;
    if (!copy.code)
        return copy;
    copy.code->refs++;
    if (copy.spared) {
        size_t size = copy.code->emitted.patch_count / 8 + 1;
        copy.spared = mem_alloc(size);
        memcpy(copy.spared, p->spared, size);
    }
    return copy;
}

void patcher_forget(struct patched *p) {
    forget_code(p);
    code_unref(p->first);
    p->first = NULL;
}

vaddr_t patcher_loader_hook(const struct entry *loader) {
    const struct symbol *s = module_symbol_named(loader->module, "_dl_debug_state");
    for (size_t i = 0; s && i < plan_function_count(loader->plan); i++) {
        const struct plan_function *f = plan_function(loader->plan, i);
        if (f->addr == s->addr && f->entry != TIER_NONE && f->entry != TIER_TRAP)
            return s->addr;
    }
    return 0;
}

bool patcher_breaks(const struct patched *p, taddr_t addr) {
    enum { LONGEST_WINDOW = 255 };
    const struct plan_code *c = &p->code->emitted;
    vaddr_t at = addr - p->bias;
    for (size_t i = patcher_patch_at(c, at); i-- > 0 && at - c->patches[i].at <= LONGEST_WINDOW;)
        if (at - c->patches[i].at < c->patches[i].window)
            return true;
    return false;
}

taddr_t patcher_copy_of(const struct patched *p, taddr_t addr) {
    const struct plan_code *c = &p->code->emitted;
    for (size_t i = 0; i < c->mark_count; i++) {
        const struct mark *m = &c->marks[i];
        if (m->orig == addr - p->bias && !m->it &&
            (m->kind == MARK_STUB || (m->kind == MARK_INSN && !m->pushed)))
            return p->area + m->offset;
    }
    return 0;
}

const struct mark *patcher_mark_at(const struct patched *p, uint64_t offset) {
    const struct plan_code *c = &p->code->emitted;
    size_t end = SEARCH(i, c->mark_count, c->marks[i].offset <= offset);
    return end && c->marks[end - 1].kind != MARK_NONE ? &c->marks[end - 1] : NULL;
}
