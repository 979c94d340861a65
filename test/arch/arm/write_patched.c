/*
 * Plans a file of 32-bit Arm as any other, and writes what trampolines.c needs to run it patched:
 *
 *     lay_out MODULE AREA RESULT whole|traps|filtered|far LOW HIGH
 *
 * AREA is the address of the trampolines. FILTERED: only calls from between LOW and HIGH count.
 * TRAPS: only that tier is used. FAR: the plan assumes much data behind the file. A foreign backend
 * has no agent, so a table of lanes takes its place.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arm/arm.h"
#include "base/mem.h"
#include "patched_module.h"
#include "plan/emit/planned.h"
#include "wire/lane_lookup.h"

enum { AGENT_BYTES = LANES_BYTES + 64, RING_BYTES = 4096, MUCH_DATA = 64 << 20 };

static const uint8_t agent[AGENT_BYTES];
static const size_t agent_size = AGENT_BYTES;
static struct arch a32, t32;
static FILE *out;

static void put(const void *bytes, size_t size) {
    if (fwrite(bytes, 1, size, out) != size)
        abort();
}

static void put_piece(uint64_t at, const uint8_t *bytes, size_t size) {
    const struct laid_piece piece = {(uint32_t)at, (uint32_t)size};
    put(&piece, sizeof piece);
    put(bytes, size);
}

/* Foreign backends have no agent. */
static void give_agent(struct plan *plan) {
    a32 = arch_a32;
    t32 = arch_t32;
    a32.agent = t32.agent = agent;
    a32.agent_size = t32.agent_size = &agent_size;
    a32.agent_code = t32.agent_code = LANES_BYTES;
    a32.other = &t32;
    t32.other = &a32;
    plan->arch = plan->arch == &arch_a32 ? &a32 : &t32;
    plan->area_size += AGENT_BYTES;
}

static uint32_t trampoline_of(const struct plan_code *code, vaddr_t at, uint64_t area) {
    for (size_t i = 0; i < code->trap_count; i++)
        if (code->traps[i].at == at)
            return (uint32_t)area + code->traps[i].trampoline;
    return 0;
}

static void write_patches(const struct plan_code *code, uint64_t area) {
    for (size_t i = 0; i < code->patch_count; i++) {
        const struct patch *p = &code->patches[i];
        struct laid_patch patch = {.at = (uint32_t)p->at, .size = p->size};
        patch.trampoline = trampoline_of(code, p->at, area);
        memcpy(patch.before, p->before, sizeof p->before);
        memcpy(patch.after, p->after, sizeof p->after);
        put(&patch, sizeof patch);
    }
}

static bool has_bit(const uint8_t *bitmap, size_t i) { return bitmap[i / 8] >> (i % 8) & 1; }

static void write_functions(const struct plan *plan, const struct plan_code *code) {
    for (size_t i = 0; i < plan_function_count(plan); i++) {
        const struct plan_function *f = plan_function(plan, i);
        struct laid_function function = {.size = (uint32_t)f->size,
                                         .traced =
                                             f->entry != TIER_NONE && !has_bit(code->missed, i),
                                         .exact = f->exact && !has_bit(code->inexact, i)};
        function.at = (uint32_t)f->addr | (plan_arch_at(plan, f->addr) == &t32);
        (void)snprintf(function.name, sizeof function.name, "%s", f->name ? f->name : "?");
        put(&function, sizeof function);
    }
}

static void write_marks(const struct plan_code *code, uint64_t area) {
    for (size_t i = 0; i < code->mark_count; i++) {
        const struct mark *m = &code->marks[i];
        const bool stub = m->kind == MARK_STUB;
        struct laid_mark mark = {.at = (uint32_t)(area + m->offset),
                                 .orig = m->kind == MARK_NONE ? 0 : (uint32_t)m->orig,
                                 .it = m->it,
                                 .pushed = stub ? 0 : m->pushed,
                                 .t32 = m->other,
                                 .at_start = m->at_start};
        put(&mark, sizeof mark);
    }
}

static void write_all(const struct plan *plan, const struct plan_code *code, uint64_t area) {
    const struct module *m = plan->module;
    struct laid_out head = {1, (uint32_t)code->patch_count, (uint32_t)plan_function_count(plan),
                            (uint32_t)code->mark_count};
    for (size_t i = 0; i < m->section_count; i++)
        head.pieces += m->sections[i].bytes != NULL;
    put(&head, sizeof head);
    for (size_t i = 0; i < m->section_count; i++)
        if (m->sections[i].bytes)
            put_piece(m->sections[i].start, m->sections[i].bytes, m->sections[i].size);
    put_piece(area, code->area, code->area_used);
    write_patches(code, area);
    write_functions(plan, code);
    write_marks(code, area);
}

static void lay_out(struct module *module, char **args) {
    struct plan *plan;
    struct plan_code code;
    const bool traps = !strcmp(args[3], "traps");
    module->high += strcmp(args[3], "far") ? 0 : MUCH_DATA;
    if (plan_new_with_tier(module, traps ? TIER_TRAP : TIER_NONE, &plan, NULL))
        abort();
    const size_t bytes = plan_function_count(plan) / 8 + 1;
    AUTO_FREE uint8_t *all = mem_alloc(bytes);
    memset(all, 0xff, bytes);
    give_agent(plan);
    if (traps)
        plan_permit_traps(plan, all);
    struct plan_request request = {.area = strtoul(args[1], NULL, 0),
                                   .area_size = plan_area_size(plan),
                                   .ring_bytes = RING_BYTES,
                                   .controls = true,
                                   .filtered = !strcmp(args[3], "filtered") ? all : NULL,
                                   .caller = {strtoul(args[4], NULL, 0), strtoul(args[5], NULL, 0)},
                                   .overflow = OVERFLOW_WAIT};
    if (plan_emit(plan, &request, &code, NULL))
        abort();
    write_all(plan, &code, request.area);
    plan_code_done(&code);
    plan_free(plan);
}

int main(int argc, char **argv) {
    struct module *module;
    if (argc != 7 || module_load(argv[1], 0, &module, NULL) || !(out = fopen(argv[3], "wb"))) {
        (void)fprintf(stderr, "lay_out MODULE AREA RESULT whole|traps|filtered|far LOW HIGH\n");
        return 1;
    }
    lay_out(module, argv + 1);
    module_free(module);
    return fclose(out) != 0;
}
