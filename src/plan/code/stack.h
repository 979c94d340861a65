/* What single instructions do to the stack pointer. */
#pragma once

#include "arch/arch.h"

/* Is the stack behind the instruction at BYTES as it is before it? */
bool stack_is_kept(const struct arch *arch, const uint8_t *bytes, size_t size);
