/*
 * What the host's own processor is: a stopped thread's registers, sizes of what its code and its
 * kernel's frames consist of. One header for each that spoor runs on; what is done with it is in
 * regs.h and bridge.h.
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
