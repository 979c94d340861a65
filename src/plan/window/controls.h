/*
 * Stage 9: control sites, places where a function goes on after something other than a call's
 * return. There its callees' frames are gone without an exit.
 *
 *  - landing pads: an exception was caught, or a frame is cleaned up on its way
 *  - behind calls of functions that return twice: longjmp and setcontext arrive there
 *  - jumps with another stack pointer (exits.c): longjmp itself, unwinders, coroutines
 */
#pragma once

#include "plan/code/code.h"

struct controls {
    struct control_site *at; /* by address, each once; not those of exits */
    size_t count, room;
};

struct controls controls_find(const struct code *code);
void controls_done(struct controls *controls);
