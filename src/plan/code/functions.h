/*
 * Stage 4: the functions of a module. They come from ranges of call-frame information. Outside of
 * these ranges they come from function symbols, and from the starts that stage 2 found.
 */
#pragma once

#include "plan/code/sleds.h"
#include "plan/code/states.h"

struct func { /* a range of call-frame information, or the code of a symbol outside of them */
    vaddr_t start, end;
    vaddr_t body;                     /* behind a landing instruction and a sled at `start` */
    const struct unwind_range *range; /* NULL: no call-frame information */
    const struct text *text;
    const char *name; /* NULL: no function symbol is at `start` */
    bool entry_depth; /* as far as known, the frame at `start` is that of a function's entry */
    bool plt;
    bool thunk;    /* its code is an indirect jump through a register */
    bool labelled; /* a symbol is at `start`, with a function's type or none */
    bool cold;     /* its name says that it is a part of another function */
    bool sized;    /* without call-frame information: a symbol's size gives its end */
    bool weak;     /* found only by jumps from other functions: may be a part of one of them */
};
enum { NO_FUNC = UINT32_MAX };
enum { DEPTH_UNKNOWN = INT32_MIN };

struct functions {
    const struct texts *texts;
    const struct states *states;
    const struct sleds *sleds;
    struct func *at; /* by address, disjoint */
    size_t count;
    uint32_t *first; /* by place / PLACE_STEP: index of the first function that ends behind it */
    vaddr_t no_cfi_low, no_cfi_high; /* range of those without call-frame information; 0, 0: none */
};

struct functions functions_find(const struct states *states, const struct sleds *sleds);
void functions_done(struct functions *functions);

/* The index of the function that holds ADDR; NO_FUNC: none. */
uint32_t func_at(const struct functions *functions, vaddr_t addr);
/* CFA minus stack pointer at ADDR in F, by its call-frame information. DEPTH_UNKNOWN: F has none,
 * or the CFA is computed from another register. */
int32_t func_cfi_depth(const struct texts *texts, const struct func *f, vaddr_t addr);

/* True if F is the bottom of a stack and has no symbol: it is a part of what jumps there. */
static inline bool func_is_outermost(const struct func *f) {
    return f->range && f->range->outermost && !f->labelled;
}
static inline bool func_is_start(const struct func *f, vaddr_t addr) {
    return addr == f->start || addr == f->body;
}
