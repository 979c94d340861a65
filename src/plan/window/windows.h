/* Stage 11: windows, the bytes that patches take, and the tier of each site. */
#pragma once

#include "plan/tier.h"
#include "plan/window/arrivals.h"
#include "plan/window/controls.h"
#include "plan/window/exits.h"

struct window {
    vaddr_t start, end; /* end: behind the last moved instruction */
    uint32_t func;
    vaddr_t hole;        /* of a hop */
    uint8_t tier;        /* enum tier */
    uint8_t room;        /* bytes from `start` on that may be written: the window's, and padding */
    bool entry, control; /* events at its first instruction */
    bool before_sled;    /* an exit's sled follows, whose event the window records */
    bool in_sled;        /* it is the head of a sled */
    bool far;            /* it must have room for a far jump */
    uint8_t variant;     /* STUB_* of the stub at `start` */
};

struct func_window {
    uint8_t tier;    /* enum tier, of its entry */
    uint8_t refused; /* enum refusal: why `tier` is TIER_NONE */
    bool trap;       /* its entry has no tier, but a trap is possible */
    bool guard;      /* refused since it writes the lanes' register; `tier` is its guard's */
};

struct exit_window {
    uint8_t tier, refused; /* enum tier, enum refusal */
    bool delegated;        /* a return that windows on the paths to it make in its place */
    bool trap;             /* it has no tier, but a trap is possible */
};

struct windows {
    const struct code *code;
    const struct groups *groups;
    const struct exits *exits;
    const struct controls *controls;
    struct window *at; /* by address, disjoint */
    size_t count, room;
    struct func_window *by_func;
    struct exit_window *by_exit;
    vaddr_t lane_write; /* an instruction that writes the lanes' register; 0: none */
    vaddr_t lane_open;  /* one that no guard can precede; 0: none */
    bool large;         /* the module is so large that ordinary jumps may not reach trampolines */
};

/* ONLY: the one tier to use (for tests); TIER_NONE: any. */
struct windows windows_choose(const struct exits *exits, const struct controls *controls,
                              const struct arrivals *arrivals, enum tier only);
void windows_done(struct windows *windows);

/* True if W ends right before ADDR and its last instruction runs into ADDR. */
bool window_runs_into(const struct windows *windows, const struct window *w, vaddr_t addr);
