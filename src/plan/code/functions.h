/*
 * Stage 4: the functions of a module. They come from the ranges of call-frame information, and
 * outside of these from function symbols and from what states_find() knows to begin functions.
 */
#pragma once

#include "plan/code/sleds.h"
#include "plan/code/states.h"

struct func { /* a range of call-frame information, or the code of a symbol outside of them */
    vaddr_t start, end;
    vaddr_t body;                     /* start, behind a landing instruction and a sled */
    const struct unwind_range *range; /* NULL: it has no call-frame information */
    const struct text *text;
    const char *name; /* NULL when no function symbol stands at start */
    bool entry_depth; /* the frame at start is that of a function's entry, for all that is known */
    bool plt;
    bool thunk; /* stands for an indirect jump through a register */
    bool cold;  /* named as a part of another function */
    bool sized; /* without call-frame information: a symbol's size tells where it ends */
    bool weak;  /* known by jumps from other functions only: may be a part of one */
};
enum { NO_FUNC = UINT32_MAX };
enum { DEPTH_UNKNOWN = INT32_MIN };

struct functions {
    const struct texts *texts;
    const struct states *states;
    const struct sleds *sleds;
    struct func *at; /* by address, disjoint */
    size_t count;
    uint32_t *first; /* by place / PLACE_STEP: the first function that does not end before */
    vaddr_t no_cfi_low, no_cfi_high; /* where those without call-frame information stand; both 0:
                                        there are none */
};

struct functions functions_find(const struct states *states, const struct sleds *sleds);
void functions_done(struct functions *functions);

/* The number of the function at ADDR; NO_FUNC: there is none. */
uint32_t func_at(const struct functions *functions, vaddr_t addr);
/* CFA minus stack pointer at ADDR in F, as its call-frame information tells. DEPTH_UNKNOWN: it has
 * none, or computes the CFA from another register. */
int32_t func_cfi_depth(const struct texts *texts, const struct func *f, vaddr_t addr);

static inline bool func_is_start(const struct func *f, vaddr_t addr) {
    return addr == f->start || addr == f->body;
}
