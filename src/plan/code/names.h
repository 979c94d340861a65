/* The symbols that name the code at an address. Private to src/plan. */
#pragma once

#include "base/mem.h"
#include "elf/module.h"
#include "plan/tier.h"

struct names {
    const char *name;     /* NULL when there is none */
    const char **aliases; /* NULL-terminated, in ARENA; NULL when there are none */
    enum refusal special;
    uint64_t size; /* the symbol's, 0 when not known */
};

/* Names of the function at ADDR, among symbols[*FIRST …]; *FIRST moves past symbols up to ADDR. */
struct names names_at(const struct module *m, vaddr_t addr, size_t *first, struct arena *arena);
