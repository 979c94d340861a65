/* Calls that change the protection of memory, and whether a guard must wait: for tests of each
 * agent. The guarded ranges are [0x20000, 0x24000) and [0x40000, 0x41000). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/ring.h"

static const struct guarded guarded_ranges = {{{0x20000, 0x24000}, {0x40000, 0x41000}}};

static const struct guard_case {
    uint32_t address, size;
    bool waits;
} guard_cases[] = {
    {0x20000, 0x1000, true},   {0x23000, 0x1000, true},  {0x1f000, 0x1001, true},
    {0x10000, 0x90000, true},  {0x40000, 1, true},       {0x40000, 0x1000, true},
    {0x24000, 0x1c000, false}, {0x1f000, 0x1000, false}, {0x41000, 0x1000, false},
    {0x10000, 0x1000, false},  {0x30000, 0x10001, true},
};
enum { GUARD_CASES = sizeof guard_cases / sizeof *guard_cases };
