/*
 * The records that write_patched.c writes about a module and trampolines.c reads, in this order.
 * The bytes that a record counts follow it.
 */
#pragma once

#include <stdint.h>

struct laid_out {
    uint32_t pieces, patches, functions, marks;
};
struct laid_piece { /* a part of the module or its area: `size` bytes follow */
    uint32_t at, size;
};
struct laid_patch {
    uint32_t at, size;
    uint32_t trampoline; /* of a trap: the place where its thread continues; else 0 */
    uint8_t before[12], after[12];
};
struct laid_function {
    uint32_t at, size; /* at: with the bit of the state. Events name the function by its number */
    uint32_t traced, exact;
    char name[52];
};

struct laid_mark { /* plan.h, struct mark: at an instruction or at the start of a stub */
    uint32_t at, orig;
    uint8_t it, pushed, t32, at_start;
};
