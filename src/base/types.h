/* Addresses have names: which address space a number belongs to is part of its type's name. */
#ifndef SPOOR_BASE_TYPES_H
#define SPOOR_BASE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t vaddr_t; /* link-time virtual address, as in the ELF file */
typedef uint64_t taddr_t; /* run-time address in the target process; taddr = vaddr + bias */

struct span { /* of addresses */
    uint64_t start, end;
};

#endif
