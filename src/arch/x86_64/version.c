/* The version of Zydis, whose decoder may change without this program being built anew. */
#include "arch/version.h"

#include <Zydis/Zydis.h>

uint64_t arch_version(void) { return ZydisGetVersion(); }
