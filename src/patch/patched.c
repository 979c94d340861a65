/* Lookups in the patches, ways, marks and traps of one mapped module. */
#include "patch/patched.h"

#include <string.h>

#include "arch/arch.h"
#include "base/search.h"
#include "patch/image_file.h"
#include "target/memory.h"

void patched_unref_code(struct code *code) {
    if (!code || --code->refs)
        return;
    image_file_close(code->image_fd);
    plan_code_done(&code->emitted);
    free(code->without_annex.missed);
    free(code->without_annex.inexact);
    ARRAY_FREE(&code->looked);
    free(code);
}

void patched_forget_code(struct patched *p) {
    patched_unref_code(p->code);
    free(p->undo.bytes);
    p->undo.bytes = NULL;
    p->code = NULL;
    patched_spare_none(p);
}

void patched_spare_none(struct patched *p) {
    free(p->spared);
    free(p->held);
    free(p->untraced);
    free(p->changed);
    p->spared = p->held = p->untraced = p->changed = NULL;
}

taddr_t patched_way_back(const struct patched *p, taddr_t addr) {
    const struct plan_code *c = &p->code->emitted;
    vaddr_t at = addr - p->bias;
    size_t i = SEARCH(k, c->way_count, c->ways[k].at < at);
    return i < c->way_count && c->ways[i].at == at ? c->ways[i].site + p->bias : 0;
}

size_t patched_island_run(const struct plan_code *c, size_t first) {
    size_t end = first + 1;
    while (end < c->island_count && c->islands[end].at == c->islands[end - 1].at + ISLAND_BYTES)
        end++;
    return end - first;
}

size_t patched_patch_at(const struct plan_code *c, vaddr_t at) {
    return SEARCH(i, c->patch_count, c->patches[i].at < at);
}

void patched_keep_way(struct patched *p, taddr_t addr) {
    struct plan_code *c = &p->code->emitted;
    size_t i = patched_patch_at(c, addr - p->bias);
    if (i == c->patch_count || c->patches[i].at != addr - p->bias)
        return;
    memmove(&c->patches[i], &c->patches[i + 1], (--c->patch_count - i) * sizeof *c->patches);
}

size_t patched_site_of(const struct patched *p, size_t i) {
    if (p->code->emitted.patches[i].window)
        return i; /* only a hole's patch has no window */
    taddr_t site = patched_way_back(p, p->code->emitted.patches[i].at + p->bias);
    return site ? patched_patch_at(&p->code->emitted, site - p->bias) : i;
}

/* As withdraw_patch(), for patches that are not written. */
void patched_spare_patch(struct patched *p, size_t i) {
    const struct plan_code *c = &p->code->emitted;
    const struct patch *patches = c->patches, *q = &patches[i];
    if (patched_is_spared(p, i))
        return;
    bitmap_set(p->spared, i);
    for (size_t j = i + 1; j < c->patch_count && patches[j].at < q->at + q->window; j++) {
        taddr_t hop = patched_way_back(p, patches[j].at + p->bias);
        if (hop)
            patched_spare_patch(p, patched_patch_at(c, hop - p->bias));
        patched_spare_patch(p, j);
    }
    for (size_t j = i; j-- > 0 && patches[j].at + PUN_MAX_BYTES > q->at;)
        if (patches[j].at + patches[j].reads > q->at)
            patched_spare_patch(p, j);
}

void patched_spare(struct patched *p, taddr_t addr) {
    const struct plan_code *c = &p->code->emitted;
    vaddr_t at = addr - p->bias;
    p->spared = p->spared ? p->spared : mem_alloc(bitmap_bytes(c->patch_count));
    for (size_t i = 0; i < c->patch_count; i++)
        if (at - c->patches[i].at < c->patches[i].window)
            patched_spare_patch(p, i);
}

const struct trap *patched_trap_at(const struct patched *p, taddr_t addr) {
    const struct plan_code *c = &p->code->emitted;
    vaddr_t at = addr - p->bias;
    size_t i = SEARCH(k, c->trap_count, c->traps[k].at < at);
    return i < c->trap_count && c->traps[i].at == at ? &c->traps[i] : NULL;
}

bool patched_trap_is_set(const struct patched *p, int fd, const struct trap *trap) {
    const struct patch *q =
        &p->code->emitted.patches[patched_patch_at(&p->code->emitted, trap->at)];
    uint8_t bytes[sizeof q->after];
    return memory_read(fd, trap->at + p->bias, bytes, q->size, NULL) == 0 &&
           memcmp(bytes, q->after, q->size) == 0;
}

size_t patched_count_traps(const struct patched *p, int fd) {
    size_t count = 0;
    for (size_t i = 0; p->code && i < p->code->emitted.trap_count; i++)
        count += patched_trap_is_set(p, fd, &p->code->emitted.traps[i]);
    return count;
}

bool patched_is_written(const struct patched *p, int fd, bool patched) {
    uint8_t bytes[sizeof((struct patch *)0)->after];
    const struct patch *first = p->code ? p->code->emitted.patches : NULL;
    const struct patch *end = first ? first + p->code->emitted.patch_count : NULL;
    while (first < end &&
           (first->yields || patched_is_spared(p, (size_t)(first - p->code->emitted.patches))))
        first++;
    return first < end && memory_read(fd, first->at + p->bias, bytes, first->size, NULL) == 0 &&
           memcmp(bytes, patched ? first->after : first->before, first->size) == 0;
}

bool patched_is_same(const struct patched *a, const struct patched *b) {
    return a->inode == b->inode && a->device == b->device && a->bias == b->bias;
}

size_t patched_function_bytes(const struct patched *p) {
    return plan_function_count(p->traced_module->plan) / 8 + 1;
}

static uint8_t *copy_bytes(const uint8_t *from, size_t size) {
    return from ? memcpy(mem_alloc(size), from, size) : NULL;
}

struct patched patched_copy(const struct patched *p) {
    struct patched copy = *p;
    copy.undo.bytes = NULL;
    if (copy.first)
        copy.first->refs++;
    if (!copy.code)
        return copy;
    copy.code->refs++;
    size_t patches = bitmap_bytes(copy.code->emitted.patch_count);
    copy.spared = copy_bytes(p->spared, patches);
    copy.held = copy_bytes(p->held, patches);
    if (p->untraced) {
        copy.untraced = copy_bytes(p->untraced, patched_function_bytes(p));
        copy.changed = copy_bytes(p->changed, patched_function_bytes(p));
    }
    return copy;
}

void patched_forget(struct patched *p) {
    patched_forget_code(p);
    patched_unref_code(p->first);
    p->first = NULL;
}

vaddr_t patched_loader_hook(const struct traced_module *loader) {
    const struct symbol *s = module_symbol_named(loader->module, "_dl_debug_state");
    for (size_t i = 0; s && i < plan_function_count(loader->plan); i++) {
        const struct plan_function *f = plan_function(loader->plan, i);
        if (f->addr == s->addr && f->entry != TIER_NONE && f->entry != TIER_TRAP)
            return s->addr;
    }
    return 0;
}

size_t patched_window_at(const struct patched *p, taddr_t addr) {
    enum { LONGEST_WINDOW = 255 };
    const struct plan_code *c = &p->code->emitted;
    vaddr_t at = addr - p->bias;
    for (size_t i = patched_patch_at(c, at); i-- > 0 && at - c->patches[i].at <= LONGEST_WINDOW;)
        if (at - c->patches[i].at < c->patches[i].window)
            return i;
    return c->patch_count;
}

bool patched_is_inside_window(const struct patched *p, taddr_t addr) {
    return patched_window_at(p, addr) < p->code->emitted.patch_count;
}

taddr_t patched_copy_of(const struct patched *p, taddr_t addr) {
    const struct plan_code *c = &p->code->emitted;
    for (size_t i = 0; i < c->mark_count; i++) {
        const struct mark *m = plan_code_mark(c, i);
        if (m->orig == addr - p->bias && !m->it &&
            (m->kind == MARK_STUB || (m->kind == MARK_INSN && !m->pushed)))
            return p->area + m->offset;
    }
    return 0;
}

const struct mark *patched_mark_at(const struct patched *p, uint64_t offset) {
    const struct plan_code *c = &p->code->emitted;
    size_t end = SEARCH(i, c->mark_count, plan_code_mark(c, i)->offset <= offset);
    const struct mark *m = end ? plan_code_mark(c, end - 1) : NULL;
    return m && m->kind != MARK_NONE ? m : NULL;
}
