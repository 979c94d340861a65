/*
 * Stage 6: how deep the stack is at each instruction. Call-frame information tells it. Where there
 * is none the code itself is followed: see walk.c.
 */
#pragma once

#include "plan/code/code.h"

struct func_depth {
    uint32_t first_row, row_count; /* into depths.rows, if its code was followed */
    uint16_t inner; /* its callers' stack, when it may return for them; 0: it does not */
    bool cold;      /* it is a part of another function, by its name or as that jumps to it */
    bool falls;     /* its code runs into the next function */
    bool loose;     /* without call-frame information: nothing ties it to its place */
    bool unproven; /* likewise: its code does not tell how deep the stack is wherever that counts */
};

/* A return that loads the stack pointer (arch.return_loads_sp()), as the walk through its function
 * tells it; one in a part of several functions as each of them does. */
struct frame_return {
    vaddr_t addr;
    int16_t pops;   /* what it takes off the stack, in bytes; negative: that is not known */
    uint8_t behind; /* as in struct stub_spec */
};

struct inner_way { /* a call of an inner function, or a jump to one that has no calls */
    uint32_t from, to;
};

struct depths {
    const struct code *code;
    struct func_depth *by_func;
    bool *entry_depth;          /* by transfer: the frame there is as at its function's entry */
    ARRAY(struct cfa_row) rows; /* of functions whose code was followed */
    ARRAY(struct frame_return) frame_returns; /* in these; by address */
    ARRAY(struct inner_way) inner_ways;
    address_list labels; /* where indirect jumps of these may lead to; in no order */
};

struct depths depths_find(const struct code *code);
void depths_done(struct depths *depths);

/* CFA minus stack pointer at ADDR in F; DEPTH_UNKNOWN. */
int32_t func_depth(const struct depths *d, const struct func *f, vaddr_t addr);
/* The same as F's code tells it, if that was followed. */
int32_t func_code_depth(const struct depths *d, const struct func *f, vaddr_t addr);
/* Is the frame at ADDR in F as at F's entry? */
bool func_entry_depth(const struct depths *d, const struct func *f, vaddr_t addr);
/* A jump into another function: do both say the same depth there, counted from the frame that inner
 * functions return for? */
bool depths_agree(const struct depths *d, const struct transfer *t);
/* A branch to the first byte behind its own function, with a frame still up: the compiler knew that
 * it is never taken (the default of a switch that has none). */
bool transfer_is_idle(const struct depths *d, const struct transfer *t);

static inline struct func_depth *func_known(const struct depths *d, const struct func *f) {
    return &d->by_func[f - d->code->funcs];
}
/* Is F no function of its own? */
static inline bool func_is_part(const struct depths *d, const struct func *f) {
    return func_known(d, f)->cold || !f->entry_depth;
}
/* T is one of code.transfers. */
static inline bool transfer_at_entry(const struct depths *d, const struct transfer *t) {
    return d->entry_depth[t - d->code->transfers.at];
}
