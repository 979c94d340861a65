/*
 * Emitted code of a recording, kept for the next process that maps the same module. Code depends on
 * the load address by little, if the area is as far from the module as before: then it is taken
 * over, and only words that hold addresses are corrected. Bounded: what was used least recently is
 * forgotten.
 */
#pragma once

#include "patch/patched.h"

struct code_cache;

struct code_cache *code_cache_new(void);
void code_cache_free(struct code_cache *cache);

/* REQUEST says what to emit for P; its area and what is taken are not set yet, or are overwritten.
 * If there is such code for an area that is free in TAKEN (ascending, COUNT): sets P's area, room
 * and code. CACHE may be NULL. */
struct taken {
    const struct span *spans;
    size_t count;
};
bool code_cache_take(struct code_cache *cache, const struct plan_request *request,
                     const struct taken *taken, struct patched *p);
/* P's code was just emitted for REQUEST. */
void code_cache_keep(struct code_cache *cache, const struct plan_request *request,
                     const struct patched *p);
