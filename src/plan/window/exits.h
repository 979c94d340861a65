/*
 * Stage 8: where functions end. Exits are returns; jumps out of the function at entry depth (tail
 * calls), direct or indirect, conditional or not; and the last instruction of a function that runs
 * into the next one. A jump that loads another stack pointer is a control site.
 */
#pragma once

#include "plan/window/groups.h"

struct exit_site {
    vaddr_t addr, target; /* target: of direct tail jumps; else 0 */
    uint32_t func;
    uint8_t size, kind;     /* of the instruction */
    uint8_t event, variant; /* enum event_kind, STUB_* */
    int16_t pops;           /* arch.return_pops(); negative: unknown, the exit gets no event */
    uint8_t behind;         /* from arch.return_pops() */
    bool loops;             /* a jump to the function's own entry: no exit, no event */
    bool falls; /* last instruction of a function that runs into the next: always leaves */
};

/* Control leaves the code that is known to be the function's, and is not known to leave the
 * function. Calls may end behind it, without an event. */
struct open_end {
    vaddr_t addr; /* of the instruction */
    uint32_t func;
};

struct func_exits {
    bool loop_head;    /* a branch of its own group leads to its entry */
    bool falls_unseen; /* runs into the next range by an instruction that is no exit */
};

struct group_exits {
    bool open_flow; /* has an indirect jump with unknown targets */
    bool pops;      /* jumps away with its caller's words popped: no ordinary function */
};

struct exits {
    const struct code *code;
    const struct depths *depths;
    const struct groups *groups;
    struct exit_site *at; /* by address */
    size_t count, room;
    ARRAY(struct open_end) open_ends; /* by address */
    uint8_t *places;                  /* bitmap by place: first bytes of exits */
    struct func_exits *by_func;
    struct group_exits *by_root;
};

struct exits exits_find(const struct groups *groups);
void exits_done(struct exits *exits);

/* The exit at ADDR; NULL: none. */
const struct exit_site *exit_at(const struct exits *exits, vaddr_t addr);

static inline bool exit_is_at(const struct exits *e, const struct text *text, vaddr_t addr) {
    return bitmap_test(e->places, text_place(text, addr));
}
