/* clock_ticks() reads the counter that events carry, in the tool, after all earlier instructions.
 */
#pragma once

#if defined __x86_64__
#include "arch/x86_64/clock.h"
#elif defined __arm__
#include "arch/arm/clock.h"
#else
#include "arch/aarch64/clock.h"
#endif
