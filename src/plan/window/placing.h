/* What windows_choose() is made of. Private to it. */
#pragma once

#include "plan/window/windows.h"

struct placing {
    const struct code *code;
    const struct groups *groups;
    const struct exits *exits;
    const struct controls *controls;
    const struct arrivals *arrivals;
    enum tier only;
    struct windows *ws;
    /* Bitmaps by place. */
    uint8_t *taken; /* by a window, or must never be patched */
    uint8_t *spare; /* a jump's bytes, from here on, that a window has moved away and not used */
    bool *wanted;   /* by function: its entry is to have a window */
    bool *wanted_group; /* by root: so are its exits and controls */
};

/* ---- windows.c ---- */
/* Of W's code. */
const struct arch *window_arch(const struct placing *p, const struct window *w);
/* How many bytes at the start of W, as it is, a jump takes. */
uint8_t window_jump_bytes(const struct placing *p, const struct window *w);
/* W's bytes are its own from now on, and what it holds is served by it. */
void window_take(struct placing *p, const struct window *w);
/* The window that starts at ADDR, of the first COUNT, which are sorted; NULL: none. */
struct window *window_at(const struct placing *p, size_t count, vaddr_t addr);
void windows_sort(struct windows *ws);
/* Of the stub at the entry of function FUNC. */
uint8_t window_entry_variant(const struct placing *p, uint32_t func);
/* Of that at a control site. */
enum { CONTROL_VARIANT = STUB_SKIP_RED_ZONE | STUB_SAVE_FLAGS };
/* Takes a window that holds the instruction at ADDR of FUNC; false if there is none. */
bool window_around(struct placing *p, uint32_t func, vaddr_t addr);
/* Can the instruction at ADDR of F be moved away? FIRST: as the first of its window. */
enum refusal window_blocker(const struct placing *p, const struct func *f, vaddr_t addr,
                            bool first);

/* ---- refused.c ---- */
/* Finds functions that cannot be traced, wherever their windows would be: by_func.refused. */
void refusals_find(struct placing *p);

/* ---- pads.c ---- */
/* The window of nops at the entry of W's function, and its hole; false if it has no such. */
bool pad_window(const struct placing *p, struct window *w);

/* ---- returns.c ---- */
/* Makes room on the ways to returns that have none. */
void returns_delegate(struct placing *p);

/* ---- tiers.c ---- */
/* Is there room for TIER in W? Finds the hole that a hop needs. */
bool window_fits(const struct placing *p, struct window *w, enum tier tier);

/* ---- holes.c ---- */
/* How many bytes of code of ARCH's a hole has; whether hops are of use there, as they are where
 * windows may be too short for a jump. */
uint8_t hole_bytes(const struct placing *p, const struct arch *arch);
bool hole_may_serve(const struct placing *p, const struct arch *arch);
/* Room for a jump, outside W and within reach of a hop at its start: padding, or what another
 * window has to spare; 0 if there is none. */
vaddr_t hole_near(const struct placing *p, const struct window *w);
/* The window of instructions that can be moved away to make such room; false if there is none. */
bool hole_make(const struct placing *p, const struct window *w, struct window *ret);

/* ---- traps.c ---- */
/* Windows of one instruction for the sites that have no other. They are offered only: see
 * plan_permit_traps(). */
void traps_offer(struct placing *p);

/* ---- facts ---- */
static inline const struct text *window_text(const struct placing *p, const struct window *w) {
    return p->code->funcs[w->func].text;
}
static inline bool is_taken(const struct placing *p, const struct text *text, vaddr_t addr) {
    return bitmap_test(p->taken, text_place(text, addr));
}
static inline bool is_arrived_at(const struct placing *p, const struct text *text, vaddr_t addr) {
    return is_entered(p->arrivals, text, addr);
}
/* Has the function of FUNC an indirect jump whose targets are not known? */
static inline bool has_open_flow(const struct placing *p, uint32_t func) {
    return p->exits->by_root[group_of(p->groups, func)].open_flow;
}
