/*
 * Stage 6: the stack depth at each instruction. Call-frame information gives it. Where there is
 * none, the walk through the code does (walk.c).
 */
#pragma once

#include "plan/code/code.h"

struct func_depth {
    uint32_t first_row, row_count; /* in depths.rows; 0 rows: its code was not followed */
    uint16_t inner; /* bytes of its callers' stack, if it may return for them; 0: never */
    bool cold;      /* part of another function, by its name or by a jump to it */
    bool falls;     /* its code runs into the next function */
    bool movable;   /* without call-frame information: no reference fixes its place (anchors.c) */
    bool unproven;  /* without call-frame information: a depth that matters is unknown */
};

/* A return that loads the stack pointer (arch.return_loads_sp()), as found by the walk. A return in
 * a part of several functions has an entry for each of them. */
struct frame_return {
    vaddr_t addr;
    int16_t pops;   /* bytes that it pops; negative: unknown */
    uint8_t behind; /* as in struct stub_spec */
};

/* A call of an inner function, or a jump to one that nothing calls (inner.c). */
struct inner_call {
    uint32_t from, to;
};

struct depths {
    const struct code *code;
    struct func_depth *by_func;
    bool *entry_depth;          /* by transfer: the frame there is as at its function's entry */
    ARRAY(struct cfa_row) rows; /* of all functions whose code was followed */
    ARRAY(struct frame_return) frame_returns; /* in these functions; by address */
    ARRAY(struct inner_call) inner_calls;
    address_list labels; /* possible targets of their indirect jumps; unsorted */
};

struct depths depths_find(const struct code *code);
void depths_done(struct depths *depths);

/* CFA minus stack pointer at ADDR in F, or DEPTH_UNKNOWN. */
int32_t func_depth(const struct depths *d, const struct func *f, vaddr_t addr);
/* The same from the walk through F's code, if that was followed. */
int32_t func_code_depth(const struct depths *d, const struct func *f, vaddr_t addr);
/* True if the frame at ADDR in F is as at F's entry. */
bool func_entry_depth(const struct depths *d, const struct func *f, vaddr_t addr);
/* T jumps into another function. True if the depths of both agree there. For inner functions,
 * depths count from the frame that they return for. */
bool depths_agree(const struct depths *d, const struct transfer *t);
/* True for a branch to the first byte behind its own function, with a frame up. The compiler knew
 * that it is never taken: a switch without a default. */
bool transfer_is_idle(const struct depths *d, const struct transfer *t);

static inline struct func_depth *func_depth_of(const struct depths *d, const struct func *f) {
    return &d->by_func[f - d->code->funcs];
}
/* True if F is a part of another function. */
static inline bool func_is_part(const struct depths *d, const struct func *f) {
    return func_depth_of(d, f)->cold || !f->entry_depth;
}
/* T is one of code.transfers. True if the frame there is as at its function's entry. */
static inline bool transfer_at_entry(const struct depths *d, const struct transfer *t) {
    return d->entry_depth[t - d->code->transfers.at];
}
