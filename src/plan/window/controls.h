/*
 * Stage 9: control sites, where a function goes on after something other than a call's return. The
 * frames of its callees are gone there, without an exit event.
 *
 *  - landing pads: an exception is caught, or a frame is cleaned up
 *  - behind calls of functions that return twice: longjmp and setcontext arrive there
 *  - jumps with another stack pointer: longjmp itself, unwinders, coroutines (in exits.c)
 *
 * And the nops of USDT probes: a function goes on there after nothing at all.
 */
#pragma once

#include "plan/code/code.h"

struct controls {
    struct control_site *at; /* unique, by address; without those of exits */
    size_t count, room;
    ARRAY(struct control_site) probes; /* by address; in functions */
};

struct controls controls_find(const struct code *code);
void controls_done(struct controls *controls);
