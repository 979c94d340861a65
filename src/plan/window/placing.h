/* The steps of windows_choose(). Private to it. */
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
    uint8_t *taken; /* bytes of windows, and bytes that must never be patched */
    uint8_t *spare; /* first bytes of room for a jump that a window has moved away and not used */
    bool *wanted;   /* by function: its entry wants a window */
    bool *wanted_group; /* by root: its exits and controls want windows */
};

/* ---- windows.c ---- */
/* The backend of W's code. */
const struct arch *window_arch(const struct placing *p, const struct window *w);
/* The size of the jump at W's start: an ordinary or a far jump. */
uint8_t window_jump_bytes(const struct placing *p, const struct window *w);
/* Adds W to the windows. Its bytes become taken, and the exits in it get its tier. */
void window_take(struct placing *p, const struct window *w);
/* The window that starts at ADDR, among the first COUNT, which are sorted; NULL: none. */
struct window *window_at(const struct placing *p, size_t count, vaddr_t addr);
void windows_sort(struct windows *ws);
/* The stub variant for the entry of FUNC. */
uint8_t window_entry_variant(const struct placing *p, uint32_t func);
/* The stub variant for control sites. */
enum { CONTROL_VARIANT = STUB_SKIP_RED_ZONE | STUB_SAVE_FLAGS };
/* Takes a window with the instruction at ADDR of FUNC. False: there is none. */
bool window_around(struct placing *p, uint32_t func, vaddr_t addr);
/* Why the instruction at ADDR of F cannot be moved into a window, REFUSED_NOT if it can. FIRST: it
 * is the first of the window. */
enum refusal window_blocker(const struct placing *p, const struct func *f, vaddr_t addr,
                            bool first);

/* ---- refused.c ---- */
/* Sets func_window.refused of functions that cannot be traced whatever their windows are. */
void refusals_find(struct placing *p);

/* ---- lane_writes.c ---- */
/* Refuses functions that write the register by which stubs find lanes, and tells which of their
 * entries want windows for guards. Fills windows.lane_write and lane_open. */
void lane_writes_find(struct placing *p);
/* Windows are chosen: functions with guards are refused all the same. */
void lane_writes_settle(struct placing *p);

/* ---- pads.c ---- */
/* Makes W, by its func, the window of nops at the entry, with a hole if needed. False: none. */
bool pad_window(const struct placing *p, struct window *w);

/* ---- returns.c ---- */
/* Makes windows on the paths to returns that have no room for their own. */
void returns_delegate(struct placing *p);

/* ---- tiers.c ---- */
/* True if W has room for TIER, which W gets. Finds the hole of a hop. */
bool window_fits(const struct placing *p, struct window *w, enum tier tier);

/* ---- holes.c ---- */
/* The size of a hole for ARCH's code. True if hops help: windows may be too short for a jump. */
uint8_t hole_bytes(const struct placing *p, const struct arch *arch);
bool hole_may_serve(const struct placing *p, const struct arch *arch);
/* A hole outside of W, within reach of a hop at W's start: padding, or spare bytes of another
 * window. 0: none. */
vaddr_t hole_near(const struct placing *p, const struct window *w);
/* RET becomes a window whose moved instructions make such a hole. False: none. */
bool hole_make(const struct placing *p, const struct window *w, struct window *ret);

/* ---- probes.c ---- */
/* Makes windows for probes that no other window has. */
void probes_choose(struct placing *p);

/* ---- traps.c ---- */
/* Makes one-instruction windows for sites without another tier. They are only offered: see
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
/* True if the group of FUNC has an indirect jump with unknown targets. */
static inline bool has_open_flow(const struct placing *p, uint32_t func) {
    return p->exits->by_root[group_of(p->groups, func)].open_flow;
}
