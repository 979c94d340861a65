/* The file under test, shared by test_programs.c and trampolines.c. */
#pragma once

#include "oracle.h"
#include "plan/plan.h"

struct fixture {
    struct module *module;
    struct plan *plan;
    struct plan_code code;
    taddr_t bias, area;
    uint8_t *bytes; /* indexed by address − text_low */
    struct span *taken;
    size_t taken_count;
};

extern struct fixture fixture;

enum { EVEX = 0x62 }; /* Capstone 4 misreads some of AVX-512 */

void fail_at(const char *what, vaddr_t addr);
static inline vaddr_t trampoline_addr(uint32_t offset) {
    return fixture.area - fixture.bias + offset;
}

/* Checks that the trampoline of patch P, at OFFSET of the area, does the same as the patched
 * instructions, and records its events. */
void check_trampoline(const struct patch *p, uint32_t offset);

struct oracle_insn original_insn(vaddr_t addr);
size_t mark_at(uint32_t offset); /* the first mark at or behind OFFSET */
