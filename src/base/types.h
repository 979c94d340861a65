/* Types of addresses: the name says which address space a number belongs to. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t vaddr_t; /* link-time virtual address, as in the ELF file */
typedef uint64_t taddr_t; /* run-time address in the target process; taddr = vaddr + bias */

/* Lets %ju and %jx print addresses and other 64-bit numbers on every machine. */
_Static_assert(_Generic((uint64_t)0, uintmax_t : 1, default : 0), "64-bit numbers are printed so");

struct span { /* of addresses */
    uint64_t start, end;
};
