/*
 * The host's processor: layout of a stopped thread's registers, sizes and numbers of its code, its
 * kernel's frames and its calls. One header for each processor that spoor runs on. The functions
 * are in regs.h and bridge.h.
 */
#pragma once

#if defined __x86_64__
#include "arch/x86_64/host.h"
#elif defined __aarch64__
#include "arch/aarch64/host.h"
#elif defined __arm__
#include "arch/arm/host.h"
#else
#error "spoor records on x86-64, AArch64 and 32-bit Arm"
#endif
