/*
 * Are flags live at a function's start? By the ABI never; hand-written helpers hand carry chains to
 * each other. Follows the straight line; where it ends without an answer the ABI decides at calls,
 * returns and indirect jumps, and "live" is the answer otherwise.
 */
#pragma once

#include "plan/code/code.h"

/* May the flags at ADDR, the start of a function, be read before they are written? */
bool flags_live_at(const struct code *code, vaddr_t addr);
