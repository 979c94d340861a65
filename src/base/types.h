/* Addresses have names: which address space a number belongs to is part of its type's name. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t vaddr_t; /* link-time virtual address, as in the ELF file */
typedef uint64_t taddr_t; /* run-time address in the target process; taddr = vaddr + bias */

/* So printf()'s %ju and %jx print addresses and other numbers of 64 bits on every machine. */
_Static_assert(_Generic((uint64_t)0, uintmax_t : 1, default : 0), "64-bit numbers are printed so");

struct span { /* of addresses */
    uint64_t start, end;
};
