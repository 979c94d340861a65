/*
 * Stage 11: the windows, which bytes patches take, and the tier that each site has room for.
 */
#pragma once

#include "plan/tier.h"
#include "plan/window/arrivals.h"
#include "plan/window/controls.h"
#include "plan/window/exits.h"

struct window {
    vaddr_t start, end; /* end: behind the last instruction that is moved */
    uint32_t func;
    vaddr_t hole; /* of a hop */
    uint8_t tier; /* enum tier */
    uint8_t room; /* bytes from start on that may be written: those of the window, and padding */
    bool entry, control; /* what happens at its first instruction */
    bool beside;         /* behind its last one stands the sled of an exit, which is told there */
    bool in_sled;        /* it is the head of one */
    bool far;            /* a far jump is to have room */
    uint8_t variant;     /* of the stub for that */
};

struct func_window {
    uint8_t tier;    /* enum tier, of its entry */
    uint8_t refused; /* enum refusal: why that is TIER_NONE */
    bool trap;       /* its entry, which has no tier, could be a trap */
};

struct exit_window {
    uint8_t tier, refused; /* enum tier, enum refusal */
    bool delegated;        /* a return that the ways to it do in its stead */
    bool trap;             /* it has no tier, but could be a trap */
};

struct windows {
    const struct code *code;
    const struct groups *groups;
    const struct exits *exits;
    struct window *at; /* by address, disjoint */
    size_t count, room;
    struct func_window *by_func;
    struct exit_window *by_exit;
    bool large; /* trampolines may be out of reach of its code's ordinary jumps */
};

/* ONLY: the one tier that is wanted (for tests); TIER_NONE: any. */
struct windows windows_choose(const struct exits *exits, const struct controls *controls,
                              const struct arrivals *arrivals, enum tier only);
void windows_done(struct windows *windows);

/* Does W end right before ADDR, and what it holds run into that? */
bool window_runs_into(const struct windows *windows, const struct window *w, vaddr_t addr);
