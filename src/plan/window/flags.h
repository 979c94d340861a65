/*
 * Liveness of flags at a function's start. By the ABI they are dead; hand-written helpers pass
 * carry chains in them. The search follows straight-line code. At calls, returns and indirect
 * jumps the ABI decides. If the search ends elsewhere, flags count as live.
 */
#pragma once

#include "plan/code/code.h"

/* ADDR starts a function. True if flags may be read before they are written. */
bool flags_live_at(const struct code *code, vaddr_t addr);
