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
    vaddr_t way;     /* the intermediate jump, in a hole or on an island; 0: none */
    uint32_t offset; /* the end of the route, an offset in the trampoline area */
};

/* Follows the patch at AT. Returns false if it does not lead into the area. */
bool route_follow(const struct scene *s, vaddr_t at, struct route *ret);
/* The patched instruction at AT, in the module or on an island. */
bool route_insn(const struct scene *s, vaddr_t at, struct oracle_insn *ret);
/* The patch that writes the byte at AT; NULL if none. */
const struct patch *route_patch(const struct plan_code *code, vaddr_t at);
/* Whether the BYTES at AT are in padding that follows a return or jump. START: an earlier
 * instruction. Judged by the original code. */
bool route_is_dead(const struct module *m, vaddr_t start, vaddr_t at, unsigned bytes);
/* The window whose moved instructions leave the BYTES at AT unused; NULL if none. */
const struct patch *route_spare(const struct plan_code *code, vaddr_t at, unsigned bytes);
/* Whether island I is a page of its own, behind the one before, outside the module and SPANS. */
bool route_is_clear(const struct scene *s, size_t i, const struct span *spans, size_t count);
/* Whether a pun could not be written. */
bool loses_puns(const struct plan_code *code);
