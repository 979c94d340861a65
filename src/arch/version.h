/* The version of what decodes instructions outside of this program: a library (Zydis). */
#pragma once

#include "base/types.h"

uint64_t arch_version(void);
