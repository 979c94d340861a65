/*
 * Follows control from a patch through the bytes that will be there: Capstone reads them, with
 * patches and islands laid over the module.
 */
#pragma once

#include "oracle.h"
#include "plan/plan.h"

struct scene {
    const struct module *module;
    const struct plan_code *code;
    taddr_t bias, area;
};

struct route {
    vaddr_t way;     /* the jump on the way, in a hole or on an island; 0: none */
    uint32_t offset; /* where in the trampoline area it ends */
};

/* From the patch at AT on. Returns false when it does not lead into the area. */
bool route_follow(const struct scene *s, vaddr_t at, struct route *ret);
/* The instruction that will stand at AT, in the module or on an island. */
bool route_insn(const struct scene *s, vaddr_t at, struct oracle_insn *ret);
/* The patch that writes the byte at AT; NULL if none does. */
const struct patch *route_patch(const struct plan_code *code, vaddr_t at);
/* Do the BYTES at AT lie in padding that only a return or jump stands before? START: an instruction
 * before. Judged by the original code. */
bool route_is_dead(const struct module *m, vaddr_t start, vaddr_t at, unsigned bytes);
/* The window whose instructions were moved and whose own jump leaves the BYTES at AT; NULL if none.
 */
const struct patch *route_spare(const struct plan_code *code, vaddr_t at, unsigned bytes);
/* Is island number I a page of its own, behind the one before, off the module and off SPANS? */
bool route_is_clear(const struct scene *s, size_t i, const struct span *spans, size_t count);
