/* Effects of single instructions on the stack pointer. */
#pragma once

#include "arch/arch.h"

/* True if the instruction at BYTES leaves the stack pointer as it is. */
bool stack_is_kept(const struct arch *arch, const uint8_t *bytes, size_t size);
