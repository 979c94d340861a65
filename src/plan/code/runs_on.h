/*
 * Call-frame information may end too early: glibc's for clone3() ends before the system call, and
 * the return behind it is in no range. Such code belongs to the function whose range runs on into
 * it.
 */
#pragma once

#include "plan/code/states.h"

/* The end of the code that begins in RANGE. Nothing is known to begin between the range's end and
 * LIMIT. There, the code must keep the stack pointer: its depth is that at the range's end. */
vaddr_t range_code_end(const struct states *states, const struct unwind_range *range,
                       vaddr_t limit);
