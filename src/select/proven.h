/* Places of parameters that neither debugging information nor a calling convention tells, but the
 * function's own code does. */
#pragma once

#include "elf/module.h"
#include "types/signature.h"

/* Completes *S, the signature of the function of M at START. TYPES: those of the signature. */
void proven_places(const struct module *m, vaddr_t start, struct types *types, struct signature *s);
