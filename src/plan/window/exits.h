/*
 * Stage 8: where functions end: returns; jumps out of the function at entry depth (tail calls,
 * direct or through a pointer), also on a condition; the last instruction of a function that runs
 * into the next one. A jump that goes on with another stack pointer is a control site.
 */
#pragma once

#include "plan/window/groups.h"

struct exit_site {
    vaddr_t addr, target; /* target: of direct tail jumps, else 0 */
    uint32_t func;
    uint8_t size, kind;     /* of the instruction */
    uint8_t event, variant; /* enum event_kind, STUB_* */
    int16_t pops;           /* arch.return_pops(); negative: its event cannot be told */
    uint8_t behind;         /* likewise */
    bool loops;             /* a jump to the function's own entry: no end, and no event */
    bool falls; /* the last instruction of a function that runs into the next: leaves in any case */
};

struct func_exits {
    bool loop_head;    /* its entry is a branch target of its own group */
    bool falls_unseen; /* it runs into the next range by an instruction that is no exit */
};

struct group_exits {
    bool open_flow; /* has an indirect jump whose targets are not known */
    bool pops;      /* leaves with what stood on the stack before it was entered */
};

struct exits {
    const struct code *code;
    const struct depths *depths;
    const struct groups *groups;
    struct exit_site *at; /* by address */
    size_t count, room;
    uint8_t *places; /* bitmap by place: an exit's first byte */
    struct func_exits *by_func;
    struct group_exits *by_root;
};

struct exits exits_find(const struct groups *groups);
void exits_done(struct exits *exits);

/* NULL: there is none. */
const struct exit_site *exit_at(const struct exits *exits, vaddr_t addr);

static inline bool exit_is_at(const struct exits *e, const struct text *text, vaddr_t addr) {
    return bitmap_test(e->places, text_place(text, addr));
}
